import { Effect } from "effect"
import { Command } from "effect/cli"
import { agentCommand } from "./agent.ts"
import { computerCommand } from "./computer.ts"
import { devicesCommand } from "./devices.ts"
import { withLogging } from "./observing.ts"
import { serverCommand } from "./server.ts"
import { toolsCommand } from "./tools.ts"

const demoCommand = Command.make(
  "demo",
  {},
  Effect.fn(function* () {
    const { runDemo } = yield* Effect.promise(() => import("../demo/demo.ts"))
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
