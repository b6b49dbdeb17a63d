import { writeFile } from "node:fs/promises"
import { basename } from "node:path"
import { Effect } from "effect"
import { Agent } from "../../../application/agent/Agent.ts"
import { formatQuantity } from "../../../domain/text/format.ts"
import { errorMessage, formatSome } from "../../../domain/errorMessage.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { isAppOnly } from "../../../domain/tools/appTools.ts"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { CommandFailed, failCommand } from "../../CommandFailed.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { readBytes, readTexts } from "../arguments/argumentSource.ts"
import { formatColumns, formatPromptArguments, formatPromptMessages, truncateLine } from "../output/format.ts"
import { printJson, printLine, printProgress, printResult } from "../output/print.ts"
import type * as flags from "./flags.ts"
import { onlyTargetComputer, printList, printReplies, queryComputers, runAsAgent, withoutComputer } from "./queries.ts"

export const listMembers = Effect.fnUntraced(function* (options: flags.AgentSharedOptions) {
  const list = yield* (yield* Agent).members
  if (list.every(({ role }) => role === "agent")) yield* printProgress(withoutComputer(options.office))
  yield* printResult(options, list, formatColumns(list.map(({ name, role, version = "" }) => [role, name, version])))
}, runAsAgent)

export const showMembers = (options: flags.OptionsOf<"members">) =>
  options.watch
    ? Effect.flatMap(
        Effect.promise(() => import("./watchOffice.ts")),
        ({ watchMembers }) => watchMembers(options)
      )
    : listMembers(options)

/** Tools that only apps call are listed with `--apps`. */
export const printTools = Effect.fnUntraced(function* (options: flags.OptionsOf<"tools">) {
  yield* printList(
    options,
    Effect.fnUntraced(function* (computer, { getToolList }) {
      const { failingServers, tools } = yield* getToolList(computer)
      for (const { name, reason } of failingServers)
        yield* printProgress(`the MCP server ${name} of ${computer} is failing: ${reason}`)
      return tools.filter(({ meta }) => options.apps || !isAppOnly(meta)).map((tool) => ({ computer, ...tool }))
    }),
    ({ computer, description, name }) => [computer, name, truncateLine(description)],
    "no tools"
  )
}, runAsAgent)

export const showDesktop = Effect.fnUntraced(function* (options: flags.OptionsOf<"desktop">) {
  const { size, window } = options
  yield* printReplies(
    options,
    (computer, { getDesktop }) =>
      Effect.map(getDesktop(computer, definedOnly({ size, window })), (desktop) => [{ computer, desktop }]),
    (found) =>
      found
        .flatMap(({ computer, desktop }) => [
          `# ${escapeForTerminal(computer)}${desktop.length === 0 ? " (no windows)" : ""}`,
          ...desktop
        ])
        .join("\n\n")
  )
}, runAsAgent)

/** Prints configurations in their wire form, which is the form of configuration files. */
export const showConfig = Effect.fnUntraced(function* (options: flags.QueryOptions) {
  const found = yield* queryComputers(options, (name, { getConfig, member }) =>
    Effect.map(getConfig(name), (config) => [name, member.line.calls.getConfig.reply.encode(config)] as const)
  )
  yield* printJson(Object.fromEntries(found))
}, runAsAgent)

export const printResources = Effect.fnUntraced(function* (options: flags.OptionsOf<"resources">) {
  const { mcpServer: requested } = options
  yield* printList(
    options,
    Effect.fnUntraced(function* (computer, agent) {
      const { servers } = yield* agent.getConfig(computer)
      const found = yield* Effect.forEach(requested === undefined ? Object.keys(servers) : [requested], (mcpServer) =>
        agent.allResources(computer, mcpServer).pipe(
          Effect.catchTag("ProtocolError", (error) =>
            requested === undefined ? Effect.succeed([]) : Effect.fail(error)
          ),
          Effect.map((list) => list.map((resource) => ({ computer, mcpServer, resource })))
        )
      )
      return found.flat()
    }),
    ({ computer, mcpServer, resource: { name, uri } }) => [
      computer,
      mcpServer,
      String(uri),
      truncateLine(stringOrEmpty(name))
    ],
    "no resources"
  )
}, runAsAgent)

export const resolveDpe = Effect.fnUntraced(function* (options: flags.OptionsOf<"dpe">) {
  const { getDpe } = yield* Agent
  const found = yield* getDpe(yield* onlyTargetComputer(options), options.uri)
  yield* printResult(options, found, found.uri)
}, runAsAgent)

export const printDocuments = Effect.fnUntraced(function* (options: flags.OptionsOf<"find">) {
  const { fileType, keywords, limit, offset } = options
  const query = { keywords, limit, offset, ...definedOnly({ fileType }) }
  yield* printReplies(
    options,
    (computer, agent) => Effect.map(agent.findDocuments(computer, query), (page) => [{ computer, ...page }]),
    (found) =>
      formatColumns(
        found.flatMap(({ computer, documents }) =>
          documents.map((one) => [computer, one.uri, formatQuantity(one.pageCount, "page"), truncateLine(one.title)])
        )
      ),
    "no documents"
  )
}, runAsAgent)

const skillsOf = (computer: string, { skills }: Agent["Service"]) =>
  Effect.map(skills(computer), (list) => list.map((skill) => ({ computer, ...skill })))

export const listSkills = Effect.fnUntraced(function* (options: flags.QueryOptions) {
  yield* printList(
    options,
    skillsOf,
    ({ computer, description, name }) => [computer, name, truncateLine(description)],
    "no skills"
  )
}, runAsAgent)

/** Finds the only skill or prompt of a name that a Computer offers. */
const findOnly = Effect.fnUntraced(function* <A extends { readonly computer: string; readonly server?: string }>(
  noun: string,
  wanted: string,
  offers: ReadonlyArray<A>,
  nameOf: (offer: A) => string
) {
  const [found, ...others] = offers.filter((offer) => nameOf(offer) === wanted)
  if (found === undefined) {
    return yield* failCommand(`No ${noun} '${wanted}' is in this office${didYouMean(wanted, offers.map(nameOf))}`)
  }
  if (others.length === 0) return found
  const places = [found, ...others].map(({ computer, server }) => (server ? `${server} of ${computer}` : computer))
  return yield* failCommand(
    `Several ${noun}s '${wanted}' are in this office: choose one by --computer; there are those of ${formatSome(places)}`
  )
})

export const readSkill = Effect.fnUntraced(function* (options: flags.OptionsOf<"skill">) {
  const { output, path, skill } = options
  const skills = (yield* queryComputers(options, skillsOf)).flat()
  const { computer, name } = yield* findOnly("skill", skill, skills, (one) => one.name)
  const agent = yield* Agent
  const { bytes, text, ...file } = yield* agent.readSkill(computer, name, path)
  if (output !== undefined) {
    yield* Effect.tryPromise({
      try: () => writeFile(output, bytes),
      catch: (error) => new CommandFailed({ message: `Cannot write ${output}: ${errorMessage(error)}` })
    })
    return yield* printLine(`${file.totalSize} bytes written to ${output}`)
  }
  if (text === undefined && !options.json) {
    return yield* failCommand(`${file.relPath} is no text: write it to a file by --output FILE`)
  }
  const content = text === undefined ? { base64: Buffer.from(bytes).toString("base64") } : { text }
  yield* printResult(options, { computer, ...definedOnly(file), ...content }, text ?? "")
}, runAsAgent)

/** In bytes: Computers take no larger files by default. */
const maxFileBytes = 100 * 1024 * 1024

export const putFile = Effect.fnUntraced(function* (options: flags.OptionsOf<"put">) {
  const { as = options.file === "-" ? undefined : basename(options.file), file } = options
  const bytes = yield* readBytes(file, maxFileBytes)
  const computer = yield* onlyTargetComputer(options)
  const stored = yield* Agent.use(({ putBlob }) => putBlob(computer, bytes, definedOnly({ nameHint: as })))
  yield* printResult(options, { computer, ...stored }, stored.landingPath)
}, runAsAgent)

const promptsOf = (computer: string, { mcpServers }: Agent["Service"]) =>
  Effect.map(mcpServers(computer), (servers) =>
    servers.flatMap(({ id, prompts }) => prompts.map((prompt) => ({ computer, server: id, prompt })))
  )

export const listPrompts = Effect.fnUntraced(function* (options: flags.QueryOptions) {
  yield* printList(
    options,
    promptsOf,
    ({ computer, prompt, server }) => [
      computer,
      server,
      stringOrEmpty(prompt["name"]),
      formatPromptArguments(prompt),
      truncateLine(stringOrEmpty(prompt["description"]))
    ],
    "no prompts"
  )
}, runAsAgent)

export const getPrompt = Effect.fnUntraced(function* (options: flags.OptionsOf<"prompt">) {
  const args = yield* readTexts(options.words)
  const prompts = (yield* queryComputers(options, promptsOf)).flat()
  const { computer, prompt, server } = yield* findOnly("prompt", options.prompt, prompts, (one) =>
    stringOrEmpty(one.prompt["name"])
  )
  const params = { name: prompt["name"], arguments: args }
  const agent = yield* Agent
  const result = yield* agent.mcpRequest(computer, { server, method: "prompts/get", params })
  yield* printResult(options, result, formatPromptMessages(result))
}, runAsAgent)
