import { Command } from "effect/cli"
import { withTelemetry } from "../flags/globalFlags.ts"
import { lazyCommand } from "../lazyCommand.ts"
import { checkFlags, computerFlags, explainFlags } from "./flags.ts"

const checkCommand = lazyCommand("check", checkFlags, async () => (await import("./runCheck.ts")).runCheck, {
  description: "Validate a configuration and explain it; exits with 1 when it has errors",
  examples: { "a2c computer check .vscode/mcp.json": "Check an editor's configuration" }
})

const explainCommand = lazyCommand(
  "explain",
  explainFlags,
  async () => (await import("./runComputerCommand.ts")).runExplain,
  {
    description: "Show how a call of a tool is decided, and by which rule of the policy",
    rules: [{ flags: ["protocol"], rule: "only with --office", isMet: ({ office }) => office !== undefined }],
    examples: {
      [`a2c computer explain --config mcp.json --policy policy.yaml --tool write --args '{"path": "a.txt"}'`]:
        "Start the servers without an office, and decide a call that does not run"
    }
  }
)

export const computerCommand = lazyCommand(
  "computer",
  computerFlags,
  async () => (await import("./runComputerCommand.ts")).runComputerCommand,
  {
    description: "Run a Computer: start MCP servers and offer their tools to an office",
    rules: [
      { flags: ["watch"], rule: "only with --config", isMet: ({ configFiles }) => configFiles.length > 0 },
      { flags: ["dpeUrl"], rule: "only with --dpe http", isMet: ({ dpe }) => dpe?.startsWith("http") === true }
    ],
    examples: {
      "a2c computer --office team --name desk --config mcp.json": "Join the office 'team' with the servers of mcp.json",
      "a2c computer --office team --config mcp.json --input token=@token.txt --approve 'search*'":
        "The same, with the value of an input from a file, and tools that run without consent",
      "a2c computer --office team --config mcp.json --policy policy.yaml":
        "The same, with rules that decide which calls run",
      "a2c computer --config mcp.json --run status --run 'call echo message=hi'":
        "Start the servers, run commands, and exit; no office is needed"
    }
  }
).pipe(withTelemetry("a2c-computer"), Command.withSubcommands([checkCommand, explainCommand]))
