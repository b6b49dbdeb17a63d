import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { maxTimeoutSeconds } from "../../../domain/model/fields.ts"
import type * as agentModule from "./actions.ts"
import type { AgentSharedOptions } from "./actions.ts"
import { agentBaseCommand } from "./baseCommand.ts"
import { computerFlag } from "../sharedFlags.ts"
import { mcpCommand } from "./mcpCommand.ts"
import { withTelemetry } from "../globalFlags.ts"

type AgentActions = typeof agentModule

/** A command of the Agent, patient or not; its implementation is loaded only when it runs. */
const runAction = <A>(
  action: (
    actions: AgentActions,
    shared: AgentSharedOptions,
    options: A
  ) => Parameters<AgentActions["runAsAgent"]>[1],
  retryInitialConnect = false
) =>
  Effect.fn(function* (options: A) {
    const shared = yield* agentBaseCommand
    const actions = yield* Effect.promise(() => import("./actions.ts"))
    yield* actions.runAsAgent(shared, action(actions, shared, options), retryInitialConnect)
  })

const subcommands = [
  Command.make(
    "members",
    {},
    runAction((actions, shared) => actions.listMembers(shared))
  ).pipe(Command.withDescription("List everybody in the office")),
  Command.make(
    "tools",
    { computer: computerFlag },
    runAction((actions, shared, options) => actions.listTools(shared, options.computer))
  ).pipe(Command.withDescription("List the tools of the Computers")),
  Command.make(
    "call",
    {
      tool: Argument.String("tool").pipe(Argument.withDescription("name of the tool")),
      computer: computerFlag,
      args: Flag.String("args").pipe(
        Flag.withMetavar("JSON"),
        Flag.withDescription("arguments, a JSON object"),
        Flag.withDefault("{}")
      ),
      timeout: Flag.Int("timeout").pipe(
        Flag.withMetavar("SECONDS"),
        Flag.withDescription(`how long the call may take, 1 to ${maxTimeoutSeconds} [default: 60]`),
        Flag.filter(
          (time) => time >= 1 && time <= maxTimeoutSeconds,
          () => `a number from 1 to ${maxTimeoutSeconds}`
        ),
        Flag.withDefault(60)
      )
    },
    Effect.fn(function* ({ args, ...options }) {
      const shared = yield* agentBaseCommand
      const actions = yield* Effect.promise(() => import("./actions.ts"))
      // Before anything is connected: what is wrong with them needs no Server to say.
      const params = yield* actions.parseToolArguments(args)
      yield* actions.runAsAgent(shared, actions.callTool(shared, { ...options, params }))
    })
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
      computer: computerFlag,
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
    runAction((actions, shared, options) => actions.showDesktop(shared, options))
  ).pipe(Command.withDescription("Show the windows of the Computers")),
  Command.make(
    "config",
    { computer: computerFlag },
    runAction((actions, _shared, options) => actions.showConfig(options.computer))
  ).pipe(Command.withDescription("Show the configuration of the Computers, without secrets")),
  Command.make(
    "resources",
    {
      computer: computerFlag,
      mcpServer: Flag.String("mcp-server").pipe(
        Flag.withMetavar("NAME"),
        Flag.withDescription("only those of this MCP server"),
        Flag.optional
      )
    },
    runAction((actions, shared, options) => actions.listResources(shared, options))
  ).pipe(Command.withDescription("List the resources of the Computers' MCP servers")),
  Command.make(
    "dpe",
    {
      uri: Argument.String("uri").pipe(Argument.withDescription("dpe:// URI of a document")),
      computer: computerFlag
    },
    runAction((actions, shared, options) => actions.resolveDpe(shared, options))
  ).pipe(Command.withDescription("Turn a document's URI into one that can be fetched")),
  Command.make(
    "find",
    {
      keywords: Argument.String("keyword").pipe(
        Argument.withDescription("documents that hold any of these words"),
        Argument.variadic()
      ),
      computer: computerFlag,
      fileType: Flag.String("file-type").pipe(Flag.withDescription("only files of this type"), Flag.optional),
      limit: Flag.Int("limit").pipe(
        Flag.withDescription("at most so many [default: 20]"),
        Flag.withDefault(20)
      ),
      offset: Flag.Int("offset").pipe(Flag.withDescription("leave out so many"), Flag.withDefault(0))
    },
    runAction((actions, shared, options) => actions.findDocuments(shared, options))
  ).pipe(Command.withDescription("Find documents")),
  Command.make(
    "watch",
    {},
    runAction((actions, shared) => actions.watchEvents(shared), true)
  ).pipe(Command.withDescription("Print what happens in the office until Ctrl-C")),
  mcpCommand
] as const

/** `a2c agent`. */
export const agentCommand = agentBaseCommand.pipe(
  Command.withSubcommands(subcommands),
  withTelemetry("a2c-agent")
)
