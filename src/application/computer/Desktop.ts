import { Duration, Effect } from "effect"
import { isWindowUri, looksLikeWindow } from "../../domain/desktop/window.ts"
import { organizeDesktop, type WindowResource } from "../../domain/desktop/organize.ts"
import type { JsonObject } from "../../domain/json.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import { type ReadyServer, takesPart } from "./Offer.ts"
import type { SessionPool } from "./SessionPool.ts"

/** Shows what the windows of all MCP servers say. */
export interface Desktop {
  /** The desktop, at most `size` entries of it, or the one `window` of this exact URI (seed 001, spec §9.5). */
  readonly show: (options: {
    readonly size?: number
    readonly window?: string
  }) => Effect.Effect<ReadonlyArray<string>>
}

/** How many windows are read at once. */
const readers = 16

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** A desktop over a pool; `history` names the servers of past calls, oldest first. */
export const makeDesktop = Effect.fnUntraced(function* (
  pool: SessionPool,
  history: () => ReadonlyArray<string>
): Effect.fn.Return<Desktop> {
  const { readTimeout } = yield* ComputerSettings

  const left = (server: string, uri: string, reason: string) =>
    Effect.as(Effect.logWarning("window left out", { server, uri, reason }), [])

  const read = (server: ReadyServer, resource: JsonObject): Effect.Effect<ReadonlyArray<WindowResource>> => {
    const { name } = server.config
    const uri = textOf(resource["uri"])
    return server.session.readResource(uri).pipe(
      Effect.map((contents) => [{ server: name, uri, resource, contents }]),
      Effect.catch(({ message }) => left(name, uri, message)),
      Effect.timeoutOrElse({
        duration: readTimeout,
        orElse: () => left(name, uri, `not read within ${Duration.toSeconds(readTimeout)} seconds`)
      })
    )
  }

  const readValid = (server: ReadyServer, resource: JsonObject) => {
    const uri = textOf(resource["uri"])
    return isWindowUri(uri) ? read(server, resource) : left(server.config.name, uri, "its URI is invalid")
  }

  const windowsOf = Effect.fnUntraced(function* (server: ReadyServer, window: string | undefined) {
    const resources = yield* Effect.catch(pool.relist(server), ({ message }) =>
      left(server.config.name, "*", message)
    )
    const wanted = resources.filter(({ uri }) =>
      window === undefined ? looksLikeWindow(textOf(uri)) : uri === window
    )
    const windows = yield* Effect.forEach(wanted, (resource) => readValid(server, resource), {
      concurrency: readers
    })
    return windows.flat()
  })

  const show = Effect.fn("Desktop.show")(function* ({
    size,
    window
  }: {
    readonly size?: number
    readonly window?: string
  }) {
    if (size !== undefined && size <= 0) return []
    const windows = yield* Effect.forEach(
      pool.ready().filter(takesPart),
      (server) => windowsOf(server, window),
      { concurrency: "unbounded" }
    )
    const { entries, warnings } = organizeDesktop(windows.flat(), size, history())
    yield* Effect.forEach(
      warnings,
      (warning) => Effect.logWarning("window not shown in full", { ...warning }),
      {
        discard: true
      }
    )
    return entries
  })

  return { show }
})
