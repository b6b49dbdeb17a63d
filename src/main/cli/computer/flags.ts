import { Argument, type Command, Flag } from "effect/cli"
import { flag, setting } from "../flags/setting.ts"
import * as shared from "../flags/sharedFlags.ts"
import { joinFlags } from "../office/joinFlags.ts"

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
  interactive: Flag.withAlias(
    flag.toggle("interactive", "start a shell with commands: status, tools, call, desktop, servers, inputs, …"),
    "i"
  ),
  run: flag.texts("run", "run a command of the interactive shell, print its result, and exit", { metavar: "COMMAND" }),
  allWindows: flag.toggle("all-windows", "show windows and documents of servers without change notifications, too"),
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
  policy: shared.policy
}
export type ComputerCommandOptions = Command.Command.Config.Infer<typeof computerFlags>

export const checkFlags = {
  files: Argument.String("file").pipe(
    Argument.withDescription("configuration, in any of the dialects"),
    Argument.variadic({ min: 1 })
  ),
  inputs: shared.inputValues,
  json: shared.jsonFlag
}
export type CheckCommandOptions = Command.Command.Config.Infer<typeof checkFlags>

export const explainFlags = {
  tool: flag.text("tool", "exposed name of the tool", { metavar: "NAME" }),
  args: shared.argsFlag,
  subject: flag.text("subject", "name of the caller: an Agent, or operator:SUBJECT", {
    metavar: "NAME",
    default: shared.defaultSubject
  }),
  office: Flag.withDefault(shared.office, undefined),
  name: shared.computerName,
  configFiles: shared.configFiles,
  inputs: shared.inputValues,
  approve: shared.approve,
  policy: shared.policy,
  json: shared.jsonFlag
}
export type ExplainCommandOptions = Command.Command.Config.Infer<typeof explainFlags>
