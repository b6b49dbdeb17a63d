import { Effect, Semaphore } from "effect"
import { Base64 } from "effect/encoding"
import { definedOnly } from "../../domain/objects.ts"
import { parseOfficeUri, parseSkillUri, toOfficeUri, toServerUri, toSkillUri } from "../../domain/office/officeUris.ts"
import { parseRenderedWindow } from "../../domain/desktop/organizeDesktop.ts"
import { type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import type { DocumentSummary } from "../../domain/model/messages/requests.ts"
import type { Agent } from "../agent/Agent.ts"
import type { FetchedDocument } from "../agent/AgentQueries.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { repairListing } from "../../domain/tools/listings/mcpListings.ts"
import { plainResources } from "../../domain/tools/listings/plainResources.ts"
import { decodeUtf8Lossy } from "../../domain/utf8.ts"
import { protocolFailure, sessionError } from "../ports/McpSession.ts"
import { makeRefresher } from "../shared/Refresher.ts"
import type { ListingReport } from "../shared/listings/serverListings.ts"
import { collectPages } from "../shared/paging.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

/** The maximum number of listed documents per Computer, and the page size of the requests. */
const maxDocuments = 1000
const pageSize = 100

/** The maximum number of listed resources per MCP server. */
const maxServerResources = 1000

/** How long a listing waits for Computers. */
const listTimeout = "3 seconds"

/** Requests of listings in progress, of the 256 that an Agent may have. */
const maxListRequests = 64

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

/** Lists the plain resources of an MCP server, under names and URIs of the office. */
const listServerResources = Effect.fnUntraced(function* (
  agent: Agent["Service"],
  computer: ComputerName,
  server: string,
  report: ListingReport
) {
  const found: Array<JsonObject> = []
  const { incomplete } = yield* collectPages((cursor) =>
    Effect.map(agent.getResources(computer, server, definedOnly({ cursor })), ({ nextCursor, resources: items }) => {
      found.push(...plainResources(items))
      return { items, nextCursor: found.length < maxServerResources ? nextCursor : undefined }
    })
  )
  const listing = repairListing("resources", plainResources(found).slice(0, maxServerResources))
  const items = yield* report("resources", { ...listing, ...definedOnly({ incomplete }) })
  const names = new Set<string>()
  return items.map((item) => {
    const uri = stringOrEmpty(item["uri"])
    const own = stringOrEmpty(item["name"])
    const name = own === "" || names.has(own) ? uri : own
    names.add(name)
    return { ...item, uri: toServerUri({ computer, server, uri }), name: `${computer}/${server}/${name}` }
  })
})

/**
 * Makes the list of the windows, documents, skills and plain resources of all Computers. What a Computer lists late stands
 * in the next list, and `onLate` announces it; until then, and where it does not list again, its last list counts.
 */
export const makeOfficeResources = Effect.fnUntraced(function* (
  agent: Agent["Service"],
  report: ListingReport,
  onLate: Effect.Effect<void>
) {
  const { awaitIdle, refresh } = yield* makeRefresher()
  const permits = yield* Semaphore.make(maxListRequests)
  const known = new Map<string, ReadonlyArray<JsonObject>>()

  return Effect.gen(function* () {
    const view = yield* agent.view
    const sources = new Map<string, Listing>()
    for (const computer of view.computers.keys()) {
      for (const [kind, list] of Object.entries(listings)) sources.set(`${kind} ${computer}`, list(agent, computer))
    }
    for (const [computer, { servers = [] }] of view.computers) {
      const listed = servers.filter(({ resourcesHash }) => resourcesHash !== undefined)
      for (const { id } of listed) sources.set(`${id} of ${computer}`, listServerResources(agent, computer, id, report))
    }
    for (const key of known.keys()) if (!sources.has(key)) known.delete(key)
    let isLate = false
    for (const [key, list] of sources) {
      const update = Effect.gen(function* () {
        const items = yield* permits.withPermit(list)
        const isChanged = JSON.stringify(items) !== JSON.stringify(known.get(key) ?? [])
        known.set(key, items)
        if (isLate && isChanged) yield* onLate
      })
      const logged = ({ message: reason }: Effect.Error<typeof update>) =>
        Effect.logDebug("listing for the office failed", { key, reason })
      yield* refresh(key, Effect.catch(update, logged))
    }
    // A Computer of another implementation does not reply to requests that it does not know.
    yield* Effect.timeoutOption(awaitIdle, listTimeout)
    isLate = true
    return [
      ...[...windowsOf(view).keys()].map(toWindowResource),
      ...[...sources.keys()].flatMap((key) => known.get(key) ?? [])
    ]
  })
})

const notFound = (uri: string) => protocolFailure(-32002, `There is no resource ${uri} in this office`)

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
  const unavailable = ({ message }: { readonly message: string }) => sessionError("unavailable", message)
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
