import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../json.ts"
import { orderServers } from "./orderServers.ts"
import { parseWindowUri } from "./WindowUri.ts"

/** A window as an MCP server lists it, with what reading it gave. */
export interface WindowResource {
  /** Name of the MCP server. */
  readonly server: string
  /** Exactly as listed, query included. */
  readonly uri: string
  /** The whole listed resource: its `annotations` and `_meta` speak where the URI is silent. */
  readonly resource?: JsonObject
  /** The contents that `resources/read` gave. */
  readonly contents: ReadonlyArray<JsonObject>
}

/** Why a window, or a part of it, is not shown. */
export interface DesktopWarning {
  readonly server: string
  readonly uri: string
  readonly reason: string
}

/** What an Agent gets to see, and what was left out of it. */
export interface Desktop {
  readonly entries: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<DesktopWarning>
}

interface WindowCandidate {
  readonly server: string
  readonly priority: number
  readonly fullscreen: boolean
  readonly entry: string
}

const isTextContent = (content: JsonObject): content is JsonObject & { readonly text: string } =>
  typeof content["text"] === "string"

/** One window as text: its URI, and below it everything its contents say (seed 001). */
const renderWindow = (uri: string, contents: ReadonlyArray<JsonObject>): string => {
  const body = contents
    .filter(isTextContent)
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n")
    .trim()
  return body === "" ? uri : `${uri}\n\n${body}`
}

const annotatedPriority = (
  resource: JsonObject
): { readonly priority: number; readonly warning?: string } => {
  const annotations = resource["annotations"]
  const given = isJsonObject(annotations) ? annotations["priority"] : undefined
  if (given === undefined || given === null) return { priority: 0 }
  return typeof given === "number" && given >= 0 && given <= 1
    ? { priority: given * 100 }
    : { priority: 0, warning: "annotations.priority is outside 0…1 and counts as 0" }
}

const annotatedFullscreen = (resource: JsonObject): boolean => {
  const meta = resource["_meta"]
  return isJsonObject(meta) && meta["fullscreen"] === true
}

const evaluateWindow = (
  window: WindowResource
): { readonly candidate?: WindowCandidate; readonly reasons: ReadonlyArray<string> } => {
  const { contents, resource = {}, server, uri } = window
  const parsed = parseWindowUri(uri)
  if (Result.isFailure(parsed)) return { reasons: [parsed.failure.reason] }
  if (contents.length === 0) return { reasons: ["no contents"] }
  const blobs = contents.filter((content) => !isTextContent(content)).length
  if (blobs === contents.length) return { reasons: ["binary contents cannot be shown"] }
  const { priority: fallback, warning } = annotatedPriority(resource)
  const { fullscreen, priority } = parsed.success
  return {
    candidate: {
      server,
      priority: priority ?? fallback,
      fullscreen: fullscreen ?? annotatedFullscreen(resource),
      entry: renderWindow(uri, contents)
    },
    reasons: [
      ...(blobs > 0 ? ["a binary part of it cannot be shown"] : []),
      ...(priority === null && warning !== undefined ? [warning] : [])
    ]
  }
}

/** The windows one server contributes: its first full-screen one alone, or all by falling priority. */
const arrangeWindows = (windows: ReadonlyArray<WindowCandidate>): ReadonlyArray<WindowCandidate> => {
  const fullscreen = windows.find((window) => window.fullscreen)
  return fullscreen !== undefined
    ? [fullscreen]
    : windows.toSorted((one, other) => other.priority - one.priority)
}

/**
 * Turns the windows of all MCP servers into the desktop (seed 001, `organize_desktop`).
 *
 * - windows without contents, with an invalid URI or with nothing but binary are left out
 * - servers: the most recently used first, the others by name; `history` holds server names, oldest first
 * - within a server: priority falling, ties as listed; a full-screen window shows alone, the first listed wins
 * - `size` caps the whole; zero or less gives nothing, `undefined` everything
 */
export const organizeDesktop = (
  windows: ReadonlyArray<WindowResource>,
  size: number | undefined,
  history: ReadonlyArray<string>
): Desktop => {
  if (size !== undefined && size <= 0) return { entries: [], warnings: [] }
  const byServer = new Map<string, Array<WindowCandidate>>()
  const warnings: Array<DesktopWarning> = []
  for (const window of windows) {
    const { candidate, reasons } = evaluateWindow(window)
    warnings.push(...reasons.map((reason) => ({ server: window.server, uri: window.uri, reason })))
    if (candidate === undefined) continue
    const siblings = byServer.get(window.server)
    if (siblings === undefined) byServer.set(window.server, [candidate])
    else siblings.push(candidate)
  }
  const entries = orderServers(byServer.keys(), history)
    .flatMap((server) => arrangeWindows(byServer.get(server) ?? []))
    .map(({ entry }) => entry)
  return { entries: size === undefined ? entries : entries.slice(0, size), warnings }
}

/** What a desktop says of a window: its URI on the first line, below it, after an empty line, what it shows. */
export const parseRenderedWindow = (entry: string): { readonly uri: string; readonly text: string } => {
  const end = entry.indexOf("\n")
  return end < 0
    ? { uri: entry, text: "" }
    : { uri: entry.slice(0, end).trimEnd(), text: entry.slice(end + 1).replace(/^\r?\n/, "") }
}
