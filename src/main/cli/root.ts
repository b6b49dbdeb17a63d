import { Command } from "effect/cli"
import { agentCommand } from "./agent/command.ts"
import { computerCommand } from "./computer/command.ts"
import { devicesCommand } from "./devices/command.ts"
import { withLogging } from "./globalFlags.ts"
import { lazyHandler } from "./lazyHandler.ts"
import { serverCommand } from "./server/command.ts"
import { toolsCommand } from "./tools/command.ts"

const demoCommand = Command.make(
  "demo",
  {},
  lazyHandler(() =>
    import("../demo/runDemo.ts").then(
      ({ runDemo }) =>
        () =>
          runDemo
    )
  )
).pipe(Command.withDescription("Run a demo: a Server, two Computers with real MCP servers, and an Agent"))

export const rootCommand = Command.make("a2c").pipe(
  Command.withDescription("A2C-SMCP: an Agent uses the tools of many Computers through a Server"),
  Command.withSubcommands([demoCommand, serverCommand, computerCommand, agentCommand, devicesCommand, toolsCommand]),
  withLogging
)
