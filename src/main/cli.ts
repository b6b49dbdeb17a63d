#!/usr/bin/env node
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Config, Console, Effect, Layer, Option, Runtime } from "effect"
import { Argument, CliOutput, Command, Flag } from "effect/cli"
import * as TerminalLog from "../adapters/node/TerminalLog.ts"
import { defaultMaxMessageBytes, defaultPath, mostMessageBytes } from "../adapters/socketio/limits.ts"
import { leastNameBudget, usualNameBudget } from "../domain/bridge/names.ts"
import { version } from "../version.ts"
import type * as agentModule from "./commands/agent.ts"
import type { AgentPlace } from "./commands/agent.ts"
import { agentName, computer, computerName, inputValues, office, serverUrl } from "./flags.ts"

/** Is this what a browser sends as the origin of a page? Anything else would never match. */
const isOrigin = (text: string): boolean =>
  text === "*" || text === "null" || (URL.canParse(text) && new URL(text).origin === text)

const server = Command.make(
  "server",
  {
    host: Flag.String("host").pipe(
      Flag.withDescription("address to listen on [env A2C_HOST; default: 127.0.0.1]"),
      Flag.withFallbackConfig(Config.String("A2C_HOST")),
      Flag.withDefault("127.0.0.1")
    ),
    port: Flag.Int("port").pipe(
      Flag.withDescription("port to listen on, 0 for a free one [env A2C_PORT; default: 7070]"),
      Flag.withFallbackConfig(Config.Int("A2C_PORT")),
      Flag.withDefault(7070),
      Flag.filter(
        (port) => port >= 0 && port <= 65535,
        () => "a port from 0 to 65535"
      )
    ),
    path: Flag.String("path").pipe(
      Flag.withDescription(`HTTP path of Socket.IO [env A2C_PATH; default: ${defaultPath}]`),
      Flag.withFallbackConfig(Config.String("A2C_PATH")),
      Flag.withDefault(defaultPath),
      Flag.filter(
        (path) => /^\/[^\s?#]*[^\s?#/]$/.test(path),
        () => "a path like /smcp, without a slash at its end"
      )
    ),
    maxMessageBytes: Flag.Int("max-message-bytes").pipe(
      Flag.withDescription(
        `largest message, in bytes [env A2C_MAX_MESSAGE_BYTES; default: ${defaultMaxMessageBytes}]`
      ),
      Flag.withFallbackConfig(Config.Int("A2C_MAX_MESSAGE_BYTES")),
      Flag.withDefault(defaultMaxMessageBytes),
      Flag.filter(
        (bytes) => bytes >= 1024 && bytes <= mostMessageBytes,
        () => `a size from 1024 to ${mostMessageBytes}`
      )
    ),
    allowedOrigins: Flag.String("allow-origin").pipe(
      Flag.withMetavar("ORIGIN"),
      Flag.withDescription("origin whose pages may connect, * for any; may be repeated"),
      Flag.filter(isOrigin, () => "an origin like https://example.org, or *"),
      Flag.atLeast(0)
    ),
    requireRole: Flag.Boolean("require-role").pipe(
      Flag.withDescription("refuse connections that do not state their role"),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* (options) {
    const { runServer } = yield* Effect.promise(() => import("./commands/server.ts"))
    return yield* runServer(options)
  })
).pipe(
  Command.withDescription("Run a Server: the place where Agents and Computers meet"),
  Command.withExamples([
    { command: "a2c server", description: "Listen on http://127.0.0.1:7070" },
    { command: "a2c server --port 0", description: "Listen on a free port and print it" }
  ])
)

const check = Command.make(
  "check",
  {
    files: Argument.String("file").pipe(
      Argument.withDescription("configuration, in any of the dialects"),
      Argument.variadic({ min: 1 })
    ),
    given: inputValues,
    json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
  },
  Effect.fn(function* (options) {
    const { runCheck } = yield* Effect.promise(() => import("./commands/check.ts"))
    return yield* runCheck(options)
  })
).pipe(
  Command.withDescription(
    "Explain a configuration and say what is wrong with it; exits with 1 when something is"
  ),
  Command.withExamples([
    { command: "a2c computer check .vscode/mcp.json", description: "Check an editor's configuration" }
  ])
)

const computerCommand = Command.make(
  "computer",
  {
    server: serverUrl,
    office: Flag.optional(office),
    name: computerName,
    config: Flag.String("config").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription(
        "configuration: {inputs, servers} of A2C or VS Code, {mcpServers} of Claude or Cursor; " +
          "may be repeated, files are merged"
      ),
      Flag.atLeast(0)
    ),
    input: inputValues,
    watch: Flag.Boolean("watch").pipe(
      Flag.withDescription(
        "apply changes of the configuration while it runs; with --no-watch only on SIGHUP [default: on]"
      ),
      Flag.withDefault(true)
    ),
    interactive: Flag.Boolean("interactive").pipe(
      Flag.withAlias("i"),
      Flag.withDescription("type commands while it runs: status, tools, call, desktop, servers, inputs, …"),
      Flag.withDefault(false)
    ),
    run: Flag.String("run").pipe(
      Flag.withMetavar("COMMAND"),
      Flag.withDescription(
        "run a command of the interactive shell, print what it gives, and end; may be repeated"
      ),
      Flag.atLeast(0)
    ),
    allWindows: Flag.Boolean("all-windows").pipe(
      Flag.withDescription("show windows and documents of servers, too, that do not tell when they change"),
      Flag.withDefault(false)
    ),
    dpe: Flag.String("dpe").pipe(
      Flag.withMetavar("HOW"),
      Flag.withDescription(
        "give Agents documents they can fetch: cache[:FOLDER] as file:// URIs, " +
          "http[:PORT] as signed URLs of a small server on loopback [env A2C_DPE]"
      ),
      Flag.withFallbackConfig(Config.String("A2C_DPE")),
      Flag.optional
    ),
    dpeUrl: Flag.String("dpe-url").pipe(
      Flag.withMetavar("URL"),
      Flag.withDescription("where Agents find that server when it stands behind a proxy [env A2C_DPE_URL]"),
      Flag.withFallbackConfig(Config.String("A2C_DPE_URL")),
      Flag.optional
    ),
    approve: Flag.String("approve").pipe(
      Flag.withMetavar("PATTERN"),
      Flag.withDescription(
        "run tools of these names without asking although they are not marked auto_apply: " +
          "'search*', 'github/*', '*'; may be repeated"
      ),
      Flag.atLeast(0)
    )
  },
  Effect.fn(function* (options) {
    const { runComputer } = yield* Effect.promise(() => import("./commands/computer.ts"))
    return yield* runComputer(options)
  })
).pipe(
  Command.withDescription("Run a Computer: start MCP servers and offer their tools to an office"),
  Command.withExamples([
    {
      command: "a2c computer --office team --name desk --config mcp.json",
      description: "Join the office 'team' with the servers of mcp.json"
    },
    {
      command: "a2c computer --office team --config mcp.json --input token=abc --approve 'search*'",
      description: "The same, with the value of an input, and tools that run without asking"
    },
    {
      command: "a2c computer --config mcp.json --run status --run 'call echo message=hi'",
      description: "Start the servers, run commands, and end; no office is needed"
    }
  ]),
  Command.withSubcommands([check])
)

const agent = Command.make("agent").pipe(
  Command.withSharedFlags({
    server: serverUrl,
    office,
    name: agentName,
    json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
  }),
  Command.withDescription("Act as the Agent of an office: list, call, look, watch")
)

type AgentCommands = typeof agentModule

/** A command of the Agent; its implementation is loaded only when it runs. */
const acting = <A>(
  act: (commands: AgentCommands, place: AgentPlace, given: A) => Parameters<AgentCommands["asAgent"]>[1]
) =>
  Effect.fn(function* (given: A) {
    const place = yield* agent
    const commands = yield* Effect.promise(() => import("./commands/agent.ts"))
    yield* commands.asAgent(place, act(commands, place, given))
  })

const hostConfig = Command.make(
  "config",
  {
    host: Argument.String("host").pipe(
      Argument.withDescription("claude, claude-code, cursor, vscode, codex, gemini, goose, windsurf, …")
    ),
    url: Flag.String("url").pipe(
      Flag.withMetavar("URL"),
      Flag.withDescription(
        "where 'a2c agent mcp --http' publishes the office; else the host starts it itself"
      ),
      Flag.optional
    )
  },
  Effect.fn(function* ({ host, url }) {
    const place = yield* agent
    const { printHostConfig } = yield* Effect.promise(() => import("./commands/hostConfig.ts"))
    yield* printHostConfig({ ...place, host, url: Option.getOrUndefined(url) })
  })
).pipe(
  Command.withDescription("Print what an MCP host's configuration needs to use the office"),
  Command.withExamples([
    { command: "a2c agent --office team mcp config claude", description: "For Claude Desktop" },
    {
      command: "a2c agent --office team mcp config vscode --url http://127.0.0.1:7080/mcp",
      description: "For VS Code, where the office is published already"
    }
  ])
)

const mcp = Command.make(
  "mcp",
  {
    http: Flag.Int("http").pipe(
      Flag.withMetavar("PORT"),
      Flag.withDescription("serve Streamable HTTP on this port, 0 for a free one; stdio without it"),
      Flag.filter(
        (port) => port >= 0 && port <= 65535,
        () => "a port from 0 to 65535"
      ),
      Flag.optional
    ),
    host: Flag.String("host").pipe(
      Flag.withDescription("address to listen on [default: 127.0.0.1]"),
      Flag.withDefault("127.0.0.1")
    ),
    token: Flag.Redacted("token").pipe(
      Flag.withDescription("what clients over HTTP must show as bearer token; better by [env A2C_MCP_TOKEN]"),
      Flag.withFallbackConfig(Config.Redacted("A2C_MCP_TOKEN")),
      Flag.optional
    ),
    tools: Flag.Literals("tools", ["auto", "all", "search"]).pipe(
      Flag.withDescription("list all tools, or three to find and call them; auto searches above 60 tools"),
      Flag.withDefault("auto")
    ),
    pin: Flag.String("pin").pipe(
      Flag.withMetavar("PATTERN"),
      Flag.withDescription("list these tools even when others are searched: 'desk/read*'; may be repeated"),
      Flag.atLeast(0)
    ),
    nameBudget: Flag.Int("name-budget").pipe(
      Flag.withMetavar("CHARACTERS"),
      Flag.withDescription("longest name of a tool, 24 to 128 [default: 45]"),
      Flag.filter(
        (budget) => budget >= leastNameBudget && budget <= 128,
        () => "a number from 24 to 128"
      ),
      Flag.withDefault(usualNameBudget)
    ),
    timeout: Flag.Int("timeout").pipe(
      Flag.withMetavar("SECONDS"),
      Flag.withDescription("how long a call may take, 1 to 3600 [default: 300]"),
      Flag.filter(
        (seconds) => seconds >= 1 && seconds <= 3600,
        () => "a number from 1 to 3600"
      ),
      Flag.withDefault(300)
    )
  },
  Effect.fn(function* (options) {
    const place = yield* agent
    const { asAgent } = yield* Effect.promise(() => import("./commands/agent.ts"))
    const { publishOffice } = yield* Effect.promise(() => import("./commands/officeServer.ts"))
    yield* asAgent(place, publishOffice(place, options))
  })
).pipe(
  Command.withDescription(
    "Publish the whole office as one MCP server, for hosts such as Claude, Cursor or VS Code"
  ),
  Command.withExamples([
    { command: "a2c agent --office team mcp", description: "Over stdio: what a host starts" },
    { command: "a2c agent --office team mcp --http 7080", description: "At http://127.0.0.1:7080/mcp" }
  ]),
  Command.withSubcommands([hostConfig])
)

const agentCommands = [
  Command.make(
    "members",
    {},
    acting((run, place) => run.members(place))
  ).pipe(Command.withDescription("List everybody in the office")),
  Command.make(
    "tools",
    { computer },
    acting((run, place, given) => run.tools(place, given.computer))
  ).pipe(Command.withDescription("List the tools of the Computers")),
  Command.make(
    "call",
    {
      tool: Argument.String("tool").pipe(Argument.withDescription("name of the tool")),
      computer,
      args: Flag.String("args").pipe(
        Flag.withMetavar("JSON"),
        Flag.withDescription("arguments, a JSON object"),
        Flag.withDefault("{}")
      ),
      timeout: Flag.Int("timeout").pipe(
        Flag.withMetavar("SECONDS"),
        Flag.withDescription("how long the call may take, 1 to 3600 [default: 60]"),
        Flag.withDefault(60)
      )
    },
    acting((run, place, given) => run.call(place, given))
  ).pipe(
    Command.withDescription("Call a tool; exits with 2 when the tool itself failed. Ctrl-C cancels the call"),
    Command.withExamples([
      {
        command: `a2c agent --office team call echo --args '{"message":"hi"}'`,
        description: "Call the tool 'echo' of the only Computer that has it"
      }
    ])
  ),
  Command.make(
    "desktop",
    {
      computer,
      size: Flag.Int("size").pipe(
        Flag.withDescription("at most so many windows"),
        Flag.filter(
          (size) => size >= 1,
          () => "a number from 1"
        ),
        Flag.optional
      ),
      window: Flag.String("window").pipe(
        Flag.withMetavar("URI"),
        Flag.withDescription("only the window of this exact URI"),
        Flag.optional
      )
    },
    acting((run, place, given) => run.desktop(place, given))
  ).pipe(Command.withDescription("Show the windows of the Computers")),
  Command.make(
    "config",
    { computer },
    acting((run, _place, given) => run.config(given.computer))
  ).pipe(Command.withDescription("Show the configuration of the Computers, without secrets")),
  Command.make(
    "resources",
    {
      computer,
      mcpServer: Flag.String("mcp-server").pipe(
        Flag.withMetavar("NAME"),
        Flag.withDescription("only those of this MCP server"),
        Flag.optional
      )
    },
    acting((run, place, given) => run.resources(place, given))
  ).pipe(Command.withDescription("List the resources of the Computers' MCP servers")),
  Command.make(
    "dpe",
    {
      uri: Argument.String("uri").pipe(Argument.withDescription("dpe:// URI of a document")),
      computer
    },
    acting((run, place, given) => run.dpe(place, given))
  ).pipe(Command.withDescription("Turn a document's URI into one that can be fetched")),
  Command.make(
    "find",
    {
      keywords: Argument.String("keyword").pipe(
        Argument.withDescription("documents that hold any of these words"),
        Argument.variadic()
      ),
      computer,
      fileType: Flag.String("file-type").pipe(Flag.withDescription("only files of this type"), Flag.optional),
      limit: Flag.Int("limit").pipe(
        Flag.withDescription("at most so many [default: 20]"),
        Flag.withDefault(20)
      ),
      offset: Flag.Int("offset").pipe(Flag.withDescription("leave out so many"), Flag.withDefault(0))
    },
    acting((run, place, given) => run.find(place, given))
  ).pipe(Command.withDescription("Find documents")),
  Command.make(
    "watch",
    {},
    acting((run, place) => run.watch(place))
  ).pipe(Command.withDescription("Print what happens in the office until Ctrl-C")),
  mcp
] as const

const demo = Command.make(
  "demo",
  {},
  Effect.fn(function* () {
    const { runDemo } = yield* Effect.promise(() => import("./demo/demo.ts"))
    yield* runDemo
  })
).pipe(Command.withDescription("See it all work: Server, two Computers with real MCP servers, and an Agent"))

const root = Command.make("a2c").pipe(
  Command.withDescription("A2C-SMCP: an Agent works through a Server with many Computers"),
  Command.withSubcommands([demo, server, computerCommand, agent.pipe(Command.withSubcommands(agentCommands))])
)

/** What kept the results from being written, unless nobody wants to read on: `a2c … | head -1` is no failure. */
const writeFailure = (failure: NodeJS.ErrnoException | null | undefined): string | undefined =>
  failure === null || failure === undefined || failure.code === "EPIPE" ? undefined : failure.message

/** Ends the process as soon as everything is closed and said; idle HTTP connections would hold it for seconds. */
const leave: Runtime.Teardown = (exit) =>
  Runtime.defaultTeardown(exit, (code) => {
    const { stderr, stdout } = process
    stdout.on("error", () => undefined)
    stdout.write("", (failure) => {
      const reason = writeFailure(failure ?? stdout.errored)
      if (reason === undefined || code !== 0) return process.exit(code)
      stderr.write(`a2c: The results could not be written: ${reason}\n`, () => process.exit(1))
    })
  })

/** Help that nobody asked for goes to stderr: scripts read results from stdout. */
const presenter = CliOutput.layerPresenter({
  present: (event) => {
    const shown = CliOutput.defaultPresenter.present(event)
    return event._tag === "InvalidInvocation"
      ? Effect.provideService(shown, Console.Console, {
          ...globalThis.console,
          log: (...words) => globalThis.console.error(...words)
        })
      : shown
  }
})

root.pipe(
  Command.run({ version }),
  Effect.tapErrorTag("CommandFailed", ({ message }) => Console.error(`a2c: ${message}`)),
  Effect.provide(Layer.mergeAll(NodeServices.layer, TerminalLog.layer, presenter)),
  NodeRuntime.runMain({ teardown: leave })
)
