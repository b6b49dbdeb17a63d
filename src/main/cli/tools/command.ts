import { Command } from "effect/cli"
import { rawRule } from "../flags/sharedFlags.ts"
import { lazyCommand } from "../lazyCommand.ts"
import { httpFlags, listFlags, newFlags, packCallFlags, runtimeRules, serveFlags } from "./flags.ts"

const serveCommand = lazyCommand(
  "serve",
  serveFlags,
  async () => (await import("./serveToolsCommand.ts")).serveToolsCommand,
  {
    description: "Serve folders of tools over HTTP and MCP",
    rules: [
      ...runtimeRules,
      { flags: httpFlags, rule: "not with --mcp stdio", isMet: ({ mcp }) => mcp === "http" },
      { flags: ["publicDocs"], rule: "only with --key", isMet: ({ key }) => key !== undefined },
      { flags: ["force"], rule: "not with --key", isMet: ({ key }) => key === undefined }
    ],
    examples: {
      "a2c tools serve packs": "At http://127.0.0.1:8000, MCP at /mcp",
      "a2c tools serve packs --mcp stdio": "The command that an MCP host starts"
    }
  }
)

const listCommand = lazyCommand("list", listFlags, async () => (await import("./packTools.ts")).listPackTools, {
  description: "List packs, their tools and their problems",
  rules: runtimeRules
})

const callCommand = lazyCommand("call", packCallFlags, async () => (await import("./packTools.ts")).callPackTool, {
  description: "Call a tool of a pack; exits with 2 when the tool fails",
  rules: [...runtimeRules, rawRule],
  examples: {
    [`a2c tools call text_counter --dir packs --args '{"text": "hi there"}'`]: "Call a tool without a server"
  }
})

const newCommand = lazyCommand("new", newFlags, async () => (await import("./newPack.ts")).newPack, {
  description: "Create a working pack with a test",
  examples: { "a2c tools new text_counter": "In the folder src" }
})

export const toolsCommand = Command.make("tools").pipe(
  Command.withDescription("Packs of tools: folders that become HTTP endpoints and MCP tools"),
  Command.withSubcommands([serveCommand, listCommand, callCommand, newCommand])
)
