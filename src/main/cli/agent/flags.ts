import { Argument, type Command } from "effect/cli"
import { lowestMaxResult } from "../../../application/bridge/results/largeResults.ts"
import { defaultOfficeCallSeconds, defaultToolTimeoutSeconds, maxTimeoutSeconds } from "../../../domain/model/fields.ts"
import { finderPageSizes } from "../../../domain/model/messages/requests.ts"
import { defaultMaxNameLength, lowestMaxNameLength } from "../../../domain/tools/exposedNames.ts"
import { between, flag, parseByteSize, setting } from "../flags/setting.ts"
import * as shared from "../flags/sharedFlags.ts"
import { joinFlags } from "../office/joinFlags.ts"

type Infer<F extends Command.Command.Config> = Command.Command.Config.Infer<F>

/** The flags of `a2c agent` and all its subcommands. */
export const agentFlags = {
  server: shared.serverUrl,
  office: shared.office,
  name: shared.agentName,
  tokenFile: shared.tokenFile,
  tlsCa: shared.tlsCa,
  ...joinFlags,
  json: shared.jsonFlag
}
export type AgentSharedOptions = Infer<typeof agentFlags>

const timeoutFlag = (
  defaultSeconds: number,
  help = "time that the tool may run; approvals and questions do not count"
) => flag.int("timeout", help, { metavar: "SECONDS", default: defaultSeconds, check: between(1, maxTimeoutSeconds) })

const targetComputerFlags = { computer: flag.text("computer", "Computer to address", { metavar: "NAME" }) }
export type TargetComputerOptions = AgentSharedOptions & Infer<typeof targetComputerFlags>

const queryFlags = {
  ...targetComputerFlags,
  timeout: timeoutFlag(10, "time to wait for the reply of each Computer")
}
export type QueryOptions = AgentSharedOptions & Infer<typeof queryFlags>

const startFlags = {
  ...targetComputerFlags,
  tool: shared.word("tool", "name of the tool"),
  words: shared.argumentWords,
  args: shared.argsFlag,
  timeout: timeoutFlag(maxTimeoutSeconds)
}

/** The flags of each subcommand beside {@link agentFlags}. */
export const commandFlags = {
  members: { watch: flag.toggle("watch", "show the members and their tools until Ctrl-C, with every change") },
  watch: {},
  config: queryFlags,
  prompts: queryFlags,
  skills: queryFlags,
  start: startFlags,
  tools: {
    ...queryFlags,
    apps: flag.toggle("apps", "also list the tools that only apps of MCP servers call")
  },
  call: {
    ...startFlags,
    timeout: timeoutFlag(defaultToolTimeoutSeconds),
    deadline: flag.int("deadline", "time for everything: the connection, servers that start, approvals and the tool", {
      metavar: "SECONDS",
      check: between(1),
      shown: "none"
    }),
    raw: shared.rawFlag
  },
  task: {
    id: shared.word("id", "ID that start printed"),
    status: flag.toggle("status", "print the state instead of the result"),
    cancel: flag.toggle("cancel", "cancel the call"),
    raw: shared.rawFlag
  },
  prompt: {
    ...queryFlags,
    prompt: shared.word("prompt", "name of the prompt"),
    words: shared.words("arguments", "KEY=VALUE; or KEY=@FILE, a text file"),
    raw: shared.rawFlag
  },
  tool: {
    ...queryFlags,
    tool: shared.word("tool", "name of the tool")
  },
  desktop: {
    ...queryFlags,
    size: flag.int("size", "maximum number of windows", { check: between(1) }),
    window: flag.text("window", "only the window of this exact URI", { metavar: "URI" }),
    raw: shared.rawFlag
  },
  resources: {
    ...queryFlags,
    mcpServer: flag.text("mcp-server", "only the resources of this MCP server", { metavar: "NAME" })
  },
  dpe: {
    ...targetComputerFlags,
    uri: shared.word("uri", "dpe:// URI of a document")
  },
  find: {
    ...queryFlags,
    keywords: shared.words("keyword", "words; a document matches when it contains any of them"),
    fileType: flag.text("file-type", "only files of this type"),
    limit: flag.int("limit", "maximum number of documents", { default: finderPageSizes.default }),
    offset: flag.int("offset", "number of documents to skip", { default: 0, shown: "" })
  },
  skill: {
    ...queryFlags,
    skill: shared.word("skill", "name of the skill"),
    path: shared.optionalWord("path", "path of a file below the folder of the skill; SKILL.md by default"),
    output: flag.file("output", "write the file here instead of stdout"),
    raw: shared.rawFlag
  },
  put: {
    ...targetComputerFlags,
    file: shared.word("file", "file to send, or - for stdin"),
    as: flag.text("as", "file name to suggest to the Computer; that of the file by default", { metavar: "NAME" })
  },
  approvals: {
    ...queryFlags,
    action: Argument.Literals("action", ["list", "show", "allow", "deny", "answer"]).pipe(
      Argument.withDescription(
        "list the calls that wait, show all of one, decide about it, or answer its question; list by default"
      ),
      Argument.withDefault("list")
    ),
    id: shared.optionalWord("id", "ID of the approval, or its start"),
    words: shared.words(
      "words",
      "allow: always, or a time such as 2h, for the tool in this office; deny: the reason; answer: KEY=VALUE, KEY:=JSON, @FILE, - or, at a terminal, nothing"
    )
  },
  mcp: {
    http: flag.port("http", "serve Streamable HTTP on this port, 0 for a free one; stdio without it"),
    host: shared.listenHost(flag),
    token: shared.mcpTokenFlag("token"),
    page: flag.toggle("page", "serve the office page at /office; --no-page serves none", { default: true }),
    tools: flag.choice(
      "tools",
      "list all tools, or three tools that find and call them; auto searches above 60 tools",
      ["auto", "all", "search"],
      { default: "auto" }
    ),
    pinnedTools: flag.texts("pin", "list these tools even when the others are searched: 'desk/read*'", {
      metavar: "PATTERN"
    }),
    maxNameLength: flag.int("max-name-length", "maximum length of a tool name", {
      metavar: "CHARACTERS",
      default: defaultMaxNameLength,
      check: between(lowestMaxNameLength, 128)
    }),
    maxResult: setting.parsed(
      "max-result",
      "maximum size of a result; a larger one becomes its beginning, a summary and a link to the whole",
      [parseByteSize, "a size such as 64KiB, 1MB or 65536"],
      {
        env: "A2C_MCP_MAX_RESULT",
        metavar: "SIZE",
        shown: "no limit",
        check: [between(lowestMaxResult)[0], "a size from 4KiB"]
      }
    ),
    timeout: timeoutFlag(defaultOfficeCallSeconds)
  },
  hostConfig: {
    host: shared.word("host", "claude, claude-code, cursor, vscode, codex, gemini, goose, windsurf, …"),
    url: flag.url("url", "URL where 'a2c agent mcp --http' publishes the office; without it the host starts a process"),
    link: flag.toggle("link", "print a link that installs the entry, for cursor and vscode")
  }
}

export type OptionsOf<Name extends keyof typeof commandFlags> = AgentSharedOptions & Infer<(typeof commandFlags)[Name]>
