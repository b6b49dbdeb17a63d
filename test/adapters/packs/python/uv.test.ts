import { existsSync, readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import type { PythonOptions } from "../../../../src/adapters/packs/install/PythonInstaller.ts"
import { PackInstaller } from "../../../../src/application/ports/packs/PackInstaller.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { describePython, installerLayer } from "./python.ts"

const install = (packages: ReadonlyArray<string>, options: Partial<PythonOptions> = {}) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const lines: Array<string> = []
    const { interpreter = "" } = yield* PackInstaller.use((installer) =>
      installer.install({ folder, language: "python", packages }, (line) => Effect.sync(() => void lines.push(line)))
    ).pipe(Effect.provide(installerLayer(options)))
    return { interpreter, lines }
  })

/** The program `uv`, from an environment of the tests. */
const uvProgram = Effect.map(install(["uv==0.13.9"]), ({ interpreter }) => join(interpreter, "../uv"))

/** An index of packages that ends every connection, for pip and for uv. */
const brokenIndex = Effect.acquireRelease(
  Effect.callback<string>((resume) => {
    const server = createServer((request) => request.socket.destroy()).listen(0, "127.0.0.1", () => {
      const address = server.address()
      const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/simple`
      for (const [name, value] of Object.entries({
        PIP_INDEX_URL: url,
        PIP_FIND_LINKS: "",
        PIP_RETRIES: "1",
        UV_DEFAULT_INDEX: url,
        UV_HTTP_RETRIES: "1",
        UV_NO_CACHE: "1"
      })) {
        vi.stubEnv(name, value)
      }
      resume(Effect.succeed(url))
    })
  }),
  () => Effect.sync(() => vi.unstubAllEnvs())
)

describePython("environment of Python packs", () => {
  it.live("installs with uv, and locks all versions", () =>
    Effect.gen(function* () {
      const environments = join(yield* temporaryFolder, "environments")
      const { interpreter, lines } = yield* install([], { environments, uv: yield* uvProgram })
      assert.isTrue(
        lines.some((line) => /^Installed \d+ packages/.test(line)),
        lines.join("\n")
      )
      assert.isTrue(existsSync(interpreter))
      const [lock = ""] = readdirSync(environments).filter((name) => name.endsWith(".lock"))
      assert.match(readFileSync(join(environments, lock), "utf8"), /^pydantic==2\.[\d.]+$/m)
    }).pipe(Effect.scoped)
  )

  it.live("tells that the index cannot be reached, with pip and with uv", () =>
    Effect.gen(function* () {
      const uv = yield* uvProgram
      yield* brokenIndex
      const environments = join(yield* temporaryFolder, "environments")
      const withPip = yield* Effect.flip(install([], { environments, uv: "no-uv" }))
      assert.match(withPip.message, /^the index of packages cannot be reached: Connection aborted\. Remote end closed/)
      const withUv = yield* Effect.flip(install([], { environments, uv }))
      assert.match(withUv.message, /^Request failed after 1 retr.*; Failed to fetch: .*\/simple\/[a-z]+\/`?; /)
      assert.deepStrictEqual(readdirSync(environments), [])
    }).pipe(Effect.scoped)
  )
})
