import { Array, Duration, Effect, Hash, Result } from "effect"
import { type DesktopWarning, organizeDesktop, type WindowResource } from "../../../domain/desktop/organizeDesktop.ts"
import { hasWindowScheme, parseWindowUri } from "../../../domain/desktop/WindowUri.ts"
import { isSameUri } from "../../../domain/uri.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import { startCountdown } from "../../shared/startCountdown.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { backgroundSessionOf, type OfferedServer, uriOf } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

export interface DesktopQuery {
  /** Maximum number of entries. */
  readonly size?: number
  /** Only the window with exactly this URI. */
  readonly window?: string
}

/** Windows whose reasons are remembered. Further ones are not logged: each desktop would log them again. */
const maxRemembered = 1000

/** In UTF-16 units. Windows that differ only beyond it count as one. */
const maxRememberedUri = 1024

const keyOf = ({ server, uri }: DesktopWarning): string => JSON.stringify([server, uri.slice(0, maxRememberedUri)])

const logWarning = ({ outcome, reason, server, uri }: DesktopWarning): Effect.Effect<void> => {
  const fields = { server, uri, reason }
  if (outcome === "shown") return Effect.logWarning("window truncated", fields)
  return outcome === "hidden" ? Effect.logInfo("window left out", fields) : Effect.logWarning("window left out", fields)
}

/** Makes a function that logs the warnings of a desktop, each window once per change of its reasons. */
const makeWindowReports = () => {
  /** Hashes of the reasons of each window. */
  const remembered = new Map<string, number>()

  /** Reports the warnings of all windows, or those of the only one that was requested. */
  return Effect.fnUntraced(function* (warnings: ReadonlyArray<DesktopWarning>, requested: string | undefined) {
    const byWindow = Map.groupBy(warnings, keyOf)
    if (requested === undefined) {
      for (const key of remembered.keys()) if (!byWindow.has(key)) remembered.delete(key)
    }
    const changed = [...byWindow].flatMap(([key, reasons]) => {
      const hash = Hash.string(JSON.stringify(reasons.map(({ reason }) => reason)))
      if (remembered.get(key) === hash || (!remembered.has(key) && remembered.size >= maxRemembered)) return []
      remembered.set(key, hash)
      return reasons
    })
    yield* Effect.forEach(changed, logWarning, { discard: true })
  })
}

/** The windows of servers that are not shown, as last listed. */
const unshownWindows = (servers: ServerSupervisor, isRequested: (uri: string) => boolean) => {
  const { running, shown } = servers.snapshot()
  const unshown = running.filter((server) => !server.session.info.capabilities.subscribe && !shown.includes(server))
  return unshown.flatMap(({ config, resources }) => {
    const fault = { server: servers.identify(config.name), reason: "the server lacks resources.subscribe" }
    const uris = resources.map(uriOf).filter(isRequested)
    return uris.map((uri) => ({ ...fault, uri, outcome: "left_out" as const }))
  })
}

/** Makes the desktop of a Computer; `history` names the servers of recent calls, oldest first. */
export const makeDesktop = Effect.fnUntraced(function* (
  servers: ServerSupervisor,
  history: () => ReadonlyArray<string>
) {
  const { readTimeout } = yield* ComputerSettings
  const report = makeWindowReports()

  const readWindow = Effect.fnUntraced(function* (
    resource: JsonObject,
    { config }: OfferedServer,
    session: McpSession | undefined,
    remaining: Effect.Effect<Duration.Duration>
  ): Effect.fn.Return<WindowResource, DesktopWarning> {
    const [server, uri] = [servers.identify(config.name), uriOf(resource)]
    const leftOut = (reason: string, outcome: DesktopWarning["outcome"] = "left_out") =>
      Effect.fail({ server, uri, reason, outcome })
    const parsed = parseWindowUri(uri)
    if (Result.isFailure(parsed)) return yield* leftOut(parsed.failure.reason)
    if (session === undefined) return yield* leftOut("the lazy server is idle", "hidden")
    const contents = yield* Effect.catch(session.readResource(uri), ({ message }) => leftOut(message)).pipe(
      Effect.timeoutOrElse({
        duration: yield* remaining,
        orElse: () => leftOut(`not read within ${Duration.toSeconds(readTimeout)} seconds`)
      })
    )
    return { server, uri, resource, contents }
  })

  /**
   * Reads and renders the desktop (seed 001, spec §9.5). Windows that cannot be read in time are left out. Windows
   * beyond `size` are not reported: the request excludes them. A request for one window starts its lazy server.
   */
  const show = Effect.fn("Desktop.show")(function* ({ size, window }: DesktopQuery) {
    if (size !== undefined && size <= 0) return []
    const remaining = yield* startCountdown(readTimeout)
    const isRequested = (uri: string) => (window === undefined ? hasWindowScheme(uri) : isSameUri(uri, window))
    const read = yield* servers.readShown(
      "windows",
      (resource, server) => {
        // The whole desktop is read again and again: this must not keep lazy servers running.
        const session = window === undefined ? backgroundSessionOf(server) : server.session
        return Effect.map(Effect.result(readWindow(resource, server, session, remaining)), Array.of)
      },
      (resources) => {
        const byUri = new Map(resources.map((resource) => [uriOf(resource), resource]))
        return [...byUri.values()].filter((resource) => isRequested(uriOf(resource)))
      }
    )
    const [windows, unread] = Array.separate(read)
    const { entries, warnings } = organizeDesktop(windows, size, history())
    yield* report([...unread, ...warnings, ...unshownWindows(servers, isRequested)], window)
    return entries
  })

  return { show }
})
