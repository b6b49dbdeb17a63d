import { Command } from "effect/cli"
import { agentCommand } from "./agent/command.ts"
import { computerCommand } from "./computer/command.ts"
import { devicesCommand } from "./devices/command.ts"
import { flag } from "./flags/setting.ts"
import { loggingFlags, loggingLayer } from "./flags/globalFlags.ts"
import { lazyCommand } from "./lazyCommand.ts"
import { serverCommand } from "./server/command.ts"
import { toolsCommand } from "./tools/command.ts"

const demoCommand = lazyCommand(
  "demo",
  { page: flag.toggle("page", "keep an office running, and print the address of its page for a browser") },
  async () => (await import("../demo/runDemo.ts")).demo,
  { description: "Run a demo: a Server, two Computers with real MCP servers, and an Agent" }
)

export const rootCommand = Command.make("a2c").pipe(
  Command.withDescription("A2C-SMCP: an Agent uses the tools of many Computers through a Server"),
  Command.withSubcommands([demoCommand, serverCommand, computerCommand, agentCommand, devicesCommand, toolsCommand]),
  Command.provide(loggingLayer),
  Command.withGlobalFlags(loggingFlags)
)
