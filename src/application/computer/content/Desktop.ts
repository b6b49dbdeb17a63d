import { Duration, Effect } from "effect"
import { organizeDesktop, type WindowResource } from "../../../domain/desktop/organizeDesktop.ts"
import { isWindowUri, hasWindowScheme } from "../../../domain/desktop/WindowUri.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { startCountdown } from "../../shared/startCountdown.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { type RunningMcpServer, uriOf } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

export interface DesktopRequest {
  /** Maximum number of entries. */
  readonly size?: number
  /** Only the window with exactly this URI. */
  readonly window?: string
}

/** Makes the desktop of a Computer; `history` names the servers of recent calls, oldest first. */
export const makeDesktop = Effect.fnUntraced(function* (
  servers: ServerSupervisor,
  history: () => ReadonlyArray<string>
) {
  const { readTimeout } = yield* ComputerSettings

  const skipWindow = (server: string, uri: string, reason: string) =>
    Effect.as(Effect.logWarning("window skipped", { server, uri, reason }), [])

  const readWindow = Effect.fnUntraced(function* (
    resource: JsonObject,
    { config: { name: server }, session }: RunningMcpServer,
    remaining: Effect.Effect<Duration.Duration>
  ): Effect.fn.Return<ReadonlyArray<WindowResource>> {
    const uri = uriOf(resource)
    if (!isWindowUri(uri)) return yield* skipWindow(server, uri, "its URI is invalid")
    return yield* session.readResource(uri).pipe(
      Effect.map((contents) => [{ server, uri, resource, contents }]),
      Effect.catch(({ message }) => skipWindow(server, uri, message)),
      Effect.timeoutOrElse({
        duration: yield* remaining,
        orElse: () => skipWindow(server, uri, `not read within ${Duration.toSeconds(readTimeout)} seconds`)
      })
    )
  })

  /** Reads and renders the desktop (seed 001, spec §9.5). Windows that time out are skipped. */
  const show = Effect.fn("Desktop.show")(function* ({ size, window }: DesktopRequest) {
    if (size !== undefined && size <= 0) return []
    const remaining = yield* startCountdown(readTimeout)
    const isShown = (uri: string) => (window === undefined ? hasWindowScheme(uri) : uri === window)
    const windows = yield* servers.readShown(
      "windows",
      (resource, server) => readWindow(resource, server, remaining),
      (resources) => {
        const byUri = new Map(resources.map((resource) => [uriOf(resource), resource]))
        return [...byUri.values()].filter((resource) => isShown(uriOf(resource)))
      }
    )
    const { entries, warnings } = organizeDesktop(windows, size, history())
    for (const warning of warnings) yield* Effect.logWarning("window truncated", { ...warning })
    return entries
  })

  return { show }
})

export type Desktop = Effect.Success<ReturnType<typeof makeDesktop>>
