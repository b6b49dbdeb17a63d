import { Command } from "effect/cli"
import { lazyCommand } from "../lazyCommand.ts"
import { connectFlags, gatewayFlags, gatewayRules } from "./flags.ts"

const gatewayCommand = lazyCommand(
  "gateway",
  gatewayFlags,
  async () => (await import("./runGateway.ts")).runGateway,
  gatewayRules
).pipe(
  Command.withDescription("Accept devices over TCP and publish their services as MCP tools"),
  Command.withExamples([
    {
      command: "a2c devices gateway --http 7080",
      description: "Devices at port 7071, their tools at http://127.0.0.1:7080/mcp"
    },
    {
      command: "a2c devices gateway --tcp 7071 --stdio",
      description: "An MCP server for the configuration of a Computer"
    }
  ])
)

const connectCommand = lazyCommand(
  "connect",
  connectFlags,
  async () => (await import("./runDevice.ts")).runDevice
).pipe(
  Command.withDescription("Run a device: register the tools of MCP servers as services of a device server"),
  Command.withExamples([
    {
      command: "a2c devices connect --to 127.0.0.1:7071 --name desk --config mcp.json --approve '*'",
      description: "Offer all tools of mcp.json to the gateway on this machine"
    }
  ])
)

export const devicesCommand = Command.make("devices").pipe(
  Command.withDescription("Devices of the AI降临派 TCP protocol: run a gateway for them, or a device"),
  Command.withSubcommands([gatewayCommand, connectCommand])
)
