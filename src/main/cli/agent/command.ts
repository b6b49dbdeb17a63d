import { Command } from "effect/cli"
import { withTelemetry } from "../flags/globalFlags.ts"
import { rawRule } from "../flags/sharedFlags.ts"
import { makeLazyCommand } from "../lazyCommand.ts"
import * as flags from "./flags.ts"

/** `a2c agent` without its subcommands: the flags that all of them share. */
const baseCommand = Command.make("agent").pipe(
  Command.withSharedFlags(flags.agentFlags),
  Command.withDescription("Act as the Agent of an office: list, call, read, watch")
)

/** Makes a subcommand whose implementation also gets the shared flags. */
const subcommand = makeLazyCommand(baseCommand)

const actions = () => import("./actions.ts")

const callCommand = subcommand("call", flags.callFlags, async () => (await import("./callTool.ts")).callTool, [
  rawRule
]).pipe(
  Command.withDescription("Call a tool; exits with 2 when the tool fails. Ctrl-C cancels the call"),
  Command.withExamples([
    {
      command: "a2c agent --office team call echo message=hi",
      description: "Call the tool 'echo' of the only Computer that has it"
    },
    { command: "a2c agent --office team call import rows:='[1, 2]' note=@note.txt", description: "JSON, and a file" },
    { command: "jq '{message: .text}' x.json | a2c agent --office team call echo -", description: "All from stdin" }
  ])
)

const hostConfigCommand = subcommand(
  "config",
  flags.hostConfigFlags,
  async () => (await import("./printHostConfig.ts")).printHostConfig
).pipe(
  Command.withDescription("Print the entry for an MCP host's configuration that uses the office"),
  Command.withExamples([
    { command: "a2c agent --office team mcp config claude", description: "For Claude Desktop" },
    {
      command: "a2c agent --office team mcp config vscode --url http://127.0.0.1:7080/mcp",
      description: "For VS Code, with an office that is published already"
    },
    { command: "a2c agent --office team mcp config cursor --link", description: "A link that installs it in Cursor" }
  ])
)

const mcpCommand = subcommand(
  "mcp",
  flags.publishFlags,
  async () => (await import("./publishOffice.ts")).publishOffice,
  flags.publishRules
).pipe(
  Command.withDescription("Publish the whole office as one MCP server, for hosts such as Claude, Cursor or VS Code"),
  Command.withExamples([
    { command: "a2c agent --office team mcp", description: "Over stdio: the command that a host starts" },
    { command: "a2c agent --office team mcp --http 7080", description: "At http://127.0.0.1:7080/mcp" }
  ]),
  Command.withSubcommands([hostConfigCommand])
)

const subcommands = [
  subcommand("members", {}, async () => (await actions()).listMembers).pipe(
    Command.withDescription("List the members of the office")
  ),
  subcommand("tools", flags.toolsFlags, async () => (await actions()).printTools).pipe(
    Command.withDescription("List the tools of the Computers")
  ),
  subcommand("tool", flags.toolFlags, async () => (await import("./actions.ts")).showTool).pipe(
    Command.withDescription("Show one tool: its description, parameters and an example call")
  ),
  callCommand,
  subcommand("start", flags.startFlags, async () => (await import("./callTool.ts")).startTool).pipe(
    Command.withDescription("Start a call that runs on without this command, and print its ID"),
    Command.withExamples([
      { command: "a2c agent --office team start research topic=tea", description: "Prints an ID such as 3f2a…@desk" },
      { command: "a2c agent --office team task 3f2a…@desk", description: "Waits for the result and prints it" }
    ])
  ),
  subcommand("task", flags.taskFlags, async () => (await import("./callTool.ts")).showTask, flags.taskRules).pipe(
    Command.withDescription("Wait for the result of a started call; exits with 2 when the tool failed")
  ),
  subcommand("prompts", flags.queryFlags, async () => (await import("./content.ts")).listPrompts).pipe(
    Command.withDescription("List the prompts of the Computers' MCP servers")
  ),
  subcommand("prompt", flags.promptFlags, async () => (await import("./content.ts")).getPrompt, [rawRule]).pipe(
    Command.withDescription("Print the messages of a prompt"),
    Command.withExamples([
      { command: "a2c agent --office team prompt review file=@notes.md", description: "With the text of a file" }
    ])
  ),
  subcommand("desktop", flags.desktopFlags, async () => (await actions()).showDesktop, [rawRule]).pipe(
    Command.withDescription("Show the windows of the Computers")
  ),
  subcommand("config", flags.queryFlags, async () => (await actions()).showConfig).pipe(
    Command.withDescription("Show the configuration of the Computers, without secrets")
  ),
  subcommand("resources", flags.resourcesFlags, async () => (await actions()).printResources).pipe(
    Command.withDescription("List the resources of the Computers' MCP servers")
  ),
  subcommand("dpe", flags.dpeFlags, async () => (await actions()).resolveDpe).pipe(
    Command.withDescription("Resolve the URI of a document to a URI that can be fetched")
  ),
  subcommand("find", flags.findFlags, async () => (await actions()).printDocuments).pipe(
    Command.withDescription("Find documents")
  ),
  subcommand("skills", flags.queryFlags, async () => (await import("./content.ts")).listSkills).pipe(
    Command.withDescription("List the skills of the Computers")
  ),
  subcommand("skill", flags.skillFlags, async () => (await import("./content.ts")).readSkill, flags.skillRules).pipe(
    Command.withDescription("Print a skill, or another file of it")
  ),
  subcommand("put", flags.putFlags, async () => (await import("./content.ts")).putFile).pipe(
    Command.withDescription("Store a file on a Computer; needs --protocol 0.4, and --uploads there")
  ),
  subcommand("approvals", flags.approvalsFlags, async () => (await import("./approvals.ts")).manageApprovals).pipe(
    Command.withDescription("List the calls of this Agent that wait for an approval, or decide about one"),
    Command.withExamples([
      { command: "a2c agent --office team approvals", description: "List them; the owner must let Agents decide" },
      {
        command: "a2c agent --office team approvals show 3f2a",
        description: "Show its arguments and what has changed"
      },
      { command: "a2c agent --office team approvals allow 3f2a", description: "Allow one call" },
      { command: "a2c agent --office team approvals allow 3f2a 2h", description: "Allow its tool for two hours" },
      { command: "a2c agent --office team approvals deny 3f2a not today", description: "Deny it with a reason" }
    ])
  ),
  subcommand("watch", {}, async () => (await actions()).watchEvents).pipe(
    Command.withDescription("Print the events of the office until Ctrl-C")
  ),
  mcpCommand
] as const

export const agentCommand = baseCommand.pipe(Command.withSubcommands(subcommands), withTelemetry("a2c-agent"))
