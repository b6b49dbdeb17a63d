import { PassThrough } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Result, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { type LineReader, makeLineReader } from "../../../src/adapters/terminal/LineReader.ts"
import { complete } from "../../../src/main/repl/replCommands.ts"
import { runRepl } from "../../../src/main/repl/runRepl.ts"
import { quoteWord, splitWords } from "../../../src/main/repl/splitWords.ts"
import { desk, print } from "../desk.ts"

describe("splitWords", () => {
  const splits = (line: string, ...words: ReadonlyArray<string>) =>
    assert.deepStrictEqual(splitWords(line), Result.succeed(words), line)

  it("separates words at any white space", () => splits("  a \t b  ", "a", "b"))
  it("keeps the text between single quotes", () => splits(String.raw`'a  "b" \n' ''`, String.raw`a  "b" \n`, ""))
  it("unescapes only quotes and backslashes in double quotes", () =>
    splits(String.raw`"a \"b\" \\ \n"`, String.raw`a "b" \ \n`))
  it("takes the character after a backslash literally", () => splits(String.raw`a\ b\'c`, "a b'c"))
  it("joins the quoted and unquoted parts of a word", () => splits(`name='a b'"c d"`, "name=a bc d"))
  it("takes a word that begins as JSON to the end of the line", () =>
    splits(`call echo {"it's": "a  b"}  `, "call", "echo", `{"it's": "a  b"}`))
  it("reports the quote that is not closed", () =>
    assert.deepStrictEqual(splitWords(`a "b`), Result.fail('the quote " is not closed')))
  it("rejects a backslash at the end of the line", () => assert.isTrue(Result.isFailure(splitWords("a\\"))))

  it.prop("restores words that quoteWord has quoted", { words: Schema.Array(Schema.String) }, ({ words }) =>
    splits(words.map(quoteWord).join(" "), ...words)
  )
})

describe("repl command", () => {
  const inputs = {
    inputs: [
      { type: "promptString", id: "token", description: "the token", password: true },
      { type: "promptString", id: "user", default: "me" },
      { type: "pickString", id: "size", options: ["S", "M"] }
    ],
    servers: {
      files: { type: "stdio", server_parameters: { command: "memory", args: ["${input:size}"] } },
      notes: { type: "stdio", server_parameters: { command: "memory", args: ["${input:token}"] } }
    }
  }

  it.effect("shows the office, the servers and the hidden tools by status", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("status")
      assert.deepStrictEqual(stdout.split("\n"), [
        "in office O1",
        "files  ready  3 tools, 2 windows",
        "notes  ready  1 tool, 0 windows",
        "hidden tools:",
        "files  wipe  forbidden",
        ""
      ])
    }).pipe(Effect.provide(desk({ office: "O1" })))
  )

  it.effect("shows that a lazy server is idle, and starts it", () => {
    const stdio = { type: "stdio", server_parameters: { command: "memory" }, lifecycle: "lazy" }
    return Effect.gen(function* () {
      assert.include((yield* print("status")).stdout, "notes  idle  1 tool, 0 windows  starts on request\n")
      assert.include((yield* print("servers")).stdout, "notes  idle")
      assert.strictEqual((yield* print("server start notes")).stdout, "started notes: 1 tool, 0 windows\n")
      assert.include((yield* print("status")).stdout, "notes  ready  1 tool, 0 windows\n")
    }).pipe(Effect.provide(desk({ config: { servers: { notes: stdio } }, office: "O1" })))
  })

  it.effect("lists the calls that wait, and decides about them", () =>
    Effect.gen(function* () {
      const computer = yield* Computer
      const call = (n: number) =>
        Effect.forkChild(computer.callTool({ tool: "read", params: { n }, requester: "ada" }), {
          startImmediately: true
        })
      assert.strictEqual((yield* print("approvals")).stdout, "no call waits for an approval\n")
      const first = yield* call(1)
      yield* TestClock.adjust(0)
      const { stdout } = yield* print("approvals")
      assert.match(stdout, /^\S{8}\s+read\s+for ada\s+5m left\s+\{"n":1\}/)
      const [id = ""] = stdout.split(" ")
      const shown = (yield* print(`approvals ${id}`)).stdout
      assert.match(shown, /^caller +ada$/m)
      assert.match(shown, /^ {4}"n": 1$/m)
      assert.include((yield* print("approvals zzz")).stderr, "No call waits for an approval with the id 'zzz'")
      assert.include((yield* print("approve zzz")).stderr, "No call waits for an approval with the id 'zzz'")
      assert.include((yield* print(`approve ${id} soon`)).stderr, "is neither 'always' nor a time")
      assert.strictEqual((yield* print(`deny ${id} not now`)).stdout, "read: denied by terminal: not now\n")
      assert.include(JSON.stringify(yield* Fiber.join(first)), "not now")
      const second = yield* call(2)
      yield* TestClock.adjust(0)
      const [next = ""] = (yield* print("approvals")).stdout.split(" ")
      assert.strictEqual((yield* print("grants")).stdout, "no tool is allowed beyond one call\n")
      assert.strictEqual((yield* print(`approve ${next} 2h`)).stdout, "read: allowed by terminal\n")
      assert.isFalse((yield* Fiber.join(second)).isError)
      const grants = (yield* print("grants")).stdout
      assert.match(grants, /read\s+outside an office\s+until 1970-01-01T02:00:00.000Z\s+by terminal/)
      assert.strictEqual((yield* print(`revoke ${next}`)).stdout, "read needs an approval again\n")
      assert.include((yield* print(`revoke ${next}`)).stderr, `No grant has the id '${next}'`)
    }).pipe(Effect.provide(desk({ approvers: ["page"] })))
  )

  it.effect("lists questions, and answers or declines them", () =>
    Effect.gen(function* () {
      const computer = yield* Computer
      const responder = { modes: ["form" as const], answer: () => Effect.never }
      const request = Effect.forkChild(computer.callTool({ tool: "ask", params: {}, responder }), {
        startImmediately: true
      })
      const first = yield* request
      yield* TestClock.adjust(0)
      const { stdout } = yield* print("approvals")
      assert.match(stdout, /^\S{8}\s+ask\s+for owner\s+5m left\s+question\s+Who\?/)
      const [id = ""] = stdout.split(" ")
      assert.match((yield* print(`approvals ${id}`)).stdout, /^message:\n {2}Who\?\nform:\n {2}\{$/m)
      assert.include((yield* print(`approve ${id}`)).stderr, "The answer to a question has the content of its form")
      // Without a terminal there is no answer.
      assert.strictEqual((yield* print(`answer ${id}`)).stdout, "ask: declined by terminal\n")
      assert.include(JSON.stringify(yield* Fiber.join(first)), "decline")
      const second = yield* request
      yield* TestClock.adjust(0)
      const [next = ""] = (yield* print("approvals")).stdout.split(" ")
      assert.strictEqual((yield* print(`deny ${next}`)).stdout, "ask: declined by terminal\n")
      assert.include(JSON.stringify(yield* Fiber.join(second)), "decline")
    }).pipe(Effect.provide(desk({ requests: true })))
  )

  it.effect("shows the reason by status when a server does not run", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("status")
      assert.match(stdout, /^lost {2}backing off {4}no server 'lost' in memory; attempt 2 in \d+ s$/m)
    }).pipe(Effect.provide(desk({ config: { servers: { lost: { command: "x" } } } })))
  )

  it.effect("says by status which server with resources lacks subscribe", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("status")
      const note = "lacks subscribe: only --all-windows shows its windows and documents, without updates"
      assert.include(stdout, `files  ready  3 tools, 2 windows  ${note}\n`)
      assert.match(stdout, /^notes .*1 tool, 0 windows$/m)
    }).pipe(Effect.provide(desk({ subscribe: false })))
  )

  it.effect("lists the tools of one server", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("tools notes")
      assert.strictEqual(stdout, "write  notes  does write\n")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("lists prompts, and shows the messages of one", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* print("prompts")).stdout, "greet  notes  who [how]  Greets\n")
      assert.strictEqual((yield* print("prompt greet who=Ada")).stdout, 'user: Greet {"who":"Ada"}\n')
      assert.include((yield* print("prompt gret")).stderr, "did you mean 'greet'?")
      assert.include((yield* print("prompt greet Ada")).stderr, "expected KEY=VALUE")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("shows the schema of a tool", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("tool read")
      assert.include(stdout, '"type": "integer"')
      assert.include(stdout, "needs consent to run for an Agent")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("calls a tool with unquoted JSON", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print(`call read {"path": "it's", "lines": 2}`)
      assert.strictEqual(stdout, `{"path":"it's","lines":2}\n`)
    }).pipe(Effect.provide(desk()))
  )

  it.effect("converts KEY=VALUE arguments by the schema", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("call read path=7 lines=7 more='a b'")
      assert.strictEqual(stdout, `{"path":"7","lines":7,"more":"a b"}\n`)
    }).pipe(Effect.provide(desk()))
  )

  it.effect("explains how a call of an Agent is decided", () =>
    Effect.gen(function* () {
      const { stderr, stdout } = yield* print("explain write a=b", "explain wipe")
      assert.deepStrictEqual(stdout.split("\n"), [
        "tool      write of the MCP server notes",
        "caller    agent in the office O1",
        "decision  ask, by default: the call needs an approval, for which this Computer cannot ask: 4005",
        ""
      ])
      assert.strictEqual(stderr, "The tool 'wipe' of files is hidden: forbidden\n")
    }).pipe(Effect.provide(desk({ office: "O1" })))
  )

  it.effect("completes the tool and the arguments to explain", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* complete("explain re"), yield* complete("call re"))
      assert.deepStrictEqual(yield* complete("explain read "), yield* complete("call read "))
    }).pipe(Effect.provide(desk()))
  )

  it.effect("prints the error of a failed tool", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("call break")
      assert.strictEqual(stderr, "it broke\n")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("rejects the call of a hidden tool with the reason", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("call wipe")
      assert.strictEqual(stderr, "The tool 'wipe' of files is hidden: forbidden\n")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("lists the calls by history", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("call write", "call break", "history")
      assert.match(stdout, /Z {2}notes {2}write {2}done\n.*Z {2}files {2}break {2}failed\n$/)
    }).pipe(Effect.provide(desk()))
  )

  it.effect("shows at most --size windows", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("desktop --size 1")
      assert.strictEqual(stdout, "window://files/a?priority=9\n\nA\n")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("shows the window of --window", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("desktop --window window://files/b")
      assert.strictEqual(stdout, "window://files/b\n\nB\n")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("shows the sources of inputs and only public values", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("input token s3cret", "inputs")
      assert.deepStrictEqual(stdout.split("\n").slice(1), [
        "token  password      notes  set (explicit)",
        "user   promptString         not set, has a default",
        "size   pickString    files  M (environment)",
        ""
      ])
    }).pipe(Effect.provide(desk({ config: inputs })))
  )

  it.effect("names the servers to restart after input and repeats no value", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("input token s3cret")
      assert.strictEqual(stdout, "token is set; to take effect, restart notes\n")
    }).pipe(Effect.provide(desk({ config: inputs })))
  )

  it.effect("restarts a server with an input that was missing before", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("input token s3cret", "server restart notes")
      assert.include(stdout, "restarted notes: 1 tool, 0 windows\n")
    }).pipe(Effect.provide(desk({ config: inputs })))
  )

  it.effect("rejects an input value that is not among the options", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("input size XL")
      assert.include(stderr, 'not one of the options "S", "M"')
    }).pipe(Effect.provide(desk({ config: inputs })))
  )

  it.effect("looks the value up again after input forget", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("input size S", "input forget size", "inputs")
      assert.include(stdout, "M (environment)")
    }).pipe(Effect.provide(desk({ config: inputs })))
  )

  it.effect("fails without an input value and a terminal", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("input token")
      assert.include(stderr, "input token VALUE")
    }).pipe(Effect.provide(desk({ config: inputs })))
  )

  it.effect("hides arguments and the secrets of URLs in the list of servers", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("servers")
      assert.strictEqual(
        stdout,
        "a  stopped  stdio       npx                      disabled\n" +
          "b  stopped  streamable  https://example.org/mcp  disabled\n"
      )
    }).pipe(
      Effect.provide(
        desk({
          config: {
            servers: {
              a: { command: "npx", args: ["s3cret"], disabled: true },
              b: { url: "https://me:s3cret@example.org/mcp?key=s3cret", disabled: true }
            }
          }
        })
      )
    )
  )

  it.effect("adds a server in the dialect of other hosts", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("server remove notes", 'server add notes {"command":"memory"}', "tools")
      assert.include(stdout, "added notes: 1 tool, 0 windows\n")
      assert.include(stdout, "write  notes")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("adds a server in the dialect of configuration files", () =>
    Effect.gen(function* () {
      const line =
        'server add notes {"type":"stdio","server_parameters":{"command":"x"},"tool_meta":{"write":{"alias":"w"}}}'
      const { stdout } = yield* print("server remove notes", line, "tools notes")
      assert.include(stdout, "w  notes")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("rejects an invalid server with the path of the error", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print('server add new {"command":"x","args":[{}]}')
      assert.match(stderr, /^Cannot add new: args\[0\]/)
    }).pipe(Effect.provide(desk()))
  )

  it.effect("repeats nothing of a server that is not JSON", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print('server add new {"env":{"KEY":s3cret}}')
      assert.match(stderr, /^Cannot add new: the configuration is not JSON/)
      assert.notInclude(stderr, "s3cret")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("fails when the added server does not run", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print('server add new {"command":"x"}')
      assert.match(stderr, /^added new, but does not run: backing off: .*no server 'new' in memory/)
    }).pipe(Effect.provide(desk()))
  )

  it.effect("removes the tools by server stop and restores them by server start", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("server stop notes", "tools notes", "server start notes", "tools notes")
      assert.deepStrictEqual(stdout.split("\n"), [
        "stopped notes",
        "no tools",
        "started notes: 1 tool, 0 windows",
        "write  notes  does write",
        ""
      ])
    }).pipe(Effect.provide(desk()))
  )

  it.effect("waits for servers that start slowly", () =>
    Effect.gen(function* () {
      const saying = yield* Effect.forkChild(print("tools notes"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(saying)).stdout, "write  notes  does write\n")
    }).pipe(Effect.provide(desk({ startsIn: Duration.seconds(1) })))
  )

  it.effect("waits until the added server runs", () =>
    Effect.gen(function* () {
      const saying = yield* Effect.forkChild(print("server remove notes", 'server add notes {"command":"x"}'))
      for (let second = 0; second < 2; second++) yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(saying)).stdout, "removed notes\nadded notes: 1 tool, 0 windows\n")
    }).pipe(Effect.provide(desk({ startsIn: Duration.seconds(1) })))
  )

  it.effect("joins and leaves an office", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("join O2", "status", "leave", "status")
      assert.match(stdout, /^joined office O2\nin office O2\n[^]*left office O2\nin no office\n/)
    }).pipe(Effect.provide(desk()))
  )

  it.effect("joins again on the protocol line of its start", () =>
    Effect.gen(function* () {
      const lines = []
      for (const command of ["status", "leave", "join O2", "leave", "join O1"]) {
        yield* print(command)
        lines.push((yield* Computer.use(({ member }) => member))?.line.name)
      }
      assert.deepStrictEqual(lines, ["0.4", undefined, "0.4", undefined, "0.4"])
    }).pipe(Effect.provide(desk({ office: "O1", protocol: "0.4" })))
  )

  it.effect("refuses to join a second office", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("join O2")
      assert.include(stderr, "Already in office 'O1': leave it first")
    }).pipe(Effect.provide(desk({ office: "O1" })))
  )

  it.effect("suggests a similar command for an unknown one", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("stauts", "server restrat notes", "xyzzy 1")
      assert.deepStrictEqual(stderr.split("\n"), [
        "Unknown command 'stauts': did you mean 'status'?",
        "Unknown command 'server restrat': did you mean 'server restart'?",
        "Unknown command 'xyzzy'; help lists all commands",
        ""
      ])
    }).pipe(Effect.provide(desk()))
  )

  it.effect("suggests a similar server for an unknown one", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("tools note")
      assert.strictEqual(stderr, "No server 'note' is configured: did you mean 'notes'?\n")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("shows the usage of a command with too few words", () =>
    Effect.gen(function* () {
      const { stderr } = yield* print("server add notes")
      assert.strictEqual(stderr, "Expected server add NAME {JSON}\n")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("lists the commands of a group by help", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print("help server")
      assert.strictEqual(stdout.match(/^server \w+ /gm)?.length, 5)
    }).pipe(Effect.provide(desk()))
  )

  it.effect("runs the commands after a failed one and fails at the end", () =>
    Effect.gen(function* () {
      const { failure, stdout } = yield* print("tools unknown", "tools notes")
      assert.strictEqual(stdout, "write  notes  does write\n")
      assert.strictEqual(failure, "1 of 2 commands failed")
    }).pipe(Effect.provide(desk()))
  )

  it.effect("runs no command after exit", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* print("exit", "status"), { stdout: "", stderr: "", failure: undefined })
    }).pipe(Effect.provide(desk()))
  )

  const completes = (line: string, ...candidates: ReadonlyArray<string>) =>
    it.effect(`completes "${line}"`, () =>
      Effect.gen(function* () {
        yield* print("status")
        assert.sameMembers([...(yield* complete(line)).candidates], [...candidates])
      }).pipe(Effect.provide(desk({ config: inputs })))
    )
  completes("sta", "status")
  completes("server st", "start", "stop")
  completes("server stop f", "files")
  completes("call re", "read")
  completes("call read path=1 ", "lines=")
  completes("input ", "token", "user", "size", "forget")
  completes("input size ", "S", "M")
  completes("help server re", "remove", "restart")
  completes("call 'not closed ")
})

/** Runs a repl on streams of the test. */
const withRepl = Effect.fnUntraced(function* (
  isTerminal: boolean,
  use: (repl: {
    readonly type: (text: string) => Effect.Effect<void>
    /** Ends the input. */
    readonly end: Effect.Effect<void>
    /** Waits until the output contains this text, after the previous text. */
    readonly shows: (text: string) => Effect.Effect<void>
    readonly output: () => string
    readonly errors: () => string
    readonly reader: LineReader
    readonly ended: Effect.Effect<Exit.Exit<void, { readonly message: string }>>
  }) => Effect.Effect<void, unknown, Scope.Scope>
) {
  const input = new PassThrough()
  const streams = { output: new PassThrough(), errors: new PassThrough() }
  const written = { output: "", errors: "" }
  const checks = new Set<() => void>()
  for (const name of ["output", "errors"] as const) {
    streams[name].setEncoding("utf8").on("data", (chunk: string) => {
      written[name] += chunk
      for (const check of checks) check()
    })
  }
  let seen = 0
  const reader = yield* makeLineReader({ input, ...streams, isTerminal })
  const repl = yield* Effect.forkChild(runRepl({ name: "pc-1", reader }), { startImmediately: true })
  yield* use({
    type: (text) => Effect.sync(() => void input.write(text)),
    end: Effect.sync(() => void input.end()),
    shows: (text) =>
      Effect.callback((resume) => {
        const check = () => {
          const at = written.output.indexOf(text, seen)
          if (at < 0) return
          seen = at + text.length
          checks.delete(check)
          resume(Effect.void)
        }
        checks.add(check)
        check()
      }),
    output: () => written.output,
    errors: () => written.errors,
    reader,
    ended: Fiber.await(repl)
  })
})

describe("repl on a pipe", () => {
  const piped = (title: string, use: Parameters<typeof withRepl>[1]) =>
    it.live(title, () => Effect.scoped(Effect.provide(withRepl(false, use), desk({ office: "O1" }))))

  piped("prints results and no prompt", ({ ended, errors, output, type }) =>
    Effect.gen(function* () {
      yield* type("tools notes\nexit\nstatus\n")
      assert.isTrue(Exit.isSuccess(yield* ended))
      assert.deepStrictEqual([output(), errors()], ["write  notes  does write\n", ""])
    })
  )

  piped("ends after the last line of the input", ({ end, ended, output, type }) =>
    Effect.gen(function* () {
      yield* type("tools notes")
      yield* end
      assert.isTrue(Exit.isSuccess(yield* ended))
      assert.strictEqual(output(), "write  notes  does write\n")
    })
  )

  piped("runs all lines and fails when a command failed", ({ ended, errors, output, type }) =>
    Effect.gen(function* () {
      yield* type("call break\ntools notes\nexit\n")
      assert.isTrue(Exit.isFailure(yield* ended))
      assert.deepStrictEqual([output(), errors()], ["write  notes  does write\n", "it broke\n"])
    })
  )
})

describe("repl on a terminal", () => {
  const typed = (title: string, use: Parameters<typeof withRepl>[1], config?: object) =>
    it.live(title, () =>
      Effect.scoped(
        Effect.provide(withRepl(true, use), desk({ office: "O1", ...(config !== undefined && { config }) }))
      )
    )
  const ctrlC = "\u0003"
  const ctrlD = "\u0004"
  const up = "\u001b[A"
  const secret = {
    inputs: [{ type: "promptString", id: "token", description: "the token", password: true }]
  }
  const withSecret = {
    ...secret,
    servers: { notes: { type: "stdio", server_parameters: { command: "x", args: ["${input:token}"] } } }
  }

  typed("shows the name and the office in the prompt", ({ shows, type }) =>
    Effect.gen(function* () {
      yield* shows("pc-1@O1> ")
      yield* type("leave\r")
      yield* shows("left office O1")
      yield* shows("pc-1> ")
    })
  )

  typed("succeeds at Ctrl-D even after a failed command", ({ ended, shows, type }) =>
    Effect.gen(function* () {
      yield* shows("> ")
      yield* type("xyzzy\r")
      yield* shows("> ")
      yield* type(ctrlD)
      assert.isTrue(Exit.isSuccess(yield* ended))
    })
  )

  typed("discards the line at Ctrl-C and ends on an empty line", ({ ended, output, shows, type }) =>
    Effect.gen(function* () {
      yield* shows("> ")
      yield* type(`leave${ctrlC}`)
      yield* shows("^C\n")
      yield* shows("pc-1@O1> ")
      yield* type(ctrlC)
      assert.isTrue(Exit.isSuccess(yield* ended))
      assert.notInclude(output(), "left office")
    })
  )

  typed("cancels only the running command at Ctrl-C", ({ errors, shows, type }) =>
    Effect.gen(function* () {
      for (let n = 0; n < 2; n++) {
        yield* shows("> ")
        yield* type("call hang\r")
        yield* shows("call hang\r\n")
        yield* type(ctrlC)
      }
      yield* shows("pc-1@O1> ")
      assert.strictEqual(errors(), "interrupted\ninterrupted\n")
      yield* type("tools notes\r")
      yield* shows("write  notes")
    })
  )

  typed("prints the log above the current line", ({ errors, reader, shows, type }) =>
    Effect.gen(function* () {
      yield* shows("> ")
      yield* type("too")
      yield* shows("too")
      reader.printLog("news\n")
      yield* shows("pc-1@O1> too")
      assert.strictEqual(errors(), "news\n")
      yield* type("ls notes\r")
      yield* shows("write  notes")
    })
  )

  typed("completes a word at Tab", ({ shows, type }) =>
    Effect.gen(function* () {
      yield* shows("> ")
      yield* type("tools no\t")
      yield* shows("tes")
      yield* type("\r")
      yield* shows("write  notes")
    })
  )

  typed(
    "prompts for a password without echo",
    ({ output, shows, type }) =>
      Effect.gen(function* () {
        yield* shows("> ")
        yield* type("input token\r")
        yield* shows("Value [hidden]: ")
        yield* type("s3cret\r")
        yield* shows("token is set")
        assert.notInclude(output(), "s3cret")
      }),
    withSecret
  )

  typed(
    "keeps lines with input values out of the history",
    ({ shows, type }) =>
      Effect.gen(function* () {
        yield* shows("> ")
        yield* type("tools notes\r")
        yield* shows("no tools")
        yield* shows("> ")
        yield* type("input token s3cret\r")
        yield* shows("token is set")
        yield* shows("> ")
        yield* type("input token 's3cret\r")
        yield* shows("> ")
        yield* type(up)
        yield* shows("tools notes")
      }),
    withSecret
  )

  typed(
    "abandons a prompt at Ctrl-C and continues",
    ({ errors, shows, type }) =>
      Effect.gen(function* () {
        yield* shows("> ")
        yield* type("input token\r")
        yield* shows("Value [hidden]: ")
        yield* type(`s3c${ctrlC}`)
        yield* shows("pc-1@O1> ")
        assert.include(errors(), "No value for token")
      }),
    withSecret
  )
})
