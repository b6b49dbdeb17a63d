import { Effect, Result } from "effect"
import { Base64 } from "effect/encoding"
import { definedOnly } from "../../domain/objects.ts"
import { parseOfficeUri, parseSkillUri, toOfficeUri, toSkillUri } from "../../domain/office/officeUris.ts"
import { parseRenderedWindow } from "../../domain/desktop/organizeDesktop.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { DocumentSummary, SkillRef } from "../../domain/model/messages/requests.ts"
import type { Agent } from "../agent/Agent.ts"
import type { FetchedDocument } from "../agent/AgentQueries.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { McpSessionError } from "../ports/McpSession.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

/** The maximum number of listed documents per Computer, and the page size of the requests. */
const documentPaging = { maxCount: 1000, pageSize: 100 }

/** Time limit of listing one kind of resource of one Computer. */
const listTimeout = "10 seconds"

/** The text of every window in an office, by its URI in the office. */
export const windowsOf = (view: OfficeView): ReadonlyMap<string, string> =>
  new Map(
    [...view.computers].flatMap(([computer, { desktop = [] }]) =>
      desktop.flatMap((entry) => {
        const { text, uri } = parseRenderedWindow(entry)
        const exposed = toOfficeUri({ computer, uri })
        return exposed === undefined ? [] : [[exposed, text] as const]
      })
    )
  )

const toWindowResource = (uri: string): JsonObject => ({
  uri,
  name: uri.replace(/^window:\/\/([^?]*).*$/s, "$1"),
  description: "The current content of a Computer's window",
  mimeType: "text/plain"
})

const toDocumentResource = (uri: string, { pageCount, summary, title }: DocumentSummary): JsonObject => ({
  uri,
  name: title,
  title,
  ...definedOnly({ description: summary }),
  _meta: { page_count: pageCount }
})

const documentsOf = Effect.fnUntraced(function* (agent: Agent["Service"], computer: ComputerName) {
  const found: Array<DocumentSummary> = []
  while (found.length < documentPaging.maxCount) {
    const page = yield* agent.findDocuments(computer, { offset: found.length, limit: documentPaging.pageSize })
    found.push(...page.documents)
    if (page.documents.length === 0 || found.length >= page.totalCount) break
  }
  return found
})

const toSkillResource = (computer: ComputerName, { description, license, name, version }: SkillRef): JsonObject => ({
  uri: toSkillUri({ computer, skill: name }),
  name,
  description,
  mimeType: "text/markdown",
  _meta: definedOnly({ license, version })
})

/** Lists a kind of resource of one Computer, or nothing when that fails. */
const listOrNothing = <A>(
  kind: "documents" | "skills",
  computer: ComputerName,
  listing: Effect.Effect<ReadonlyArray<A>, { readonly message: string }>
): Effect.Effect<ReadonlyArray<A>> =>
  listing.pipe(
    // A Computer of another implementation does not reply to requests that it does not know.
    Effect.timeoutOrElse({ duration: listTimeout, orElse: () => Effect.fail({ message: "timed out" }) }),
    Effect.catch(({ message: reason }) =>
      Effect.as(Effect.logDebug("listing for the office failed", { kind, computer, reason }), [])
    )
  )

/** Lists the windows, documents and skills of all Computers as MCP resources. */
export const listOfficeResources = Effect.fnUntraced(function* (agent: Agent["Service"]) {
  const view = yield* agent.view
  const lists = yield* Effect.forEach(
    view.computers.keys(),
    Effect.fnUntraced(function* (computer) {
      const [summaries, skills] = yield* Effect.all(
        [
          listOrNothing("documents", computer, documentsOf(agent, computer)),
          listOrNothing("skills", computer, agent.skills(computer))
        ],
        { concurrency: "unbounded" }
      )
      const documents = summaries.flatMap((summary) => {
        const uri = toOfficeUri({ computer, uri: summary.uri })
        return uri === undefined ? [] : [toDocumentResource(uri, summary)]
      })
      return [...documents, ...skills.map((skill) => toSkillResource(computer, skill))]
    }),
    { concurrency: "unbounded" }
  )
  return [...[...windowsOf(view).keys()].map(toWindowResource), ...lists.flat()]
})

const notFound = (uri: string) =>
  new McpSessionError({ reason: "protocol", code: -32002, message: `There is no resource ${uri} in this office` })

const textType = /^text\/|[/+](json|xml|yaml|toml)\b|javascript/i

/** Converts a document to MCP contents: text for text types in valid UTF-8, base64 for the rest. */
const toContents = (uri: string, { bytes, mimeType }: Pick<FetchedDocument, "bytes" | "mimeType">): JsonObject => {
  const blob = Base64.encode(bytes)
  const text = textType.test(mimeType ?? "")
    ? Result.getOrElse(Base64.decodeString(blob), () => "\u{fffd}")
    : "\u{fffd}"
  return { uri, ...definedOnly({ mimeType }), ...(text.includes("\u{fffd}") ? { blob } : { text }) }
}

/** Reads the current content of a window, fetches a document, or reads a file of a skill. */
export const readOfficeResource = Effect.fnUntraced(function* (
  agent: Agent["Service"],
  uri: string
): Effect.fn.Return<ReadonlyArray<JsonObject>, McpSessionError> {
  const { computers } = yield* agent.view
  const unavailable = ({ message }: { readonly message: string }) =>
    new McpSessionError({ reason: "unavailable", message })
  const skillFile = parseSkillUri(uri, computers.keys())
  if (skillFile !== undefined) {
    const { computer, relPath, skill } = skillFile
    return [toContents(uri, yield* Effect.mapError(agent.readSkill(computer, skill, relPath), unavailable))]
  }
  const target = parseOfficeUri(uri, computers.keys())
  if (target === undefined) return yield* notFound(uri)
  if (target.uri.startsWith("window:")) {
    const desktop = agent.getDesktop(target.computer, { window: target.uri })
    const [entry] = yield* Effect.mapError(desktop, unavailable)
    if (entry === undefined) return yield* notFound(uri)
    return [{ uri, mimeType: "text/plain", text: parseRenderedWindow(entry).text }]
  }
  const document = yield* Effect.mapError(agent.fetchDocument(target.computer, target.uri), unavailable)
  return [toContents(uri, document)]
})
