import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cli, node, outcomeOf, sourceCli, temporaryFile } from "../processes.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

/** Fails like Node without HOME for a user id without an account. */
const withoutAccount = `data:text/javascript,
import os from "node:os"
import { syncBuiltinESMExports } from "node:module"
os.homedir = () => { throw Object.assign(new Error("uv_os_homedir returned ENOENT"), { code: "ERR_SYSTEM_ERROR" }) }
syncBuiltinESMExports()`
  .replaceAll("\n", " ; ")
  .replace(", ;", ",")

const noFolders = { XDG_CONFIG_HOME: "", XDG_STATE_HOME: "", XDG_CACHE_HOME: "", XDG_RUNTIME_DIR: "" }

const users = [
  ["a user id without an account", ["--import", withoutAccount], {}],
  ["an empty HOME", [], { HOME: "" }],
  ["a relative HOME", [], { HOME: "home" }]
] as const

describe.each(users)("a command for %s", (_user, options, home) => {
  const run = Effect.fnUntraced(function* (args: ReadonlyArray<string>, variables = {}, file = cli) {
    const cwd = yield* temporaryFolder
    return yield* outcomeOf(yield* node([...options, file, ...args], { ...noFolders, ...home, ...variables }, cwd))
  })

  it.live("runs when it needs no folder", () =>
    Effect.gen(function* () {
      const config = yield* temporaryFile("mcp.json", '{"mcpServers": {}}')
      const checked = yield* run(["computer", "check", config], {}, sourceCli)
      assert.deepStrictEqual([checked.code, checked.stderr], [0, ""])
      const members = yield* run(["agent", "--server", "http://127.0.0.1:9", "--office", "o", "members"])
      assert.strictEqual(members.stderr, "a2c: Cannot reach http://127.0.0.1:9: connection refused\n")
    })
  )

  it.live("keeps approvals in memory, and says which variables keep them", () =>
    Effect.gen(function* () {
      const config = yield* temporaryFile("mcp.json", '{"mcpServers": {}}')
      const started = ["computer", "--config", config, "--run", "exit"]
      const { code, stderr } = yield* run(started)
      assert.strictEqual(code, 0)
      assert.match(stderr, /approvals end with this process.*: set HOME or XDG_STATE_HOME, or give --approvals/)
      const folder = yield* temporaryFolder
      assert.strictEqual((yield* run(started, { XDG_STATE_HOME: folder })).stderr, "")
    })
  )

  it.live("fails with the variable to set when it needs a folder", () =>
    Effect.gen(function* () {
      const config = yield* temporaryFile("mcp.json", '{"mcpServers": {"s": {"command": "${userHome}/x"}}}')
      assert.include((yield* run(["computer", "check", config])).stdout, "the home folder is unknown: set HOME")
      const { stdout } = yield* run(["computer", "--config", config, "--run", "status", "--run", "exit"])
      assert.include(stdout, "the home folder of ${userHome} is unknown: set HOME")
      const { code, stderr } = yield* run(["computer", "--dpe", "cache", "--run", "exit"])
      assert.strictEqual(code, 1)
      assert.include(
        stderr,
        "--dpe cache: the home folder is unknown: set HOME or XDG_CACHE_HOME, or give cache:FOLDER"
      )
    })
  )

  it.live("says which variable to set when MCP servers need credentials", () =>
    Effect.gen(function* () {
      const store = new URL("../../../src/adapters/credentials/FileCredentialStore.ts", import.meta.url)
      const port = new URL("../../../src/application/ports/CredentialStore.ts", import.meta.url)
      const script = `import { Effect } from ${JSON.stringify(import.meta.resolve("effect"))}
        import { layer } from ${JSON.stringify(store.href)}
        import { CredentialStore } from ${JSON.stringify(port.href)}
        const read = CredentialStore.use(({ read }) => read("github"))
        console.log(await Effect.runPromise(Effect.flip(Effect.provide(read, layer()))))`
      const { stdout } = yield* run([yield* temporaryFile("read.mjs", script)], {}, "--")
      assert.include(stdout, "Cannot keep credentials: the home folder is unknown: set HOME or XDG_CONFIG_HOME")
    })
  )
})
