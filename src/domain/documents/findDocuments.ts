import { Option, Order, Result } from "effect"
import { definedOnly } from "../objects.ts"
import { asObject, asString, asStrings, type JsonObject, parseJsonObject } from "../json.ts"
import { groupByServer } from "../desktop/organizeDesktop.ts"
import { type DocumentSummary, finderPageSizes } from "../model/messages/requests.ts"
import { type DpeUri, parseDpeUri } from "./DpeUri.ts"

/** A query of an Agent; an empty list of keywords does not filter (spec §11.4). */
export interface FinderQuery {
  readonly keywords?: ReadonlyArray<string>
  readonly fileType?: string
  readonly offset: number
  readonly limit: number
}

/** One page of the catalogue; `totalCount` counts all matches. */
export interface FinderPage {
  readonly documents: ReadonlyArray<DocumentSummary>
  readonly totalCount: number
}

/** Gives `undefined` for another scheme, an invalid URI, and a part of a document (spec §11.5, case 312). */
export const parseDocumentUri = (uri: string): DpeUri | undefined => {
  const parsed = Result.getOrUndefined(parseDpeUri(uri))
  if (parsed === undefined) return undefined
  const [kind, id] = parsed.path.slice(-2)
  const isPart =
    parsed.path.length > 2 && ((kind === "pages" && /^\d+$/.test(String(id))) || (kind === "elements" && id !== ""))
  return isPart ? undefined : parsed
}

const asPageCount = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1 ? value : undefined

/** The page count of a listed resource; without one the body must be read (spec §11.3). */
export const listedPageCount = (resource: JsonObject): number | undefined =>
  asPageCount(asObject(resource["_meta"])["page_count"])

/** Summarizes a listed document; the body supplies missing fields. `undefined` without a page count (spec §11.3). */
export const summarizeDocument = (
  server: string,
  { docRef, uri }: DpeUri,
  resource: JsonObject,
  body: JsonObject = {}
): DocumentSummary | undefined => {
  const meta = asObject(resource["_meta"])
  const pageCount = listedPageCount(resource) ?? asPageCount(body["page_count"])
  if (pageCount === undefined) return undefined
  return definedOnly({
    docRef,
    uri,
    fileUri: asString(meta["file_uri"]) ?? asString(body["file_uri"]) ?? "",
    fileType: asString(meta["file_type"]) ?? asString(body["file_type"]) ?? "",
    title: asString(resource["name"]) ?? asString(body["title"]) ?? docRef,
    pageCount,
    keywords: asStrings(meta["keywords"]) ?? asStrings(body["keywords"]),
    summary: asString(resource["description"]) ?? asString(body["summary"]),
    server,
    lastModified: asString(asObject(resource["annotations"])["lastModified"]) ?? asString(body["last_modified"])
  })
}

const isFound = (document: DocumentSummary, { fileType, keywords = [] }: FinderQuery): boolean => {
  if (fileType !== undefined && document.fileType !== fileType) return false
  const texts = [document.title, ...(document.keywords ?? []), document.summary ?? ""].map((text) => text.toLowerCase())
  return keywords.length === 0 || keywords.some((keyword) => texts.some((text) => text.includes(keyword.toLowerCase())))
}

const modifiedAt = ({ lastModified }: DocumentSummary): number => {
  const instant = Date.parse(lastModified ?? "")
  return Number.isNaN(instant) ? Number.NEGATIVE_INFINITY : instant
}

const newestFirst = Order.flip(Order.mapInput(Order.Number, modifiedAt))

/**
 * Finds one page of the catalogue of all servers (spec §11.4, cases 313–327). Servers are in the desktop's order; the
 * documents of a server are newest first, ties as listed. `history` holds server names, oldest first.
 */
export const findDocuments = (
  documents: ReadonlyArray<DocumentSummary>,
  query: FinderQuery,
  history: ReadonlyArray<string>
): FinderPage => {
  const found = documents.filter((document) => isFound(document, query))
  const ordered = groupByServer(found, history).flatMap((ofServer) => ofServer.toSorted(newestFirst))
  const limit = Math.min(query.limit, finderPageSizes.max)
  return { documents: ordered.slice(query.offset, query.offset + limit), totalCount: found.length }
}

/** The JSON object in the text of a document resource, if there is one. */
export const parseDocumentBody = (contents: ReadonlyArray<JsonObject>): Option.Option<JsonObject> =>
  Option.firstSomeOf(contents.map(({ text }) => Option.fromUndefinedOr(parseJsonObject(text))))
