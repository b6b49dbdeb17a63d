import { Effect, Result } from "effect"
import { Base64 } from "effect/encoding"
import { parseOfficeUri, toOfficeUri } from "../../domain/office/officeUris.ts"
import { parseRenderedWindow } from "../../domain/desktop/organizeDesktop.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { DocumentSummary } from "../../domain/model/DocumentSummary.ts"
import { Agent } from "../agent/Agent.ts"
import type { FetchedDocument } from "../agent/AgentQueries.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { McpSessionError } from "../ports/McpSession.ts"

/** How many documents of one Computer are listed, and how many one request brings. */
const documentPaging = { maxCount: 1000, pageSize: 100 }

/** What every window of an office shows, by the window's URI there. */
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
  description: "A window of a Computer: what it shows right now",
  mimeType: "text/plain"
})

const toDocumentResource = (uri: string, { pageCount, summary, title }: DocumentSummary): JsonObject => ({
  uri,
  name: title,
  title,
  ...(summary !== undefined && { description: summary }),
  _meta: { page_count: pageCount }
})

/** Every document of a Computer, as far as its catalogue can be read. */
const documentsOf = Effect.fnUntraced(function* (agent: Agent["Service"], computer: string) {
  const found: Array<DocumentSummary> = []
  while (found.length < documentPaging.maxCount) {
    const page = yield* agent.findDocuments(computer, {
      offset: found.length,
      limit: documentPaging.pageSize
    })
    found.push(...page.documents)
    if (page.documents.length === 0 || found.length >= page.totalCount) break
  }
  return found
})

/** The windows and documents of all Computers, as MCP lists resources. */
export const listOfficeResources = Effect.gen(function* () {
  const agent = yield* Agent
  const view = yield* agent.view
  const lists = yield* Effect.forEach(
    view.computers.keys(),
    (computer) =>
      documentsOf(agent, computer).pipe(
        Effect.catch(({ message }) =>
          Effect.as(Effect.logDebug("documents not listed", { computer, reason: message }), [])
        ),
        Effect.map((summaries) =>
          summaries.flatMap((summary) => {
            const uri = toOfficeUri({ computer, uri: summary.uri })
            return uri === undefined ? [] : [toDocumentResource(uri, summary)]
          })
        )
      ),
    { concurrency: "unbounded" }
  )
  return [...[...windowsOf(view).keys()].map(toWindowResource), ...lists.flat()]
})

const notFound = (uri: string) =>
  new McpSessionError({
    reason: "protocol",
    code: -32002,
    message: `There is no resource ${uri} in this office`
  })

/** Media types whose documents are text. */
const isTextType = (mimeType: string | undefined): boolean =>
  /^text\/|[/+](json|xml|yaml|toml)\b|javascript/i.test(mimeType ?? "")

/** A document as MCP has contents: text where it is text, else its bytes in base64. */
const toContents = (uri: string, { bytes, mimeType }: FetchedDocument): JsonObject => {
  const blob = Base64.encode(bytes)
  const text = isTextType(mimeType)
    ? Result.getOrElse(Base64.decodeString(blob), () => "\u{fffd}")
    : "\u{fffd}"
  // What is no UTF-8 has lost something as text.
  return {
    uri,
    ...(mimeType !== undefined && { mimeType }),
    ...(text.includes("\u{fffd}") ? { blob } : { text })
  }
}

/** What a window shows right now, or the contents of a document. */
export const readOfficeResource = Effect.fnUntraced(function* (
  uri: string
): Effect.fn.Return<ReadonlyArray<JsonObject>, McpSessionError, Agent> {
  const agent = yield* Agent
  const { computers } = yield* agent.view
  const target = parseOfficeUri(uri, computers.keys())
  if (target === undefined) return yield* notFound(uri)
  const unavailable = ({ message }: { readonly message: string }) =>
    new McpSessionError({ reason: "unavailable", message })
  if (target.uri.startsWith("window:")) {
    const windows = yield* Effect.mapError(
      agent.getDesktop(target.computer, { window: target.uri }),
      unavailable
    )
    const [entry] = windows
    return entry === undefined
      ? yield* notFound(uri)
      : [{ uri, mimeType: "text/plain", text: parseRenderedWindow(entry).text }]
  }
  const document = yield* Effect.mapError(agent.fetchDocument(target.computer, target.uri), unavailable)
  return [toContents(uri, document)]
})
