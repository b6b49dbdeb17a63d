import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { lowestMaxNameLength, defaultMaxNameLength } from "../../../domain/tools/exposedNames.ts"
import { agentBaseCommand } from "./baseCommand.ts"
import { listenHost, portFlag, mcpTokenFlag, requirePort } from "../sharedFlags.ts"

const hostConfigCommand = Command.make(
  "config",
  {
    host: Argument.String("host").pipe(
      Argument.withDescription("claude, claude-code, cursor, vscode, codex, gemini, goose, windsurf, …")
    ),
    url: Flag.String("url").pipe(
      Flag.withMetavar("URL"),
      Flag.withDescription(
        "where 'a2c agent mcp --http' publishes the office; else the host starts it itself"
      ),
      Flag.optional
    )
  },
  Effect.fn(function* ({ host, url }) {
    const shared = yield* agentBaseCommand
    const { printHostConfig } = yield* Effect.promise(() => import("./printHostConfig.ts"))
    yield* printHostConfig({ ...shared, host, url: Option.getOrUndefined(url) })
  })
).pipe(
  Command.withDescription("Print what an MCP host's configuration needs to use the office"),
  Command.withExamples([
    { command: "a2c agent --office team mcp config claude", description: "For Claude Desktop" },
    {
      command: "a2c agent --office team mcp config vscode --url http://127.0.0.1:7080/mcp",
      description: "For VS Code, where the office is published already"
    }
  ])
)

/** `a2c agent mcp`. */
export const mcpCommand = Command.make(
  "mcp",
  {
    http: portFlag("http", "serve Streamable HTTP on this port, 0 for a free one; stdio without it").pipe(
      requirePort,
      Flag.optional
    ),
    host: listenHost,
    token: mcpTokenFlag("token"),
    tools: Flag.Literals("tools", ["auto", "all", "search"]).pipe(
      Flag.withDescription("list all tools, or three to find and call them; auto searches above 60 tools"),
      Flag.withDefault("auto")
    ),
    pinnedTools: Flag.String("pin").pipe(
      Flag.withMetavar("PATTERN"),
      Flag.withDescription("list these tools even when others are searched: 'desk/read*'; may be repeated"),
      Flag.atLeast(0)
    ),
    maxNameLength: Flag.Int("name-budget").pipe(
      Flag.withMetavar("CHARACTERS"),
      Flag.withDescription("longest name of a tool, 24 to 128 [default: 45]"),
      Flag.filter(
        (budget) => budget >= lowestMaxNameLength && budget <= 128,
        () => "a number from 24 to 128"
      ),
      Flag.withDefault(defaultMaxNameLength)
    ),
    timeout: Flag.Int("timeout").pipe(
      Flag.withMetavar("SECONDS"),
      Flag.withDescription("how long a call may take, 1 to 3600 [default: 300]"),
      Flag.filter(
        (seconds) => seconds >= 1 && seconds <= 3600,
        () => "a number from 1 to 3600"
      ),
      Flag.withDefault(300)
    )
  },
  Effect.fn(function* (options) {
    const shared = yield* agentBaseCommand
    const { runAsAgent } = yield* Effect.promise(() => import("./actions.ts"))
    const { publishOffice } = yield* Effect.promise(() => import("./publishOffice.ts"))
    // A host that starts us waits for its answers, and says what went wrong; over HTTP nobody is there to start us again.
    yield* runAsAgent(shared, publishOffice(shared, options), Option.isSome(options.http))
  })
).pipe(
  Command.withDescription(
    "Publish the whole office as one MCP server, for hosts such as Claude, Cursor or VS Code"
  ),
  Command.withExamples([
    { command: "a2c agent --office team mcp", description: "Over stdio: what a host starts" },
    { command: "a2c agent --office team mcp --http 7080", description: "At http://127.0.0.1:7080/mcp" }
  ]),
  Command.withSubcommands([hostConfigCommand])
)
