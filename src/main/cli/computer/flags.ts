import { Duration, Struct } from "effect"
import { type Command, Flag } from "effect/cli"
import { expectedIdle, lifecycles, parseIdle } from "../../../domain/config/computerConfig.ts"
import { mcpRevisions } from "../../../domain/config/endpointParameters.ts"
import { maxTimeoutSeconds } from "../../../domain/model/fields.ts"
import { between, flag, setting } from "../flags/setting.ts"
import * as shared from "../flags/sharedFlags.ts"
import { joinFlags } from "../office/joinFlags.ts"

const approverNames = ["terminal", "page", "agent"] as const
type ApproverName = (typeof approverNames)[number]

/** Parses names with commas in between; an empty text names none. */
const parseApprovers = (text: string): ReadonlyArray<ApproverName> | undefined => {
  const names = text.split(",").flatMap((name) => name.trim() || [])
  return names.every((name): name is ApproverName => approverNames.some((known) => known === name)) ? names : undefined
}

export const computerFlags = {
  server: shared.serverUrl,
  tokenFile: shared.tokenFile,
  tlsCa: shared.tlsCa,
  office: Flag.withDefault(shared.office, undefined),
  name: shared.computerName,
  ...joinFlags,
  configFiles: shared.configFiles,
  inputs: shared.inputValues,
  watch: shared.watch,
  lifecycle: setting.choice("lifecycle", "when MCP servers run that do not say it in the configuration", lifecycles, {
    default: "eager"
  }),
  idle: setting.parsed("idle", "how long a lazy MCP server runs without a request", [parseIdle, expectedIdle], {
    metavar: "TIME",
    default: parseIdle("5m"),
    shown: "5m"
  }),
  mcpRevision: setting.choice("mcp-revision", "MCP revision that HTTP servers are asked for first", mcpRevisions, {
    default: "2025-11-25"
  }),
  clientMetadataUrl: setting.url("client-metadata-url", "client ID metadata document for the OAuth of MCP servers", {
    schemes: ["https"]
  }),
  interactive: Flag.withAlias(
    flag.toggle("interactive", "start a shell with commands: status, tools, call, desktop, servers, inputs, …"),
    "i"
  ),
  run: flag.texts("run", "run a command of the interactive shell, print its result, and exit", { metavar: "COMMAND" }),
  allWindows: flag.toggle("all-windows", "also show windows and documents of servers without change notifications"),
  dpe: setting.text(
    "dpe",
    "serve documents to Agents: cache[:FOLDER] as file:// URIs, " +
      "http[:PORT] as signed URLs of a document server on loopback",
    { metavar: "HOW" }
  ),
  dpeUrl: setting.url("dpe-url", "public URL of the document server behind a proxy"),
  skills: setting.text("skills", "folder of skills for Agents: a folder with a SKILL.md for each", {
    metavar: "FOLDER"
  }),
  marketplaces: setting.texts("marketplace", "folder of a marketplace, whose plugins have skills for Agents", {
    metavar: "FOLDER"
  }),
  uploads: setting.text("uploads", "folder in which Agents of the protocol 0.4 may store files; none by default", {
    metavar: "FOLDER"
  }),
  operators: setting.toggle(
    "operators",
    "let operators of the Server call tools while the office has an Agent, with the consent that an Agent needs"
  ),
  shareStderr: setting.toggle(
    "share-stderr",
    "show operators of the Server the last lines that MCP servers write to stderr"
  ),
  approve: shared.approve,
  policy: shared.policy,
  approvers: setting.parsed(
    "approvers",
    "approvers of calls that need consent: the user at the terminal, operators on the office page, " +
      "the program of the calling Agent",
    [parseApprovers, `some of ${approverNames.join(", ")}`],
    { metavar: "terminal,page,agent", default: ["terminal"] }
  ),
  approvalTimeout: setting.seconds("approval-timeout", "how long a call waits for an approval", {
    default: Duration.minutes(5),
    check: between(1, maxTimeoutSeconds)
  }),
  approvals: setting.file("approvals", "file with lasting approvals and the approved definitions of tools", {
    shown: "approvals.json in the state folder of the user"
  }),
  audit: setting.file(
    "audit",
    "audit log: writes the decision about every call to this file, one JSON object per line",
    { env: "A2C_COMPUTER_AUDIT" }
  )
}
export type ComputerCommandOptions = Command.Command.Config.Infer<typeof computerFlags>

export const checkFlags = {
  files: shared.words("file", "configuration, in any of the dialects", 1),
  inputs: shared.inputValues,
  json: shared.jsonFlag
}
export type CheckCommandOptions = Command.Command.Config.Infer<typeof checkFlags>

export const explainFlags = {
  tool: flag.text("tool", "exposed name of the tool", { metavar: "NAME" }),
  args: shared.argsFlag,
  words: shared.argumentWords,
  subject: flag.text("subject", "name of the caller: an Agent, or operator:SUBJECT", {
    metavar: "NAME",
    default: shared.defaultSubject
  }),
  ...Struct.pick(computerFlags, ["office", "protocol", "server", "name", "configFiles", "inputs"]),
  ...Struct.pick(computerFlags, ["approvals", "approvers", "approve", "policy"]),
  json: shared.jsonFlag
}
export type ExplainCommandOptions = Command.Command.Config.Infer<typeof explainFlags>
