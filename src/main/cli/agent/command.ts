import { Command } from "effect/cli"
import { withTelemetry } from "../flags/globalFlags.ts"
import { rawRule } from "../flags/sharedFlags.ts"
import { makeLazyCommand } from "../lazyCommand.ts"
import { agentFlags, commandFlags as flags } from "./flags.ts"

/** `a2c agent` without its subcommands: the flags that all of them share. */
const baseCommand = Command.make("agent").pipe(
  Command.withSharedFlags(agentFlags),
  Command.withDescription("Act as the Agent of an office: list, call, read, watch")
)

const subcommand = makeLazyCommand(baseCommand)

const actions = () => import("./actions.ts")
const calls = () => import("./callTool.ts")

const hostConfigCommand = subcommand(
  "config",
  flags.hostConfig,
  async () => (await import("./printHostConfig.ts")).printHostConfig,
  {
    description: "Print the entry for an MCP host's configuration that uses the office",
    examples: {
      "a2c agent --office team mcp config claude": "For Claude Desktop",
      "a2c agent --office team mcp config vscode --url http://127.0.0.1:7080/mcp":
        "For VS Code, with an office that is published already",
      "a2c agent --office team mcp config cursor --link": "A link that installs it in Cursor"
    }
  }
)

const mcpCommand = subcommand("mcp", flags.mcp, async () => (await import("./publishOffice.ts")).publishOffice, {
  description: "Publish the whole office as one MCP server, for hosts such as Claude, Cursor or VS Code",
  rules: [
    { flags: ["host", "token", "page"], rule: "only with --http", isMet: ({ http }) => http !== undefined },
    { flags: ["pinnedTools"], rule: "not with --tools all", isMet: ({ tools }) => tools !== "all" }
  ],
  examples: {
    "a2c agent --office team mcp": "Over stdio: the command that a host starts",
    "a2c agent --office team mcp --http 7080": "At http://127.0.0.1:7080/mcp"
  }
}).pipe(Command.withSubcommands([hostConfigCommand]))

const subcommands = [
  subcommand("members", flags.members, async () => (await actions()).showMembers, {
    description: "List the members of the office"
  }),
  subcommand("tools", flags.tools, async () => (await actions()).printTools, {
    description: "List the tools of the Computers"
  }),
  subcommand("tool", flags.tool, async () => (await calls()).showTool, {
    description: "Show one tool: its description, parameters and an example call"
  }),
  subcommand("call", flags.call, async () => (await calls()).callTool, {
    description: "Call a tool; exits with 2 when the tool fails. Ctrl-C cancels the call",
    rules: [rawRule],
    examples: {
      "a2c agent --office team call echo message=hi": "Call the tool 'echo' of the only Computer that has it",
      "a2c agent --office team call import rows:='[1, 2]' note=@note.txt": "JSON, and a file",
      "jq '{message: .text}' x.json | a2c agent --office team call echo -": "All from stdin"
    }
  }),
  subcommand("start", flags.start, async () => (await calls()).startTool, {
    description: "Start a call that runs on without this command, and print its ID",
    examples: {
      "a2c agent --office team start research topic=tea": "Prints an ID such as 3f2a…@desk",
      "a2c agent --office team task 3f2a…@desk": "Waits for the result and prints it"
    }
  }),
  subcommand("task", flags.task, async () => (await calls()).showTask, {
    description: "Wait for the result of a started call; exits with 2 when the tool failed",
    rules: [
      rawRule,
      { flags: ["raw"], rule: "not with --status", isMet: ({ status }) => !status },
      { flags: ["raw"], rule: "not with --cancel", isMet: ({ cancel }) => !cancel }
    ]
  }),
  subcommand("prompts", flags.prompts, async () => (await actions()).listPrompts, {
    description: "List the prompts of the Computers' MCP servers"
  }),
  subcommand("prompt", flags.prompt, async () => (await actions()).getPrompt, {
    description: "Print the messages of a prompt",
    rules: [rawRule],
    examples: { "a2c agent --office team prompt review file=@notes.md": "With the text of a file" }
  }),
  subcommand("desktop", flags.desktop, async () => (await actions()).showDesktop, {
    description: "Show the windows of the Computers",
    rules: [rawRule]
  }),
  subcommand("config", flags.config, async () => (await actions()).showConfig, {
    description: "Show the configuration of the Computers, without secrets"
  }),
  subcommand("resources", flags.resources, async () => (await actions()).printResources, {
    description: "List the resources of the Computers' MCP servers"
  }),
  subcommand("dpe", flags.dpe, async () => (await actions()).resolveDpe, {
    description: "Resolve the URI of a document to a URI that can be fetched"
  }),
  subcommand("find", flags.find, async () => (await actions()).printDocuments, { description: "Find documents" }),
  subcommand("skills", flags.skills, async () => (await actions()).listSkills, {
    description: "List the skills of the Computers"
  }),
  subcommand("skill", flags.skill, async () => (await actions()).readSkill, {
    description: "Print a skill, or another file of it",
    rules: [rawRule, { flags: ["raw"], rule: "not with --output", isMet: ({ output }) => output === undefined }]
  }),
  subcommand("put", flags.put, async () => (await actions()).putFile, {
    description: "Store a file on a Computer; needs --protocol 0.4, and --uploads there"
  }),
  subcommand("approvals", flags.approvals, async () => (await import("./approvals.ts")).manageApprovals, {
    description: "List the calls of this Agent that wait for an approval, or decide about one",
    examples: {
      "a2c agent --office team approvals": "List them; the owner must let Agents decide",
      "a2c agent --office team approvals show 3f2a": "Show its arguments and what has changed",
      "a2c agent --office team approvals allow 3f2a": "Allow one call",
      "a2c agent --office team approvals allow 3f2a 2h": "Allow its tool for two hours",
      "a2c agent --office team approvals deny 3f2a not today": "Deny it with a reason"
    }
  }),
  subcommand("watch", flags.watch, async () => (await import("./watchOffice.ts")).watchEvents, {
    description: "Print what changes in the office until Ctrl-C: members, tools, MCP servers, calls"
  }),
  mcpCommand
] as const

export const agentCommand = baseCommand.pipe(Command.withSubcommands(subcommands), withTelemetry("a2c-agent"))
