import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { descendants, familyOf, gone } from "../processes.ts"
import { a2c, everythingServer, memoryServer, run, startServer, temporaryFile } from "./processes.ts"

const workspace = (name: string) => fileURLToPath(new URL(`../fixtures/workspace/${name}`, import.meta.url))
const node = (...args: ReadonlyArray<string>) => ({ command: process.execPath, args })
const mcp = (mcpServers: object) => JSON.stringify({ mcpServers })

/** Runs `a2c computer` until it ends. */
const computer = (...args: ReadonlyArray<string>) => run("computer", ...args)

/** Runs these commands of the shell with the configuration of an editor or of Claude. */
const shell = (configs: ReadonlyArray<string>, commands: ReadonlyArray<string>, ...more: ReadonlyArray<string>) =>
  computer(
    ...configs.flatMap((name) => ["--config", workspace(name)]),
    ...more,
    ...commands.flatMap((command) => ["--run", command])
  )

const editor = ".vscode/mcp.json"
const claude = "claude_desktop_config.json"

describe("a2c computer", () => {
  it.live("starts the servers of an mcp.json of an editor, and hides the value of its input", () =>
    Effect.gen(function* () {
      const flags = ["--input", "greeting=hello-there", "--log-level", "all"]
      const { code, stderr, stdout } = yield* shell([editor], ["status", "inputs", "call get-env"], ...flags)
      assert.strictEqual(code, 0)
      const [status, shown = ""] = stdout.split("{\n", 2)
      assert.match(status ?? "", /everything +ready +15 tools/)
      assert.match(status ?? "", /greeting +password +everything +set \(explicit\)/)
      assert.notInclude(`${status}${stderr}`, "hello-there")
      // The tool prints its own environment.
      assert.include(shown, '"GREETING": "hello-there"')
      assert.include(shown, '"WHERE": "workspace"')
      assert.include(shown, '"FROM_FILE": "a value of a file"')
    })
  )

  it.live("starts the servers of a Claude configuration", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* shell([claude], ["status", "call read_graph"])
      assert.deepStrictEqual([code, /memory +ready +9 tools/.test(stdout)], [0, true])
    })
  )

  it.live("reports an input without a value, and starts the other servers", () =>
    Effect.gen(function* () {
      const { stdout } = yield* shell([editor, claude], ["status"])
      assert.match(stdout, /everything +failed +.*A2C_SMCP_GREETING.*--input greeting=@FILE/)
      assert.match(stdout, /memory +ready/)
    })
  )

  it.live("applies an edit without a restart of unchanged servers, keeps them on errors, and reloads on SIGHUP", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("mcp.json", mcp({ everything: node(everythingServer) }))
      const { url } = yield* startServer()
      const desk = yield* a2c("computer", "--server", url, "--office", "o", "--config", file)
      yield* desk.prints("joined office")
      const before = descendants(desk.pid)
      writeFileSync(file, mcp({ everything: node(everythingServer), memory: node(memoryServer) }))
      yield* desk.prints("server=memory", "stderr")
      const both = yield* familyOf(desk.pid, before.length + 1)
      assert.includeMembers([...both], [...before])
      writeFileSync(file, "{ nonsense")
      yield* desk.prints("configuration not reloaded", "stderr")
      assert.includeMembers([...descendants(desk.pid)], [...both])
      writeFileSync(file, mcp({ everything: node(everythingServer) }))
      yield* desk.prints('removed=["memory"]', "stderr")
      yield* gone(both.filter((pid) => !before.includes(pid)))
      assert.includeMembers([...descendants(desk.pid)], [...before])
      yield* desk.signal("SIGHUP")
      yield* desk.prints("added=[] removed=[] restarted=[] reconfigured=[]", "stderr")
      yield* desk.signal("SIGTERM")
      yield* gone(before)
    })
  )

  it.live("explains a configuration with check", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* computer("check", workspace(editor))
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.deepStrictEqual(stdout.split("\n").slice(1), [
        "  server everything: stdio, npx",
        "input greeting: promptString, from A2C_SMCP_GREETING, or asked for at a terminal",
        ""
      ])
    })
  )

  it.live("reports all errors with check, also as JSON, and exits with 1", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile(
        "mcp.json",
        '{"servers": {"s": {"type": "stdio", "server_parameters": {"command": "node"}, "vrl": ".a = "}}}'
      )
      const { code, stderr, stdout } = yield* computer("check", "--json", file)
      const report = JSON.parse(stdout) as {
        ok: boolean
        findings: ReadonlyArray<{ path: unknown; line: number }>
      }
      assert.deepStrictEqual(
        [code, JSON.parse(stderr), report.ok],
        [1, { error: { code: "failed", message: "1 error" } }, false]
      )
      assert.deepStrictEqual(
        report.findings.map(({ line, path }) => [path, line]),
        [[["servers", "s", "vrl"], 1]]
      )
    })
  )

  it.live("rejects an invalid URL and an unknown input with check", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("mcp.json", '{"mcpServers": {"s": {"url": "localhost:3000/mcp"}}}')
      const { code, stdout } = yield* computer("check", file, "--input", "token=secret")
      assert.deepStrictEqual(
        [code, stdout.replaceAll(file, "mcp.json").split("\n").slice(1)],
        [
          1,
          [
            "  server s: streamable, localhost:3000/mcp",
            "mcp.json:1:23: error: mcpServers.s.url: must be an http or https URL",
            "command line: warning: --input token: unknown input",
            ""
          ]
        ]
      )
    })
  )

  it.live("rejects an unknown document host and lists the known ones", () =>
    Effect.gen(function* () {
      const help = yield* computer("--dpe", "ftp", "--config", workspace(claude), "--office", "o")
      assert.include(help.stderr, 'a2c: --dpe: expected cache, cache:FOLDER, http or http:PORT, got "ftp"')
      assert.strictEqual(help.code, 1)
    })
  )
})
