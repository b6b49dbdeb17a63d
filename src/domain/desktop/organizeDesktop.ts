import { Result } from "effect"
import { asObject, type JsonObject, stringOrEmpty } from "../json.ts"
import { parseWindowUri } from "./WindowUri.ts"
import { byCodePoints } from "../utf8.ts"

/**
 * Groups items by their server and orders the groups for the Agent: the most recently used server first, then the
 * others by name (seed 001, step 2). `history` names the server of each call, oldest first.
 */
export const groupByServer = <A extends { readonly server: string }>(
  items: ReadonlyArray<A>,
  history: ReadonlyArray<string>
): ReadonlyArray<ReadonlyArray<A>> => {
  const groups = Map.groupBy(items, ({ server }) => server)
  const order = new Set([...history.toReversed(), ...[...groups.keys()].sort(byCodePoints)])
  return [...order].map((server) => groups.get(server)).filter((group) => group !== undefined)
}

/** A listed window with its contents. */
export interface WindowResource {
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
  /** `left_out`: a fault. `hidden`: by a full-screen window. `shown`: the window is on the desktop, without a part. */
  readonly outcome: "left_out" | "hidden" | "shown"
}

/** The rendered windows for the Agent, and what is not shown of them. */
export interface Desktop {
  readonly entries: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<DesktopWarning>
}

/** Renders a window: its URI, an empty line, and its texts (seed 001). */
const renderWindow = (uri: string, contents: ReadonlyArray<JsonObject>): string => {
  const texts = contents.map(({ text }) => stringOrEmpty(text)).filter((text) => text !== "")
  const body = texts.join("\n\n").trim()
  return body === "" ? uri : `${uri}\n\n${body}`
}

/** Evaluates a window: what is not shown of it, and the window unless it is left out. */
const evaluateWindow = ({ contents, resource = {}, server, uri }: WindowResource) => {
  const warn = (outcome: DesktopWarning["outcome"], ...reasons: ReadonlyArray<string>) =>
    reasons.map((reason): DesktopWarning => ({ server, uri, reason, outcome }))
  const parsed = parseWindowUri(uri)
  if (Result.isFailure(parsed)) return { shown: [], warnings: warn("left_out", parsed.failure.reason) }
  if (contents.length === 0) return { shown: [], warnings: warn("left_out", "no contents") }
  const blobs = contents.filter(({ text }) => typeof text !== "string").length
  if (blobs === contents.length) return { shown: [], warnings: warn("left_out", "all contents are binary") }
  const annotated = asObject(resource["annotations"])["priority"] ?? 0
  const isValid = typeof annotated === "number" && annotated >= 0 && annotated <= 1
  const { fullscreen, priority } = parsed.success
  const window = {
    server,
    uri,
    priority: priority ?? (isValid ? annotated * 100 : 0),
    fullscreen: fullscreen ?? asObject(resource["_meta"])["fullscreen"] === true,
    entry: renderWindow(uri, contents)
  }
  const warnings = warn(
    "shown",
    ...(blobs > 0 ? ["binary contents are omitted"] : []),
    ...(priority === null && !isValid ? ["annotations.priority is outside 0…1 and counts as 0"] : [])
  )
  return { shown: [window], warnings }
}

const arrangeWindows = (windows: ReadonlyArray<ReturnType<typeof evaluateWindow>["shown"][number]>) => {
  const fullscreen = windows.find((window) => window.fullscreen)
  const arranged = fullscreen ? [fullscreen] : windows.toSorted((one, other) => other.priority - one.priority)
  const reason = `hidden by the full-screen window ${fullscreen?.uri ?? ""}`
  const hidden = windows
    .filter((window) => fullscreen !== undefined && window !== fullscreen)
    .map(({ server, uri }): DesktopWarning => ({ server, uri, reason, outcome: "hidden" }))
  return { arranged, hidden }
}

/**
 * Arranges the windows of all MCP servers as a desktop (seed 001, `organize_desktop`):
 * - omits windows without contents, with an invalid URI, or with binary contents only
 * - orders servers by {@link groupByServer}; `history` holds server names, oldest first
 * - orders the windows of a server by descending priority, ties as listed; the first full-screen window is shown alone
 * - limits the desktop to `size` windows; zero or less gives none, `undefined` all
 */
export const organizeDesktop = (
  windows: ReadonlyArray<WindowResource>,
  size: number | undefined,
  history: ReadonlyArray<string>
): Desktop => {
  if (size !== undefined && size <= 0) return { entries: [], warnings: [] }
  const evaluated = windows.map(evaluateWindow)
  const candidates = evaluated.flatMap(({ shown }) => shown)
  const groups = groupByServer(candidates, history).map(arrangeWindows)
  const arranged = groups.flatMap((group) => group.arranged).slice(0, size)
  return {
    entries: arranged.map(({ entry }) => entry),
    warnings: [...evaluated.flatMap(({ warnings }) => warnings), ...groups.flatMap(({ hidden }) => hidden)]
  }
}

/** Splits a rendered window into its URI and its text. The inverse of `renderWindow`. */
export const parseRenderedWindow = (entry: string): { readonly uri: string; readonly text: string } => {
  const end = entry.indexOf("\n")
  return end < 0
    ? { uri: entry, text: "" }
    : { uri: entry.slice(0, end).replace(/\r$/, ""), text: entry.slice(end + 1).replace(/^\r?\n/, "") }
}
