import { Effect } from "effect"
import { Base64 } from "effect/encoding"
import { definedOnly } from "../../domain/objects.ts"
import { parseOfficeUri, parseSkillUri, toOfficeUri, toSkillUri } from "../../domain/office/officeUris.ts"
import { parseRenderedWindow } from "../../domain/desktop/organizeDesktop.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { DocumentSummary } from "../../domain/model/messages/requests.ts"
import type { Agent } from "../agent/Agent.ts"
import type { FetchedDocument } from "../agent/AgentQueries.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { decodeUtf8Lossy } from "../../domain/utf8.ts"
import { McpSessionError } from "../ports/McpSession.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

/** The maximum number of listed documents per Computer, and the page size of the requests. */
const maxDocuments = 1000
const pageSize = 100

const listTimeout = "10 seconds"

type Listing = Effect.Effect<ReadonlyArray<JsonObject>, { readonly message: string }>

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

/** The kinds of resources that are listed for each request. */
const listings: { readonly [kind: string]: (agent: Agent["Service"], computer: ComputerName) => Listing } = {
  documents: Effect.fnUntraced(function* (agent, computer) {
    const found: Array<DocumentSummary> = []
    while (found.length < maxDocuments) {
      const page = yield* agent.findDocuments(computer, { offset: found.length, limit: pageSize })
      found.push(...page.documents)
      if (page.documents.length === 0 || found.length >= page.totalCount) break
    }
    return found.flatMap(({ pageCount, summary: description, title, uri: own }) => {
      const uri = toOfficeUri({ computer, uri: own })
      const listed = { uri, name: title, title, ...definedOnly({ description }), _meta: { page_count: pageCount } }
      return uri === undefined ? [] : [listed]
    })
  }),
  skills: (agent, computer) =>
    Effect.map(agent.skills(computer), (skills) =>
      skills.map(({ description, license, name, version }) => ({
        uri: toSkillUri({ computer, skill: name }),
        name,
        description,
        mimeType: "text/markdown",
        _meta: definedOnly({ license, version })
      }))
    )
}

/** Lists the windows, documents and skills of all Computers as MCP resources. */
export const listOfficeResources = Effect.fnUntraced(function* (agent: Agent["Service"]) {
  const view = yield* agent.view
  const requests = [...view.computers.keys()].flatMap((computer) =>
    Object.entries(listings).map(([kind, list]) =>
      list(agent, computer).pipe(
        // A Computer of another implementation does not reply to requests that it does not know.
        Effect.timeoutOrElse({ duration: listTimeout, orElse: () => Effect.fail({ message: "timed out" }) }),
        Effect.catch(({ message: reason }) =>
          Effect.as(Effect.logDebug("listing for the office failed", { kind, computer, reason }), [])
        )
      )
    )
  )
  const lists = yield* Effect.all(requests, { concurrency: "unbounded" })
  return [...[...windowsOf(view).keys()].map(toWindowResource), ...lists.flat()]
})

const notFound = (uri: string) =>
  new McpSessionError({ reason: "protocol", code: -32002, message: `There is no resource ${uri} in this office` })

const textType = /^text\/|[/+](json|xml|yaml|toml)\b|javascript/i

/** Converts a document to MCP contents: text for text types in valid UTF-8, base64 for the rest. */
const toContents = (uri: string, { bytes, mimeType }: Pick<FetchedDocument, "bytes" | "mimeType">): JsonObject => {
  const text = textType.test(mimeType ?? "") ? decodeUtf8Lossy(bytes) : "\u{fffd}"
  const body = text.includes("\u{fffd}") ? { blob: Base64.encode(bytes) } : { text }
  return { uri, ...definedOnly({ mimeType }), ...body }
}

/** Reads the current content of a window, fetches a document, or reads a file of a skill. */
export const readOfficeResource = Effect.fnUntraced(function* (agent: Agent["Service"], uri: string) {
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
