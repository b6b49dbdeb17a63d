import { Effect } from "effect"
import { Command } from "effect/cli"
import { agentBaseCommand } from "./baseCommand.ts"
import { hostConfigFlags, publishFlags } from "./flags.ts"

const hostConfigCommand = Command.make(
  "config",
  hostConfigFlags,
  Effect.fn(function* (options) {
    const shared = yield* agentBaseCommand
    const { printHostConfig } = yield* Effect.promise(() => import("./printHostConfig.ts"))
    yield* printHostConfig({ ...shared, ...options })
  })
).pipe(
  Command.withDescription("Print the entry for an MCP host's configuration that uses the office"),
  Command.withExamples([
    { command: "a2c agent --office team mcp config claude", description: "For Claude Desktop" },
    {
      command: "a2c agent --office team mcp config vscode --url http://127.0.0.1:7080/mcp",
      description: "For VS Code, with an office that is published already"
    }
  ])
)

export const mcpCommand = Command.make(
  "mcp",
  publishFlags,
  Effect.fn(function* (options) {
    const shared = yield* agentBaseCommand
    const { runAsAgent } = yield* Effect.promise(() => import("./actions.ts"))
    const { publishOffice } = yield* Effect.promise(() => import("./publishOffice.ts"))
    // A host that starts this process over stdio shows a failure; over HTTP no host would restart it.
    yield* runAsAgent(shared, publishOffice(shared, options), options.http !== undefined)
  })
).pipe(
  Command.withDescription("Publish the whole office as one MCP server, for hosts such as Claude, Cursor or VS Code"),
  Command.withExamples([
    { command: "a2c agent --office team mcp", description: "Over stdio: the command that a host starts" },
    { command: "a2c agent --office team mcp --http 7080", description: "At http://127.0.0.1:7080/mcp" }
  ]),
  Command.withSubcommands([hostConfigCommand])
)
