import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../json.ts"
import { orderServers } from "./orderServers.ts"
import { parseWindowUri } from "./WindowUri.ts"

/** A listed window with its contents. */
export interface WindowResource {
  /** Name of the MCP server. */
  readonly server: string
  /** The URI as listed, with its query. */
  readonly uri: string
  /** The listed resource: its `annotations` and `_meta` are the defaults for parameters of the URI. */
  readonly resource?: JsonObject
  /** The contents from `resources/read`. */
  readonly contents: ReadonlyArray<JsonObject>
}

/** The reason why a window or a part of it is not shown. */
export interface DesktopWarning {
  readonly server: string
  readonly uri: string
  readonly reason: string
}

/** The rendered windows for the Agent, and the omitted ones. */
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

/** Renders a window: its URI, an empty line, and its texts (seed 001). */
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
  if (blobs === contents.length) return { reasons: ["all contents are binary"] }
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
      ...(blobs > 0 ? ["binary contents are omitted"] : []),
      ...(priority === null && warning !== undefined ? [warning] : [])
    ]
  }
}

/** The windows of one server: the first full-screen one alone, or all by descending priority. */
const arrangeWindows = (windows: ReadonlyArray<WindowCandidate>): ReadonlyArray<WindowCandidate> => {
  const fullscreen = windows.find((window) => window.fullscreen)
  return fullscreen !== undefined
    ? [fullscreen]
    : windows.toSorted((one, other) => other.priority - one.priority)
}

/**
 * Arranges the windows of all MCP servers as a desktop (seed 001, `organize_desktop`):
 *
 * - omits windows without contents, with an invalid URI, or with binary contents only
 * - orders servers by {@link orderServers}; `history` holds server names, oldest first
 * - orders the windows of a server by descending priority, ties as listed; the first full-screen window is shown alone
 * - limits the desktop to `size` windows; zero or less gives none, `undefined` all
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

/** Splits a rendered window into its URI and its text. The inverse of `renderWindow`. */
export const parseRenderedWindow = (entry: string): { readonly uri: string; readonly text: string } => {
  const end = entry.indexOf("\n")
  return end < 0
    ? { uri: entry, text: "" }
    : { uri: entry.slice(0, end).trimEnd(), text: entry.slice(end + 1).replace(/^\r?\n/, "") }
}
