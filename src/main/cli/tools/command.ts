import { Command } from "effect/cli"
import { lazyCommand } from "../lazyCommand.ts"
import { packCallFlags, packCallRules, listFlags, newFlags, runtimeRules, serveFlags, serveRules } from "./flags.ts"

const serveCommand = lazyCommand(
  "serve",
  serveFlags,
  async () => (await import("./serveToolsCommand.ts")).serveToolsCommand,
  serveRules
).pipe(
  Command.withDescription("Serve folders of tools over HTTP and MCP"),
  Command.withExamples([
    { command: "a2c tools serve packs", description: "At http://127.0.0.1:8000, MCP at /mcp" },
    { command: "a2c tools serve packs --mcp stdio", description: "The command that an MCP host starts" }
  ])
)

const listCommand = lazyCommand(
  "list",
  listFlags,
  async () => (await import("./packTools.ts")).listPackTools,
  runtimeRules
).pipe(Command.withDescription("List packs, their tools and their problems"))

const callCommand = lazyCommand(
  "call",
  packCallFlags,
  async () => (await import("./packTools.ts")).callPackTool,
  packCallRules
).pipe(
  Command.withDescription("Call a tool of a pack; exits with 2 when the tool fails"),
  Command.withExamples([
    {
      command: `a2c tools call text_counter --dir packs --args '{"text": "hi there"}'`,
      description: "Call a tool without a server"
    }
  ])
)

const newCommand = lazyCommand("new", newFlags, async () => (await import("./newPack.ts")).newPack).pipe(
  Command.withDescription("Create a working pack with a test"),
  Command.withExamples([{ command: "a2c tools new text_counter", description: "In the folder src" }])
)

export const toolsCommand = Command.make("tools").pipe(
  Command.withDescription("Packs of tools: folders that become HTTP endpoints and MCP tools"),
  Command.withSubcommands([serveCommand, listCommand, callCommand, newCommand])
)
