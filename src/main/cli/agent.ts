import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { mostTimeoutSeconds } from "../../domain/protocol/v0_2/fields.ts"
import type * as agentModule from "../commands/agent.ts"
import type { AgentPlace } from "../commands/agent.ts"
import { agentPlace } from "./agentPlace.ts"
import { computer } from "./flags.ts"
import { mcp } from "./mcp.ts"
import { observed } from "./observing.ts"

type AgentCommands = typeof agentModule

/** A command of the Agent, patient or not; its implementation is loaded only when it runs. */
const acting = <A>(
  act: (commands: AgentCommands, place: AgentPlace, given: A) => Parameters<AgentCommands["asAgent"]>[1],
  patient = false
) =>
  Effect.fn(function* (given: A) {
    const place = yield* agentPlace
    const commands = yield* Effect.promise(() => import("../commands/agent.ts"))
    yield* commands.asAgent(place, act(commands, place, given), patient)
  })

const commands = [
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
        Flag.withDescription(`how long the call may take, 1 to ${mostTimeoutSeconds} [default: 60]`),
        Flag.filter(
          (time) => time >= 1 && time <= mostTimeoutSeconds,
          () => `a number from 1 to ${mostTimeoutSeconds}`
        ),
        Flag.withDefault(60)
      )
    },
    Effect.fn(function* ({ args, ...given }) {
      const place = yield* agentPlace
      const run = yield* Effect.promise(() => import("../commands/agent.ts"))
      // Before anything is connected: what is wrong with them needs no Server to say.
      const params = yield* run.readArgs(args)
      yield* run.asAgent(place, run.call(place, { ...given, params }))
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
    acting((run, place) => run.watch(place), true)
  ).pipe(Command.withDescription("Print what happens in the office until Ctrl-C")),
  mcp
] as const

/** `a2c agent`. */
export const agent = agentPlace.pipe(Command.withSubcommands(commands), observed("a2c-agent"))
