import { Effect } from "effect"
import { Command } from "effect/cli"
import { agent } from "./agent.ts"
import { computer } from "./computer.ts"
import { devices } from "./devices.ts"
import { logging } from "./observing.ts"
import { server } from "./server.ts"
import { tools } from "./tools.ts"

const demo = Command.make(
  "demo",
  {},
  Effect.fn(function* () {
    const { runDemo } = yield* Effect.promise(() => import("../demo/demo.ts"))
    yield* runDemo
  })
).pipe(Command.withDescription("See it all work: Server, two Computers with real MCP servers, and an Agent"))

/** The whole command line. */
export const root = Command.make("a2c").pipe(
  Command.withDescription("A2C-SMCP: an Agent works through a Server with many Computers"),
  Command.withSubcommands([demo, server, computer, agent, devices, tools]),
  logging
)
