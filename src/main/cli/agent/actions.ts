import { Effect, Stream } from "effect"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { Agent, type AgentEvent } from "../../../application/agent/Agent.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import { untilMembershipEnds } from "../../CommandFailed.ts"
import { formatColumns, truncateLine } from "../output/format.ts"
import { printJson, printLine, printResult } from "../output/print.ts"
import type * as flags from "./flags.ts"
import {
  onlyTargetComputer,
  printList,
  printReplies,
  queryComputers,
  runAsAgent,
  runAsSharingAgent
} from "./queries.ts"
import { formatQuantity } from "../../../application/shared/formatQuantity.ts"

export const listMembers = Effect.fnUntraced(function* (options: flags.AgentSharedOptions) {
  const list = yield* (yield* Agent).members
  yield* printResult(options, list, formatColumns(list.map(({ name, role, version = "" }) => [role, name, version])))
}, runAsAgent)

/** Tools that only apps call are listed with `--apps`. */
export const printTools = Effect.fnUntraced(function* (options: flags.OptionsOf<"tools">) {
  yield* printList(
    options,
    (computer, { getToolList, getTools }) => {
      const listing = options.apps ? Effect.map(getToolList(computer), ({ tools }) => tools) : getTools(computer)
      return Effect.map(listing, (list) => list.map((tool) => ({ computer, ...tool })))
    },
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

const describeEvent = (event: AgentEvent): string => {
  switch (event._tag) {
    case "Entered":
    case "Left":
      return `${event.membership.role} ${event.membership.name} ${event._tag === "Entered" ? "entered" : "left"}`
    case "Updated":
      return `computer ${event.computer} updated its ${event.part === "toolList" ? "tools" : event.part}`
    case "Cancelled":
      return `agent ${event.agent} cancelled ${event.reqId}`
    case "Joined":
      return "joined the office"
    case "Disconnected":
      return `connection lost: ${event.reason}`
  }
}

/** Prints the events of the office, one per line, until the membership ends. */
export const watchEvents = Effect.fnUntraced(
  function* ({ json }: flags.AgentSharedOptions) {
    const { events, status } = yield* Agent
    yield* Effect.raceFirst(
      Stream.runForEach(events, (event) => (json ? printJson(event, true) : printLine(describeEvent(event)))),
      untilMembershipEnds(status)
    )
  },
  (action, options) => runAsSharingAgent(action, options, true)
)
