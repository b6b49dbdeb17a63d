import { Command } from "effect/cli"
import { lazyCommand } from "../lazyCommand.ts"
import { connectFlags, gatewayFlags } from "./flags.ts"

const gatewayCommand = lazyCommand("gateway", gatewayFlags, async () => (await import("./runGateway.ts")).runGateway, {
  description: "Accept devices over TCP and publish their services as MCP tools",
  rules: [
    { flags: ["token"], rule: "not with --tokens", isMet: ({ tokens }) => tokens === undefined },
    { flags: ["mcpToken"], rule: "only with --http", isMet: ({ http }) => http !== undefined }
  ],
  examples: {
    "a2c devices gateway --http 7080": "Devices at port 7071, their tools at http://127.0.0.1:7080/mcp",
    "a2c devices gateway --tcp 7071 --stdio": "An MCP server for the configuration of a Computer"
  }
})

const connectCommand = lazyCommand("connect", connectFlags, async () => (await import("./runDevice.ts")).runDevice, {
  description: "Run a device: register the tools of MCP servers as services of a device server",
  examples: {
    "a2c devices connect --to 127.0.0.1:7071 --name desk --config mcp.json --approve '*'":
      "Offer all tools of mcp.json to the gateway on this machine"
  }
})

export const devicesCommand = Command.make("devices").pipe(
  Command.withDescription("Devices of the AI降临派 TCP protocol: run a gateway for them, or a device"),
  Command.withSubcommands([gatewayCommand, connectCommand])
)
