import { Command } from "effect/cli"
import { withTelemetry } from "../flags/globalFlags.ts"
import { lazyCommand } from "../lazyCommand.ts"
import { checkFlags, computerFlags, computerRules, explainFlags, explainRules } from "./flags.ts"

const checkCommand = lazyCommand("check", checkFlags, async () => (await import("./runCheck.ts")).runCheck).pipe(
  Command.withDescription("Validate a configuration and explain it; exits with 1 when it has errors"),
  Command.withExamples([
    { command: "a2c computer check .vscode/mcp.json", description: "Check an editor's configuration" }
  ])
)

const explainCommand = lazyCommand(
  "explain",
  explainFlags,
  async () => (await import("./runComputerCommand.ts")).runExplain,
  explainRules
).pipe(
  Command.withDescription("Show how a call of a tool is decided, and by which rule of the policy"),
  Command.withExamples([
    {
      command: `a2c computer explain --config mcp.json --policy policy.yaml --tool write --args '{"path": "a.txt"}'`,
      description: "Start the servers without an office, and decide a call that does not run"
    }
  ])
)

export const computerCommand = lazyCommand(
  "computer",
  computerFlags,
  async () => (await import("./runComputerCommand.ts")).runComputerCommand,
  computerRules
).pipe(
  Command.withDescription("Run a Computer: start MCP servers and offer their tools to an office"),
  Command.withExamples([
    {
      command: "a2c computer --office team --name desk --config mcp.json",
      description: "Join the office 'team' with the servers of mcp.json"
    },
    {
      command: "a2c computer --office team --config mcp.json --input token=@token.txt --approve 'search*'",
      description: "The same, with the value of an input from a file, and tools that run without consent"
    },
    {
      command: "a2c computer --office team --config mcp.json --policy policy.yaml",
      description: "The same, with rules that decide which calls run"
    },
    {
      command: "a2c computer --config mcp.json --run status --run 'call echo message=hi'",
      description: "Start the servers, run commands, and exit; no office is needed"
    }
  ]),
  withTelemetry("a2c-computer"),
  Command.withSubcommands([checkCommand, explainCommand])
)
