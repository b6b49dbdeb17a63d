import { Clock, Duration, Effect } from "effect"
import { organizeDesktop, type WindowResource } from "../../../domain/desktop/organizeDesktop.ts"
import { isWindowUri, hasWindowScheme } from "../../../domain/desktop/WindowUri.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { RunningMcpServer } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

/** Which part of the desktop is wanted. */
export interface DesktopRequest {
  /** At most so many entries. */
  readonly size?: number
  /** Only the window of this exact URI. */
  readonly window?: string
}

/** Shows what the windows of all MCP servers say. */
export interface Desktop {
  /** The desktop (seed 001, spec §9.5). Windows that are not there in time are left out. */
  readonly show: (request: DesktopRequest) => Effect.Effect<ReadonlyArray<string>>
}

/** How many windows of one server are read at once. */
const maxConcurrentReads = 16

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** A desktop over a pool; `history` names the servers of past calls, oldest first. */
export const makeDesktop = Effect.fnUntraced(function* (
  servers: ServerSupervisor,
  history: () => ReadonlyArray<string>
): Effect.fn.Return<Desktop> {
  const { readTimeout } = yield* ComputerSettings

  const skipWindow = (server: string, uri: string, reason: string) =>
    Effect.as(Effect.logWarning("window left out", { server, uri, reason }), [])

  /** Gives up when `deadline` has come, in milliseconds since 1970. */
  const withDeadline =
    <A, B>(deadline: number, onTimeout: Effect.Effect<B>) =>
    (effect: Effect.Effect<A>): Effect.Effect<A | B> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.timeoutOrElse(effect, {
          duration: Duration.millis(Math.max(0, deadline - now)),
          orElse: () => onTimeout
        })
      )

  const read = (
    server: RunningMcpServer,
    resource: JsonObject,
    deadline: number
  ): Effect.Effect<ReadonlyArray<WindowResource>> => {
    const { name } = server.config
    const uri = textOf(resource["uri"])
    if (!isWindowUri(uri)) return skipWindow(name, uri, "its URI is invalid")
    return server.session.readResource(uri).pipe(
      Effect.map((contents) => [{ server: name, uri, resource, contents }]),
      Effect.catch(({ message }) => skipWindow(name, uri, message)),
      withDeadline(
        deadline,
        skipWindow(name, uri, `not read within ${Duration.toSeconds(readTimeout)} seconds`)
      )
    )
  }

  const windowsOf = Effect.fnUntraced(function* (
    server: RunningMcpServer,
    window: string | undefined,
    deadline: number
  ) {
    const resources = yield* servers.freshResources(server, "windows")
    const byUri = new Map(resources.map((resource) => [textOf(resource["uri"]), resource]))
    const wanted = [...byUri.values()].filter(({ uri }) =>
      window === undefined ? hasWindowScheme(textOf(uri)) : uri === window
    )
    const windows = yield* Effect.forEach(wanted, (resource) => read(server, resource, deadline), {
      concurrency: maxConcurrentReads
    })
    return windows.flat()
  })

  const show = Effect.fn("Desktop.show")(function* ({ size, window }: DesktopRequest) {
    if (size !== undefined && size <= 0) return []
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(readTimeout)
    const windows = yield* Effect.forEach(servers.shown(), (server) => windowsOf(server, window, deadline), {
      concurrency: "unbounded"
    })
    const { entries, warnings } = organizeDesktop(windows.flat(), size, history())
    yield* Effect.forEach(
      warnings,
      (warning) => Effect.logWarning("window not shown in full", { ...warning }),
      { discard: true }
    )
    return entries
  })

  return { show }
})
