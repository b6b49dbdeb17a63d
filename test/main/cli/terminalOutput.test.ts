import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CommandFailed } from "../../../src/main/CommandFailed.ts"
import { escapedHostileText, hostileText } from "../../fixtures/hostileText.ts"
import { a2c, cli, node, onTerminal, run, temporaryFile } from "../processes.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { hostileServer } from "./HostileServer.ts"
import { a2cInProcess } from "./inProcess.ts"

const hostileMcpServer = fileURLToPath(new URL("../../fixtures/hostileMcpServer.ts", import.meta.url))

const promiseApi = new URL("../../../src/main/entrypoints/promise.ts", import.meta.url).href

/** Asserts that a terminal may show a text. */
const assertSafe = (text: string) => assert.notMatch(text, /(?![\n\t])\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}/u)

/** Asserts that hostile text has arrived, and that a terminal may show it. */
const assertEscaped = (text: string) => {
  assert.include(text, escapedHostileText)
  assertSafe(text)
}

const agent = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { url } = yield* hostileServer
  return yield* a2cInProcess("agent", "--server", url, "--office", "o", ...args)
})

/** The text of a hostile tool, as it was sent and as a terminal may show it. */
const resultText = `first${hostileText}\nsecond\tline`
const shownResultText = `first${escapedHostileText}\nsecond\tline`

describe("a2c agent with a hostile Server", () => {
  const commands: ReadonlyArray<readonly [name: string, ...args: ReadonlyArray<string>]> = [
    ["members"],
    ["tools"],
    ["call", "echo"],
    ["desktop"],
    ["config"],
    ["resources"],
    ["dpe", "dpe://h/x"],
    ["find", "x"]
  ]
  for (const args of commands) {
    it.live(`escapes the output of ${args[0]}`, () =>
      Effect.gen(function* () {
        const { failure, stdout } = yield* agent(...args)
        assert.isUndefined(failure)
        assertEscaped(stdout)
      })
    )

    it.live(`prints JSON of ${args[0]} that is safe on a terminal and loses nothing`, () =>
      Effect.gen(function* () {
        const { stdout } = yield* agent("--json", ...args)
        assertEscaped(stdout)
        assert.include(JSON.stringify(JSON.parse(stdout)), JSON.stringify(hostileText).slice(1, -1))
      })
    )
  }

  it.live("keeps a name with a line break in one line", () =>
    Effect.gen(function* () {
      const { stdout } = yield* agent("tools")
      assert.strictEqual(stdout.trimEnd().split("\n").length, 4)
    })
  )

  it.live("keeps line breaks and tabs of a result", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* agent("call", "echo")).stdout, `${shownResultText}\n`)
    })
  )

  it.live("prints the texts of call and desktop unchanged with --raw", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* agent("call", "echo", "--raw")).stdout, `${resultText}\n`)
      assert.include((yield* agent("desktop", "--raw")).stdout, `window${hostileText}\nsecond line`)
    })
  )

  for (const tool of ["broken", "rejected"]) {
    it.live(`prints nothing to stdout when the call of the tool '${tool}' fails, also with --raw`, () =>
      Effect.gen(function* () {
        const { failure, stdout } = yield* agent("call", tool, "--raw")
        assert.strictEqual(stdout, "")
        assert.instanceOf(failure, CommandFailed)
      })
    )
  }

  it.live("escapes the reason of a failure and begins each of its lines like the first", () =>
    Effect.gen(function* () {
      const { url } = yield* hostileServer
      const { code, stderr } = yield* run("agent", "--server", url, "--office", "closed", "members")
      assert.strictEqual(code, 1)
      assertEscaped(stderr)
      assert.match(stderr, /^a2c: [^\n]*\na2c: forged line\n$/)
    })
  )

  it.live("escapes the events of watch, one per line", () =>
    Effect.gen(function* () {
      const { url } = yield* hostileServer
      const watching = yield* a2c("agent", "--server", url, "--office", "o", "watch")
      assertEscaped(yield* watching.prints("desktop changed"))
    })
  )

  it.live("prints the same on a terminal as to a pipe", () =>
    Effect.gen(function* () {
      const { url } = yield* hostileServer
      const call = [cli, "agent", "--server", url, "--office", "o", "call", "echo"]
      const [escaped, raw] = yield* Effect.all([onTerminal(call), onTerminal([...call, "--raw"])])
      yield* escaped.ended
      yield* raw.ended
      assert.strictEqual(escaped.stdout().replaceAll("\r\n", "\n"), `${shownResultText}\n`)
      assert.strictEqual(raw.stdout().replaceAll("\r\n", "\n"), `${resultText}\n`)
    })
  )

  it.live("escapes a command line that it cannot parse", () =>
    Effect.gen(function* () {
      assertSafe((yield* run("agent", `nonsense${hostileText.replaceAll("\u0000", "")}`)).stderr)
    })
  )
})

describe("a2c server status with a hostile Server", () => {
  for (const args of [[], ["--offices"], ["--json"]]) {
    it.live(`escapes the report with ${args.join(" ") || "no flag"}`, () =>
      Effect.gen(function* () {
        const { url } = yield* hostileServer
        assertEscaped((yield* a2cInProcess("server", "status", url, ...args)).stdout)
      })
    )
  }

  it.live("escapes a line of --watch, and an error page", () =>
    Effect.gen(function* () {
      const { url } = yield* hostileServer
      assertEscaped(yield* (yield* a2c("server", "status", url, "--watch")).prints("1 office "))
      const withToken = ["--token-file", yield* temporaryFile("token", "t")]
      const watching = yield* a2c("server", "status", url, "--watch", ...withToken)
      assertEscaped(yield* watching.prints("error page", "stderr"))
    })
  )
})

describe("a2c computer with a hostile MCP server", () => {
  const config = temporaryFile(
    "mcp.json",
    JSON.stringify({
      mcpServers: {
        hostile: { command: process.execPath, args: [hostileMcpServer] },
        [`broken${hostileText}`]: { command: `missing${hostileText}` }
      }
    })
  )

  it.live("escapes the output of the shell and the log", () =>
    Effect.gen(function* () {
      const hostileCall = `call 'named${hostileText}\nforged line'`
      const succeeding = ["status", "servers", "tools", "tool echo", "desktop", "call echo"]
      const failing = ["call broken", "call refused", "tool named"]
      const commands = [...succeeding, hostileCall, "history", ...failing]
      const runs = commands.map((command) => `--run=${command}`)
      const { code, stderr, stdout } = yield* run("computer", "--config", yield* config, "--log-level=debug", ...runs)
      assert.strictEqual(code, 1)
      assertEscaped(stdout)
      assertEscaped(stderr)
      assert.include(stderr, `stderr${escapedHostileText}`)
      assert.include(stdout, shownResultText)
      assert.notMatch(`${stdout}${stderr}`, /^forged/m)
    })
  )

  it.live("escapes the report of check", () =>
    Effect.gen(function* () {
      assertEscaped((yield* a2cInProcess("computer", "check", yield* config)).stdout)
    })
  )
})

describe("a2c tools with a hostile pack", () => {
  const text = JSON.stringify(resultText)

  const folder = (body: string) =>
    Effect.map(temporaryFolder, (root) => {
      mkdirSync(`${root}/hostile_pack`)
      const description = JSON.stringify(`does${hostileText}`)
      writeFileSync(
        `${root}/hostile_pack/hostile_pack_tool.js`,
        `export class HostilePackTool {
          getRouteConfig() { return { endpoint: "/tools/hostile_pack", params: { type: "object" } } }
          listTools() { return [{ name: "hostile_pack", description: ${description} }] }
          callTool() { ${body} }
        }`
      )
      return root
    })

  it.live("escapes the list of packs", () =>
    Effect.gen(function* () {
      assertEscaped((yield* run("tools", "list", yield* folder(""))).stdout)
    })
  )

  it.live("escapes the result of a tool, and prints it unchanged with --raw", () =>
    Effect.gen(function* () {
      const call = ["tools", "call", "hostile_pack", "--dir", yield* folder(`return ${text}`)]
      assert.strictEqual((yield* run(...call)).stdout, `${shownResultText}\n`)
      assert.strictEqual((yield* run(...call, "--raw")).stdout, `${resultText}\n`)
    })
  )

  it.live("escapes the reason of a failure and the output of an isolated pack", () =>
    Effect.gen(function* () {
      const dir = yield* folder(`console.error(${text}); throw new Error(${text})`)
      const { code, stderr } = yield* run("tools", "call", "hostile_pack", "--dir", dir, "--isolate")
      assert.strictEqual(code, 2)
      assertEscaped(stderr)
    })
  )
})

describe("program of the Promise API without a log function", () => {
  it.live("escapes the log on stderr", () =>
    Effect.gen(function* () {
      const name = `broken${hostileText}`
      const server = { name, type: "stdio", server_parameters: { command: `missing${hostileText}` } }
      const config = JSON.stringify({ inputs: [], servers: { [name]: server } })
      const source = `import { runComputer } from ${JSON.stringify(promiseApi)}
        await runComputer({ url: "http://127.0.0.1:1", name: "desk", config: ${config} })`
      const program = yield* node(["--input-type=module", "--eval", source])
      assertEscaped(yield* program.prints("could not start", "stderr"))
    })
  )
})
