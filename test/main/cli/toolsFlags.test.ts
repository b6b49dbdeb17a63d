import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { delimiter, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type {
  CallToolOptions,
  ListToolsOptions,
  NewPackOptions,
  PackRuntimeOptions,
  ServeToolsCommandOptions
} from "../../../src/main/cli/tools/flags.ts"
import { usedPort } from "../../loopbackAddress.ts"
import { a2c } from "../processes.ts"
import { type FlagRow, type FlagRows, testFlags } from "./flagRows.ts"
import { a2cInProcess, a2cRunning, type Outcome, prints } from "./inProcess.ts"
import { folderOfTests } from "../../folderOfTests.ts"

const folder = folderOfTests()

/** The event of this process by which the tool `show` says that it hangs. */
const hangs = "a2c-flags-hangs"

/** A pack whose tool prints its arguments, and whether it runs in this process and with which options; or hangs. */
const showPack = `const where = () => JSON.stringify({ isHere: process.pid === ${process.pid}, options: process.execArgv })
export class ShowTool {
  getRouteConfig() { return { endpoint: "/tools/show", params: { type: "object" } } }
  listTools() { return [{ name: "show", description: where() }] }
  callTool(_name, params) {
    if (params.hang) return new Promise(() => process.emit("${hangs}"))
    return "\\u001b[31m" + JSON.stringify(params) + where()
  }
}
`

/** A pack whose tool takes a file. */
const uploadPack = `const file = { type: "string", format: "binary" }
export class UploadTool {
  getRouteConfig() { return { endpoint: "/tools/upload", use_form: true, params: { type: "object", properties: { file } } } }
  listTools() { return [{ name: "upload", description: "Takes a file" }] }
  callTool() { return "taken" }
}
`

/** Writes a pack into a folder of packs. */
const writePack = (into: string, name: string, code: string, packages: ReadonlyArray<string> = []): string => {
  const path = join(into, name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, `${name}_tool.ts`), code)
  writeFileSync(join(path, "config.yaml"), JSON.stringify({ enabled: true, packages }))
  return path
}

const packs = join(folder, "packs")
writePack(packs, "show", showPack)
writePack(packs, "upload", uploadPack)

/** A folder with one pack: each isolated one is a process. */
const onePack = join(folder, "one")
writePack(onePack, "show", showPack)

const row = (
  command: ReadonlyArray<string>,
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (outcome: Outcome) => unknown
): FlagRow => [args, outcomes, (given) => Effect.map(a2cInProcess("tools", ...command, ...given), select)]

const call = ["call", "show", "--dir", packs]

let installations = 0

/** A program instead of npm, which writes its arguments into the folder of the pack. */
const npmFolder = join(folder, "bin")
mkdirSync(npmFolder)
writeFileSync(join(npmFolder, "npm"), '#!/bin/sh\necho "$@" > npm-arguments\n')
chmodSync(join(npmFolder, "npm"), 0o755)
for (const name of ["python3", "other-python"]) {
  writeFileSync(join(npmFolder, name), `#!/bin/sh\necho '{"path": "/${name}", "version": [3, 8, 1]}'\n`)
  chmodSync(join(npmFolder, name), 0o755)
}
const withNpm = Effect.acquireRelease(
  Effect.sync(() => {
    const before = process.env["PATH"] ?? ""
    process.env["PATH"] = `${npmFolder}${delimiter}${before}`
    return before
  }),
  (before) => Effect.sync(() => void (process.env["PATH"] = before))
)

/** Runs a subcommand at a folder of packs, until all packs are loaded. Gives what it prints. */
type RunAt = (packs: string, flags: ReadonlyArray<string>) => ReturnType<typeof a2cInProcess>

/** A row of a flag of the installation: the arguments of npm, or none, for a pack that declares a package. */
const installing = (run: RunAt, args: ReadonlyArray<string>, outcomes: FlagRow[1], word: string): FlagRow => [
  args,
  outcomes,
  Effect.fnUntraced(function* (given) {
    yield* withNpm
    const into = join(folder, `installing-${installations++}`)
    const npmArguments = join(writePack(into, "show", showPack, ["tiny@1.0.0"]), "npm-arguments")
    yield* run(into, given)
    return existsSync(npmArguments) && readFileSync(npmArguments, "utf8").includes(word)
  })
]

const pythonPacks = join(folder, "python")
mkdirSync(join(pythonPacks, "old"), { recursive: true })
for (const name of ["__init__.py", "old_tool.py"]) writeFileSync(join(pythonPacks, "old", name), "")

/** A row of the interpreter of Python packs: the program that is too old. */
const interpreting = (run: RunAt): FlagRow => [
  ["--python", "other-python"],
  ["python3", "other-python"],
  Effect.fnUntraced(function* (given) {
    yield* withNpm
    const { stderr, stdout } = yield* run(pythonPacks, given)
    return /'([a-z0-9-]+)' is Python 3\.8\.1/.exec(stdout + stderr)?.[1]
  })
]

/** Rows of the flags of a subcommand that runs packs, whose output has what `show` tells of its process. */
const runtimeRows = (run: RunAt, runBroken = run): FlagRows<PackRuntimeOptions> => {
  const notified = (
    args: ReadonlyArray<string>,
    outcomes: FlagRow[1],
    words: RegExp,
    others: ReadonlyArray<string>
  ): FlagRow => [
    args,
    outcomes,
    (given) =>
      Effect.map(run(onePack, [...others, ...given]), ({ stdout }) => words.exec(stdout.replaceAll("\\", ""))?.[1])
  ]
  return {
    install: installing(run, ["--no-install"], [true, false], "install"),
    python: interpreting(runBroken),
    allowScripts: installing(run, ["--allow-scripts"], [false, true], "--ignore-scripts=false"),
    isolate: notified(["--isolate"], ["true", "false"], /"isHere":(\w+)/, []),
    memory: notified(["--memory", "300"], ["256", "300"], /--max-old-space-size=(\d+)/, ["--isolate"])
  }
}

/** The time in seconds after which a call of `show` that hangs fails, on a clock that only the row moves. */
const timedOut = <E>(call: Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    const hanging = Effect.callback<void>((resume) => {
      const onHang = () => resume(Effect.void)
      process.once(hangs, onHang)
      return Effect.sync(() => process.off(hangs, onHang))
    })
    const waiting = yield* Effect.forkScoped(hanging, { startImmediately: true })
    const calling = yield* Effect.forkScoped(call)
    yield* Fiber.join(waiting)
    yield* TestClock.adjust("120 seconds")
    return /did not answer within (\d+) seconds/.exec(String(yield* Fiber.join(calling)))?.[1]
  })

const hang = '{"hang":true}'

const callRows: FlagRows<Omit<CallToolOptions, "tool">> = {
  ...runtimeRows((at, given) => a2cInProcess("tools", "call", "show", "--dir", at, ...given)),
  dir: row(["call", "show"], ["--dir", packs], [false, true], prints("isHere")),
  args: row(call, ["--args", '{"word":"given"}'], [false, true], prints("given")),
  words: row(call, ["word=given"], [false, true], prints("given")),
  timeout: [
    ["--timeout", "7"],
    ["120", "7"],
    (given) => {
      const calling = a2cInProcess("tools", ...call, "--args", hang, ...given)
      return Effect.provide(timedOut(Effect.scoped(Effect.map(calling, ({ failure }) => failure))), TestClock.layer())
    }
  ],
  json: row(call, ["--json"], [false, true], ({ stdout }) => stdout.startsWith("{")),
  raw: row(call, ["--raw"], [false, true], prints("\u001b[31m"))
}

const listRows: FlagRows<ListToolsOptions> = {
  ...runtimeRows((at, given) => a2cInProcess("tools", "list", at, "--json", ...given)),
  folders: row(["list"], [packs], [false, true], prints("show")),
  json: row(["list", packs], ["--json"], [false, true], ({ stdout }) => stdout.startsWith("["))
}

const empty = join(folder, "empty")
mkdirSync(empty)

/** Starts `a2c tools serve`; without flags at a free port, and at a folder without packs. */
const serve = (...args: ReadonlyArray<string>) =>
  Effect.provide(
    a2cRunning("tools", "serve", ...args),
    ConfigProvider.layer(ConfigProvider.fromEnv({ env: { PORT: "0", TOOLS_DIR: empty } }))
  )

/** The URL in the line that a server of tools prints. */
const urlIn = (line: string): string => line.replace(/^serving .* at /, "")

const serving = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const command = yield* serve(packs, ...args)
  return { ...command, url: urlIn(yield* command.prints("serving ")) }
})

const post = (url: string, body: string | FormData, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const type = typeof body === "string" ? { "Content-Type": "application/json" } : {}
    const response = await fetch(url, { method: "POST", body, headers: { ...type, ...headers } })
    return { status: response.status, text: await response.text() }
  })

/** A row of a flag: the status of a response of the server. */
const status = (
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  request: (url: string) => Effect.Effect<{ readonly status: number }>,
  others: ReadonlyArray<string> = []
): FlagRow => [
  args,
  outcomes,
  (given) =>
    Effect.flatMap(serving(...others, ...given), ({ url }) => Effect.map(request(url), (response) => response.status))
]

const callShow =
  (headers: Record<string, string> = {}, body = "{}") =>
  (url: string) =>
    post(`${url}/tools/show`, body, headers)

/** A request with a header `Host`, which fetch does not send. */
const askAs = (host: string) => (url: string) =>
  Effect.callback<{ readonly status: number }>((resume) => {
    httpRequest(`${url}/health`, { headers: { host } }, (response) => {
      response.resume()
      resume(Effect.succeed({ status: response.statusCode ?? 0 }))
    }).end()
  })

const upload = (url: string) => {
  const form = new FormData()
  form.set("file", new Blob(["x".repeat(100)]), "file.txt")
  return post(`${url}/tools/upload`, form)
}

/** What a served tool tells of its process. */
const runServed: RunAt = Effect.fnUntraced(function* (at, given) {
  const { prints } = yield* serve(at, ...given)
  const { text } = yield* callShow()(urlIn(yield* prints("serving ")))
  return { stdout: text, stderr: "", failure: undefined }
})

/** What the server tells of packs that cannot be used. */
const runBrokenServed: RunAt = Effect.fnUntraced(function* (at, given) {
  const { prints } = yield* serve(at, ...given)
  const url = urlIn(yield* prints("serving "))
  const text = yield* Effect.promise(async () => (await fetch(`${url}/tools`)).text())
  return { stdout: text, stderr: "", failure: undefined }
})

const key = "k3y-of-the-tools"
const keyFile = join(folder, "key")
writeFileSync(keyFile, key)
const withKey = ["--key", `@${keyFile}`]

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
})

const serveRows: FlagRows<ServeToolsCommandOptions> = {
  ...runtimeRows(runServed, runBrokenServed),
  folders: [
    [packs],
    ["serving 0 of 0 packs", "serving 2 of 2 packs"],
    Effect.fnUntraced(function* (given) {
      const { prints } = yield* serve(...given)
      return (yield* prints("serving ")).replace(/ at .*/, "")
    })
  ],
  host: [
    ["--host", "0.0.0.0"],
    ["127.0.0.1", "0.0.0.0"],
    (given) => Effect.map(serving("--force", ...given), ({ url }) => new URL(url).hostname)
  ],
  port: [
    ["--port"],
    ["serves", "in use"],
    Effect.fnUntraced(function* (given) {
      const port = yield* usedPort
      const { ended, prints } = yield* serve(packs, ...given.flatMap((name) => [name, port]))
      return yield* Effect.catchCause(Effect.as(prints("serving "), "serves"), () =>
        Effect.map(ended, (failure) => /in use/.exec(String(failure))?.[0])
      )
    })
  ],
  key: status(withKey, [200, 401], callShow()),
  publicDocs: status(
    ["--public-docs"],
    [401, 200],
    (url) => Effect.promise(() => fetch(`${url}/openapi.json`)),
    withKey
  ),
  force: [
    ["--force"],
    ["rejected", "serves"],
    Effect.fnUntraced(function* (given) {
      const { prints } = yield* serve(packs, "--host", "0.0.0.0", ...given)
      return yield* Effect.catchCause(Effect.as(prints("serving "), "serves"), () => Effect.succeed("rejected"))
    })
  ],
  // It starts its program a second time, which a test in process cannot.
  mcp: [
    ["--mcp", "stdio"],
    ["HTTP", "stdio"],
    Effect.fnUntraced(function* (given) {
      const { prints, types } = yield* a2c("tools", "serve", packs, "--port", "0", ...given)
      yield* types(initialize)
      return yield* Effect.raceFirst(Effect.as(prints("serving "), "HTTP"), Effect.as(prints('"id":1'), "stdio"))
    })
  ],
  watch: [
    ["--no-watch"],
    ["reloaded", "as before"],
    Effect.fnUntraced(function* (given) {
      const into = join(folder, `watched-${installations++}`)
      writePack(into, "show", showPack)
      const [other, one] = [yield* serve(into), yield* serve(into, ...given)]
      yield* one.prints("pack ready", "stderr")
      // The server that watches sees both changes, and the second one later than every other server the first one.
      for (const change of [1, 2]) {
        yield* other.prints("pack ready", "stderr", change)
        writePack(into, "show", `// change ${change}\n${showPack}`)
      }
      yield* other.prints("pack ready", "stderr", 3)
      if (given.length === 0) yield* one.prints("pack ready", "stderr", 2)
      return one.stderr().match(/pack ready/g)?.length === 1 ? "as before" : "reloaded"
    })
  ],
  timeout: [
    ["--timeout", "7"],
    ["120", "7"],
    Effect.fnUntraced(function* (given) {
      const { url } = yield* serving(...given)
      return yield* timedOut(Effect.map(callShow({}, hang)(url), ({ text }) => text))
    }, Effect.provide(TestClock.layer()))
  ],
  allowedOrigins: status(
    ["--allow-origin", "http://pages.example"],
    [403, 200],
    callShow({ Origin: "http://pages.example" })
  ),
  allowedHosts: status(["--allow-host", "tools.example"], [403, 200], askAs("tools.example")),
  maxBodyBytes: status(["--max-body", "10"], [200, 413], callShow({}, '{"word":"a longer text"}')),
  maxFileBytes: status(["--max-upload", "10"], [200, 413], upload)
}

const other = join(folder, "other")

const newRows: FlagRows<Omit<NewPackOptions, "name">> = {
  dir: [
    ["--dir", other],
    [false, true],
    (given) =>
      Effect.map(a2cInProcess("tools", "new", "text_counter", ...(given.length === 0 ? ["--dir", packs] : given)), () =>
        existsSync(join(other, "text_counter"))
      )
  ],
  python: [
    ["--python"],
    [false, true],
    (given) =>
      Effect.map(
        a2cInProcess("tools", "new", given.length === 0 ? "in_node" : "in_python", "--dir", other, ...given),
        () => existsSync(join(other, "in_python", "__init__.py"))
      )
  ]
}

describe("a flag of a2c tools call", () => {
  testFlags(callRows)
})
describe("a flag of a2c tools list", () => {
  testFlags(listRows)
})
describe("a flag of a2c tools serve", () => {
  testFlags(serveRows)
})
describe("a2c tools new", () => {
  it.live("writes a pack that loads below a package of CommonJS modules", () =>
    Effect.gen(function* () {
      const project = join(folder, "commonjs")
      mkdirSync(project)
      writeFileSync(join(project, "package.json"), '{ "type": "commonjs" }')
      const dir = join(project, "packs")
      yield* a2cInProcess("tools", "new", "count", "--dir", dir)
      const { stdout } = yield* a2cInProcess("tools", "call", "count", "--dir", dir, "text=hello there")
      assert.strictEqual(stdout, "11 characters, 2 words\n")
    })
  )
})
describe("a flag of a2c tools new", () => {
  testFlags(newRows)
})
