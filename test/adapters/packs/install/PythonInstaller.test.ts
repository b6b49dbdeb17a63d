import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as NpmInstaller from "../../../../src/adapters/packs/install/NpmInstaller.ts"
import * as PythonInstaller from "../../../../src/adapters/packs/install/PythonInstaller.ts"
import { PackInstaller } from "../../../../src/application/ports/packs/PackInstaller.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"

/** A program instead of Python: `pip` runs the script `pip`, with the arguments of pip. */
const fakePython = Effect.fnUntraced(function* (pip: string, version = "[3, 11, 7]") {
  const folder = yield* temporaryFolder
  const python = join(folder, "python3")
  writeFileSync(
    python,
    `#!/bin/sh
case "$2" in
  "import json"*) echo '{"path": "${python}", "version": ${version}}';;
  venv) mkdir -p "$3/bin" && cp "${python}" "$3/bin/python";;
  pip) shift 2; echo "$@" >> "${folder}/pip-arguments"; [ "$1" = freeze ] && { echo tiny==1.0.0; exit; }; ${pip};;
esac`
  )
  chmodSync(python, 0o755)
  const environments = join(folder, "environments")
  const install = (packages: ReadonlyArray<string>, options: Partial<PythonInstaller.PythonOptions> = {}) =>
    PackInstaller.use((installer) =>
      installer.install({ folder, language: "python", packages }, () => Effect.void)
    ).pipe(
      Effect.provide(
        PythonInstaller.layer({ environments, python, uv: "no-uv", ...options }).pipe(
          Layer.provide(NpmInstaller.layerWithoutInstall),
          Layer.provide(NodeServices.layer)
        )
      )
    )
  return { environments, folder, install, python, pipRuns: () => readFileSync(join(folder, "pip-arguments"), "utf8") }
})

const failure = (effect: ReturnType<Effect.Success<ReturnType<typeof fakePython>>["install"]>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("installer of Python packs", () => {
  it.live("makes one environment for each set of packages, with a lock", () =>
    Effect.gen(function* () {
      const { environments, install, pipRuns } = yield* fakePython("true")
      const first = yield* install(["tiny==1.0.0"])
      assert.deepStrictEqual(yield* install(["tiny==1.0.0"]), first)
      const other = yield* install(["tiny==2.0.0"])
      assert.notStrictEqual(other.interpreter, first.interpreter)
      assert.isTrue(existsSync(first.interpreter ?? ""))
      const names = readdirSync(environments)
      assert.lengthOf(
        names.filter((name) => name.endsWith(".lock")),
        2
      )
      assert.lengthOf(names, 4)
      assert.lengthOf(
        pipRuns()
          .split("\n")
          .filter((line) => line.startsWith("install")),
        2
      )
    })
  )

  it.live("installs wheels only, unless scripts are allowed", () =>
    Effect.gen(function* () {
      const { install, pipRuns } = yield* fakePython("true")
      yield* install(["tiny==1.0.0"])
      assert.include(pipRuns(), "--only-binary :all:")
      assert.include(pipRuns(), "tiny==1.0.0")
      const allowed = yield* fakePython("true")
      yield* allowed.install(["tiny==1.0.0"], { allowScripts: true })
      assert.notInclude(allowed.pipRuns(), "--only-binary")
    })
  )

  it.live("follows the lock of an earlier installation", () =>
    Effect.gen(function* () {
      const { environments, install, pipRuns } = yield* fakePython("true")
      const { interpreter = "" } = yield* install(["tiny>=1"])
      const environment = join(interpreter, "../..")
      yield* Effect.promise(() => import("node:fs/promises").then(({ rm }) => rm(environment, { recursive: true })))
      yield* install(["tiny>=1"])
      const [, , again = ""] = pipRuns().split("\n")
      assert.include(again, `-r ${environments}`)
    })
  )

  it.live("tells the line of pip that says why it fails, and tries again", () =>
    Effect.gen(function* () {
      const { environments, install } = yield* fakePython(
        "echo Collecting tiny; echo 'ERROR: Could not find a version that satisfies tiny==9' >&2; exit 1"
      )
      const message = "Could not find a version that satisfies tiny==9"
      assert.strictEqual(yield* failure(install(["tiny==9"])), message)
      assert.deepStrictEqual(readdirSync(environments), [])
      assert.strictEqual(yield* failure(install(["tiny==9"])), message)
    })
  )

  it.live.each([
    [
      "error: No solution found\n  cause: Because tiny was not found and you require tiny==9, it fails.",
      "No solution found; Because tiny was not found and you require tiny==9, it fails."
    ],
    [
      "error: Failed to fetch: `http://127.0.0.1:9/simple/tiny/`\n  Caused by: Could not connect, are you offline?",
      "Failed to fetch: `http://127.0.0.1:9/simple/tiny/`; Could not connect, are you offline?"
    ],
    [
      "error: Request failed after 3 retries in 4.9s\n  cause: Failed to fetch: http://127.0.0.1:9/simple/tiny/\n  cause: error sending request\n  cause: Connection refused (os error 111)",
      "Request failed after 3 retries in 4.9s; Failed to fetch: http://127.0.0.1:9/simple/tiny/; Connection refused (os error 111)"
    ],
    [
      "  × No solution found\n  ╰─▶ Because tiny==9 has no usable wheels, it fails.",
      "No solution found; Because tiny==9 has no usable wheels, it fails. (only wheels are installed: --allow-scripts also builds packages)"
    ]
  ])("tells the lines of uv that say why it fails: %j", ([output, message]) =>
    Effect.gen(function* () {
      const { folder, install } = yield* fakePython("true")
      const uv = join(folder, "uv")
      writeFileSync(uv, `#!/bin/sh\n[ "$1" = pip ] || exit 0\ncat >&2 <<'END'\n${output}\nEND\nexit 1\n`)
      chmodSync(uv, 0o755)
      assert.strictEqual(yield* failure(install(["tiny==9"], { uv })), message)
    })
  )

  it.live.each([
    [
      "NewConnectionError('<pip.HTTPConnection object at 0x7f>: Failed to establish a new connection: [Errno 111] Connection refused')",
      "Failed to establish a new connection: [Errno 111] Connection refused"
    ],
    [
      `NameResolutionError("<pip.HTTPSConnection object at 0x7f>: Failed to resolve 'pypi.org' ([Errno -2] Name or service not known)")`,
      "Failed to resolve 'pypi.org' ([Errno -2] Name or service not known)"
    ],
    [
      `ReadTimeoutError("HTTPSConnectionPool(host='pypi.org', port=443): Read timed out. (read timeout=15)")`,
      "HTTPSConnectionPool(host='pypi.org', port=443): Read timed out. (read timeout=15)"
    ],
    [
      "ConnectTimeoutError(<pip.HTTPSConnection object at 0x7>, 'Connection to 10.0.0.1 timed out. (connect timeout=15)')",
      "Connection to 10.0.0.1 timed out. (connect timeout=15)"
    ],
    [
      "ProtocolError('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))",
      "Connection aborted. Remote end closed connection without response"
    ],
    [
      "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:1006)'))",
      "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:1006)"
    ],
    [
      "ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 403 Forbidden'))",
      "Cannot connect to proxy. Tunnel connection failed: 403 Forbidden"
    ]
  ])("tells why pip cannot reach the index: %s", ([exception, cause]) =>
    Effect.gen(function* () {
      const retries = [4, 0].map(
        (left) =>
          `WARNING: Retrying (Retry(total=${left}, read=None)) after connection broken by '${exception}': /simple/tiny/`
      )
      const { folder, install } = yield* fakePython(`cat ../output >&2; exit 1`)
      writeFileSync(
        join(folder, "output"),
        [...retries, "ERROR: Could not find a version that satisfies tiny (from versions: none)"].join("\n")
      )
      assert.strictEqual(yield* failure(install(["tiny"])), `the index of packages cannot be reached: ${cause}`)
    })
  )

  it.live("ends an installation that takes too long", () =>
    Effect.gen(function* () {
      const { install } = yield* fakePython("sleep 300")
      assert.match(yield* failure(install(["tiny"], { timeout: "300 millis" })), /timed out after 300ms$/)
    })
  )

  it.live("needs Python 3.10 or later", () =>
    Effect.gen(function* () {
      const old = yield* fakePython("true", "[3, 8, 1]")
      assert.match(yield* failure(old.install([])), /is Python 3\.8\.1: Python packs need 3\.10 or later/)
      const newer = yield* fakePython("true", "[4, 0, 0]")
      assert.match(yield* failure(newer.install([])), /is Python 4\.0\.0/)
      assert.match(
        yield* failure(old.install([], { python: "no-such-python" })),
        /^'no-such-python' cannot be started: Python packs need Python 3\.10 or later \(--python\)$/
      )
    })
  )

  it.live("uses the interpreter as it is where nothing may be installed", () =>
    Effect.gen(function* () {
      const { environments, install, python } = yield* fakePython("exit 1")
      assert.deepStrictEqual(yield* install(["tiny"], { install: false }), { interpreter: python })
      assert.isFalse(existsSync(environments))
    })
  )
})
