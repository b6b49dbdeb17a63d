import { PassThrough } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Result, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Computer } from "../../../../src/application/computer/Computer.ts"
import { type LineReader, makeLineReader } from "../../../../src/adapters/terminal/LineReader.ts"
import { complete, quoteWord, splitWords } from "../../../../src/main/cli/repl/replCommands.ts"
import { runRepl } from "../../../../src/main/cli/repl/runRepl.ts"
import { desk, print } from "../../desk.ts"

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

  const withInputs = { config: inputs }

  /** Commands, what they print on stdout and on stderr, and the Computer that runs them. */
  type Row = readonly [
    title: string,
    commands: ReadonlyArray<string>,
    printed: { readonly stdout?: string | RegExp; readonly stderr?: string | RegExp },
    options?: Parameters<typeof desk>[0]
  ]
  const rows: ReadonlyArray<Row> = [
    [
      "shows the office, the servers and the hidden tools by status",
      ["status"],
      {
        stdout:
          "in office O1\n" +
          "files  ready  3 tools, 2 windows\n" +
          "notes  ready  1 tool, 0 windows\n" +
          "hidden tools:\n" +
          "files  wipe  forbidden\n"
      },
      { office: "O1" }
    ],
    [
      "shows the reason by status when a server does not run",
      ["status"],
      { stdout: /^lost {2}failing {4}no server 'lost' in memory; attempt 2 in \d+ s$/m },
      { config: { servers: { lost: { command: "x" } } } }
    ],
    [
      "says by status which server with resources lacks subscribe",
      ["status"],
      {
        stdout:
          "in no office\n" +
          "files  ready  3 tools, 2 windows  lacks subscribe: only --all-windows shows its windows and documents, without updates\n" +
          "notes  ready  1 tool, 0 windows\n" +
          "hidden tools:\n" +
          "files  wipe  forbidden\n"
      },
      { subscribe: false }
    ],
    ["lists the tools of one server", ["tools notes"], { stdout: "write  notes  does write\n" }],
    ["lists prompts", ["prompts"], { stdout: "greet  notes  who [how]  Greets\n" }],
    ["shows the messages of a prompt", ["prompt greet who=Ada"], { stdout: 'user: Greet {"who":"Ada"}\n' }],
    ["suggests a similar prompt for an unknown one", ["prompt gret"], { stderr: /did you mean 'greet'\?/ }],
    ["rejects an argument of a prompt without a key", ["prompt greet Ada"], { stderr: /expected KEY=VALUE/ }],
    ["shows the schema of a tool", ["tool read"], { stdout: /needs consent to run for an Agent[^]*"type": "integer"/ }],
    [
      "calls a tool with unquoted JSON",
      [`call read {"path": "it's", "lines": 2}`],
      { stdout: `{"path":"it's","lines":2}\n` }
    ],
    [
      "converts KEY=VALUE arguments by the schema",
      ["call read path=7 lines=7", "call read path:='\"a b\"' lines:=7"],
      { stdout: `{"path":"7","lines":7}\n{"path":"a b","lines":7}\n` }
    ],
    [
      "rejects unknown arguments",
      ["call read pth=7"],
      { stderr: "The tool 'read' has no argument 'pth': did you mean 'path'?\n" }
    ],
    ["does not read arguments from its own input", ["call read -"], { stderr: /reads stdin itself/ }],
    [
      "explains how a call of an Agent is decided",
      ["explain write a=b", "explain wipe"],
      {
        stdout:
          "tool      write of the MCP server notes\n" +
          "caller    agent in the office O1\n" +
          "decision  ask, by default: the call needs an approval, for which this Computer cannot ask: 4005\n",
        stderr: "The tool 'wipe' of files is hidden: forbidden\n"
      },
      { office: "O1" }
    ],
    ["prints the error of a failed tool", ["call break"], { stderr: "it broke\n" }],
    [
      "rejects the call of a hidden tool with the reason",
      ["call wipe"],
      { stderr: "The tool 'wipe' of files is hidden: forbidden\n" }
    ],
    [
      "lists the calls by history",
      ["call write", "call break", "history"],
      { stdout: /Z {2}notes {2}write {2}done\n.*Z {2}files {2}break {2}failed\n$/, stderr: "it broke\n" }
    ],
    ["shows at most --size windows", ["desktop --size 1"], { stdout: "window://files/a?priority=9\n\nA\n" }],
    ["shows the window of --window", ["desktop --window window://files/b"], { stdout: "window://files/b\n\nB\n" }],
    [
      "shows the sources of inputs and only public values, and the servers to restart",
      ["input token s3cret", "inputs"],
      {
        stdout:
          "token is set; to take effect, restart notes\n" +
          "token  password      notes  set (explicit)\n" +
          "user   promptString         not set, has a default\n" +
          "size   pickString    files  M (environment)\n"
      },
      withInputs
    ],
    [
      "restarts a server with an input that was missing before",
      ["input token s3cret", "server restart notes"],
      { stdout: /restarted notes: 1 tool, 0 windows\n/ },
      withInputs
    ],
    [
      "rejects an input value that is not among the options",
      ["input size XL"],
      { stderr: /not one of the options "S", "M"/ },
      withInputs
    ],
    [
      "looks the value up again after input forget",
      ["input size S", "input forget size", "inputs"],
      { stdout: /M \(environment\)/ },
      withInputs
    ],
    ["fails without an input value and a terminal", ["input token"], { stderr: /input token VALUE/ }, withInputs],
    [
      "hides arguments and the secrets of URLs in the list of servers",
      ["servers"],
      {
        stdout:
          "a  stopped  stdio       npx                      disabled\n" +
          "b  stopped  streamable  https://example.org/mcp  disabled\n"
      },
      {
        config: {
          servers: {
            a: { command: "npx", args: ["s3cret"], disabled: true },
            b: { url: "https://me:s3cret@example.org/mcp?key=s3cret", disabled: true }
          }
        }
      }
    ],
    [
      "adds a server in the dialect of other hosts",
      ["server remove notes", 'server add notes {"command":"memory"}', "tools"],
      { stdout: /added notes: 1 tool, 0 windows\n[^]*write {2}notes/ }
    ],
    [
      "adds a server in the dialect of configuration files",
      [
        "server remove notes",
        'server add notes {"type":"stdio","server_parameters":{"command":"x"},"tool_meta":{"write":{"alias":"w"}}}',
        "tools notes"
      ],
      { stdout: /w {2}notes/ }
    ],
    [
      "rejects an invalid server with the path of the error",
      ['server add new {"command":"x","args":[{}]}'],
      { stderr: /^Cannot add new: args\[0\]/ }
    ],
    [
      "repeats nothing of a server that is not JSON",
      ['server add new {"env":{"KEY":s3cret}}'],
      { stderr: /^Cannot add new: the configuration is not JSON(?![^]*s3cret)/ }
    ],
    [
      "fails when the added server does not run",
      ['server add new {"command":"x"}'],
      { stderr: /^added new, but does not run: failing: .*no server 'new' in memory/ }
    ],
    [
      "removes the tools by server stop and restores them by server start",
      ["server stop notes", "tools notes", "server start notes", "tools notes"],
      { stdout: "stopped notes\nno tools\nstarted notes: 1 tool, 0 windows\nwrite  notes  does write\n" }
    ],
    [
      "joins and leaves an office",
      ["join O2", "status", "leave", "status"],
      { stdout: /^joined office O2\nin office O2\n[^]*left office O2\nin no office\n/ }
    ],
    [
      "refuses to join a second office",
      ["join O2"],
      { stderr: /Already in office 'O1': leave it first/ },
      { office: "O1" }
    ],
    [
      "suggests a similar command for an unknown one",
      ["stauts", "server restrat notes", "xyzzy 1"],
      {
        stderr:
          "Unknown command 'stauts': did you mean 'status'?\n" +
          "Unknown command 'server restrat': did you mean 'server restart'?\n" +
          "Unknown command 'xyzzy'; help lists all commands\n"
      }
    ],
    [
      "suggests a similar server for an unknown one",
      ["tools note"],
      { stderr: "No server 'note' is configured: did you mean 'notes'?\n" }
    ],
    [
      "shows the usage of a command with too few words",
      ["server add notes"],
      { stderr: "Expected server add NAME {JSON}\n" }
    ],
    ["lists the commands of a group by help", ["help server"], { stdout: /^(?:server \w+ .*\n){5}$/ }]
  ]
  it.effect.each(rows)("%s", ([, commands, { stderr = "", stdout = "" }, options]) =>
    Effect.gen(function* () {
      const printed = yield* print(...commands)
      for (const [text, expected] of [
        [printed.stdout, stdout],
        [printed.stderr, stderr]
      ] as const) {
        if (typeof expected === "string") assert.strictEqual(text, expected)
        else assert.match(text, expected)
      }
    }).pipe(Effect.provide(desk(options)))
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
      assert.match(stdout, /^\S{8}\s+read\s+for ada\s+5m left\s+\{ "n": 1 \}/)
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
      assert.strictEqual((yield* print(`answer ${id}`)).stdout, "ask: not answered: declined or closed by terminal\n")
      assert.include(JSON.stringify(yield* Fiber.join(first)), "cancel")
      const second = yield* request
      yield* TestClock.adjust(0)
      const [next = ""] = (yield* print("approvals")).stdout.split(" ")
      assert.strictEqual((yield* print(`deny ${next}`)).stdout, "ask: not answered: declined or closed by terminal\n")
      assert.include(JSON.stringify(yield* Fiber.join(second)), "decline")
    }).pipe(Effect.provide(desk({ requests: true })))
  )

  it.effect("completes the tool and the arguments to explain", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* complete("explain re"), yield* complete("call re"))
      assert.deepStrictEqual(yield* complete("explain read "), yield* complete("call read "))
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
  }) => Effect.fn.Return<void, unknown, Scope.Scope>
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
    it.live(title, () => Effect.provide(withRepl(false, use), desk({ office: "O1" })))

  piped("prints results and no prompt", function* ({ ended, errors, output, type }) {
    yield* type("tools notes\nexit\nstatus\n")
    assert.isTrue(Exit.isSuccess(yield* ended))
    assert.deepStrictEqual([output(), errors()], ["write  notes  does write\n", ""])
  })

  piped("ends after the last line of the input", function* ({ end, ended, output, type }) {
    yield* type("tools notes")
    yield* end
    assert.isTrue(Exit.isSuccess(yield* ended))
    assert.strictEqual(output(), "write  notes  does write\n")
  })

  piped("runs all lines and fails when a command failed", function* ({ ended, errors, output, type }) {
    yield* type("call break\ntools notes\nexit\n")
    assert.isTrue(Exit.isFailure(yield* ended))
    assert.deepStrictEqual([output(), errors()], ["write  notes  does write\n", "it broke\n"])
  })
})

describe("repl on a terminal", () => {
  const withConfig = (config: object) => (title: string, use: Parameters<typeof withRepl>[1]) =>
    it.live(title, () => Effect.provide(withRepl(true, use), desk({ office: "O1", config })))
  const ctrlC = "\u0003"
  const ctrlD = "\u0004"
  const up = "\u001b[A"
  const typed = withConfig({})
  const typedWithSecret = withConfig({
    inputs: [{ type: "promptString", id: "token", description: "the token", password: true }],
    servers: { notes: { type: "stdio", server_parameters: { command: "x", args: ["${input:token}"] } } }
  })

  typed("shows the name and the office in the prompt", function* ({ shows, type }) {
    yield* shows("pc-1@O1> ")
    yield* type("leave\r")
    yield* shows("left office O1")
    yield* shows("pc-1> ")
  })

  typed("succeeds at Ctrl-D even after a failed command", function* ({ ended, shows, type }) {
    yield* shows("> ")
    yield* type("xyzzy\r")
    yield* shows("> ")
    yield* type(ctrlD)
    assert.isTrue(Exit.isSuccess(yield* ended))
  })

  typed("discards the line at Ctrl-C and ends on an empty line", function* ({ ended, output, shows, type }) {
    yield* shows("> ")
    yield* type(`leave${ctrlC}`)
    yield* shows("^C\n")
    yield* shows("pc-1@O1> ")
    yield* type(ctrlC)
    assert.isTrue(Exit.isSuccess(yield* ended))
    assert.notInclude(output(), "left office")
  })

  typed("cancels only the running command at Ctrl-C", function* ({ errors, shows, type }) {
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

  typed("prints the log above the current line", function* ({ errors, reader, shows, type }) {
    yield* shows("> ")
    yield* type("too")
    yield* shows("too")
    reader.printLog("news\n")
    yield* shows("pc-1@O1> too")
    assert.strictEqual(errors(), "news\n")
    yield* type("ls notes\r")
    yield* shows("write  notes")
  })

  typed("completes a word at Tab", function* ({ shows, type }) {
    yield* shows("> ")
    yield* type("tools no\t")
    yield* shows("tes")
    yield* type("\r")
    yield* shows("write  notes")
  })

  typedWithSecret("prompts for a password without echo", function* ({ output, shows, type }) {
    yield* shows("> ")
    yield* type("input token\r")
    yield* shows("Value [hidden]: ")
    yield* type("s3cret\r")
    yield* shows("token is set")
    assert.notInclude(output(), "s3cret")
  })

  typedWithSecret("keeps lines with input values out of the history", function* ({ shows, type }) {
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
  })

  typedWithSecret("abandons a prompt at Ctrl-C and continues", function* ({ errors, shows, type }) {
    yield* shows("> ")
    yield* type("input token\r")
    yield* shows("Value [hidden]: ")
    yield* type(`s3c${ctrlC}`)
    yield* shows("pc-1@O1> ")
    assert.include(errors(), "No value for token")
  })
})
