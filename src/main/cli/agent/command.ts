import { Effect } from "effect"
import { Command } from "effect/cli"
import { withTelemetry } from "../globalFlags.ts"
import type * as agentModule from "./actions.ts"
import { agentBaseCommand } from "./baseCommand.ts"
import {
  type AgentSharedOptions,
  callFlags,
  computerFlags,
  desktopFlags,
  dpeFlags,
  findFlags,
  resourcesFlags
} from "./flags.ts"
import { mcpCommand } from "./mcpCommand.ts"

type AgentActions = typeof agentModule

/** Handles a subcommand by an action, whose module is loaded when the command runs. */
const runAction = <A>(
  pick: (
    actions: AgentActions
  ) => (shared: AgentSharedOptions, options: A) => Parameters<AgentActions["runAsAgent"]>[1],
  retryInitialConnect = false
) =>
  Effect.fn(function* (options: A) {
    const shared = yield* agentBaseCommand
    const actions = yield* Effect.promise(() => import("./actions.ts"))
    yield* actions.runAsAgent(shared, pick(actions)(shared, options), retryInitialConnect)
  })

const subcommands = [
  Command.make(
    "members",
    {},
    runAction(({ listMembers }) => listMembers)
  ).pipe(Command.withDescription("List the members of the office")),
  Command.make(
    "tools",
    computerFlags,
    runAction(({ listTools }) => listTools)
  ).pipe(Command.withDescription("List the tools of the Computers")),
  Command.make(
    "call",
    callFlags,
    Effect.fn(function* (options) {
      const shared = yield* agentBaseCommand
      const actions = yield* Effect.promise(() => import("./actions.ts"))
      // Invalid arguments fail before a connection is opened.
      const { parseToolArguments } = yield* Effect.promise(() => import("../toolCalls.ts"))
      const params = yield* parseToolArguments(options.args)
      yield* actions.runAsAgent(shared, actions.callTool(shared, { ...options, params }))
    })
  ).pipe(
    Command.withDescription("Call a tool; exits with 2 when the tool fails. Ctrl-C cancels the call"),
    Command.withExamples([
      {
        command: `a2c agent --office team call echo --args '{"message":"hi"}'`,
        description: "Call the tool 'echo' of the only Computer that has it"
      }
    ])
  ),
  Command.make(
    "desktop",
    desktopFlags,
    runAction(({ showDesktop }) => showDesktop)
  ).pipe(Command.withDescription("Show the windows of the Computers")),
  Command.make(
    "config",
    computerFlags,
    runAction(({ showConfig }) => showConfig)
  ).pipe(Command.withDescription("Show the configuration of the Computers, without secrets")),
  Command.make(
    "resources",
    resourcesFlags,
    runAction(({ listResources }) => listResources)
  ).pipe(Command.withDescription("List the resources of the Computers' MCP servers")),
  Command.make(
    "dpe",
    dpeFlags,
    runAction(({ resolveDpe }) => resolveDpe)
  ).pipe(Command.withDescription("Resolve the URI of a document to a URI that can be fetched")),
  Command.make(
    "find",
    findFlags,
    runAction(({ findDocuments }) => findDocuments)
  ).pipe(Command.withDescription("Find documents")),
  Command.make(
    "watch",
    {},
    runAction(({ watchEvents }) => watchEvents, true)
  ).pipe(Command.withDescription("Print the events of the office until Ctrl-C")),
  mcpCommand
] as const

export const agentCommand = agentBaseCommand.pipe(Command.withSubcommands(subcommands), withTelemetry("a2c-agent"))
