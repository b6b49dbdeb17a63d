import { Effect } from "effect"
import { Command } from "effect/cli"
import { agentCommand } from "./agent/command.ts"
import { computerCommand } from "./computer/command.ts"
import { devicesCommand } from "./devices/command.ts"
import { withLogging } from "./globalFlags.ts"
import { serverCommand } from "./server/command.ts"
import { toolsCommand } from "./tools/command.ts"

const demoCommand = Command.make(
  "demo",
  {},
  Effect.fn(function* () {
    const { runDemo } = yield* Effect.promise(() => import("../demo/runDemo.ts"))
    yield* runDemo
  })
).pipe(Command.withDescription("See it all work: Server, two Computers with real MCP servers, and an Agent"))

/** The whole command line. */
export const rootCommand = Command.make("a2c").pipe(
  Command.withDescription("A2C-SMCP: an Agent works through a Server with many Computers"),
  Command.withSubcommands([
    demoCommand,
    serverCommand,
    computerCommand,
    agentCommand,
    devicesCommand,
    toolsCommand
  ]),
  withLogging
)
