import { Deferred, Effect, Result, type Scope, type Semaphore, Stream } from "effect"
import type { ServerConfig } from "../../../../domain/config/computerConfig.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import type { ServerCatalogue } from "../../../../domain/tools/ServerCatalogue.ts"
import type { McpConnector } from "../../../ports/McpSession.ts"
import type { Inputs } from "../../inputs/Inputs.ts"
import type { Catalogues } from "../Catalogues.ts"
import { type LazySession, makeLazySession } from "./LazySession.ts"
import { runSession } from "../runSession.ts"
import type { ServerFailure } from "../ServersSnapshot.ts"
import {
  endpointOf,
  failureOf,
  internalEnd,
  makeEnd,
  runSupervisedSession,
  serverConfigOf,
  type SessionEnd,
  type SupervisedServer,
  updateState
} from "../supervisedSession.ts"

/** What lazy servers of a Computer share. */
export interface LazyServers {
  readonly catalogues: Catalogues
  /** Bounds the servers that start at a time to be listed. */
  readonly listing: Semaphore.Semaphore
}

/** Starts a server to list it, and stops it. */
const listOnce = Effect.fnUntraced(function* (
  supervised: SupervisedServer,
  server: ServerConfig,
  { listing }: LazyServers
): Effect.fn.Return<ServerCatalogue, SessionEnd, McpConnector | Inputs> {
  const endpoint = yield* endpointOf(supervised, server)
  const listed = yield* Deferred.make<ServerCatalogue>()
  const session = runSession(server.name, endpoint, supervised.secrets, {
    onReady: ({ info }, listings) => Effect.asVoid(Deferred.succeed(listed, { info, ...listings })),
    onListingsChanged: () => Effect.void,
    onHealthChange: () => Effect.void,
    onPartChanged: () => Effect.void,
    watchedUris: Stream.empty
  })
  return yield* Effect.raceFirst(Deferred.await(listed), Effect.flatMap(session, Effect.fail)).pipe(
    Effect.mapError((error) => makeEnd(error)),
    Effect.scoped,
    (session) => listing.withPermit(session)
  )
})

/** Runs the server from a request until it is idle or lost. */
const runOnRequest = Effect.fnUntraced(function* (
  supervised: SupervisedServer,
  server: ServerConfig,
  lazy: LazySession,
  { catalogues }: LazyServers
): Effect.fn.Return<never, never, McpConnector | Inputs> {
  const { name } = supervised
  const showIdle = (failure?: ServerFailure) =>
    updateState(supervised, () => {
      const { info: _, ...listings } = lazy.catalogue()
      return {
        _tag: "Idle",
        config: serverConfigOf(supervised.setup(), name) ?? server,
        session: lazy.session(),
        ...listings,
        lazyControl: { open: lazy.open, live: undefined },
        ...definedOnly({ failure })
      }
    })
  const onEnd = Effect.fnUntraced(function* (end: SessionEnd) {
    if (end.isIdle) {
      yield* showIdle()
      return yield* Effect.logInfo("MCP server stopped", { server: name, reason: "idle" })
    }
    const failure = failureOf(end)
    if (end.readySince === undefined) yield* lazy.onStartFailed(end.error)
    else lazy.onLost()
    yield* showIdle(failure)
    yield* Effect.logWarning("MCP server exited, starts on request", { server: name, reason: failure.reason })
  })

  const save = Effect.suspend(() => catalogues.save(server, lazy.catalogue()))

  yield* showIdle()
  while (true) {
    yield* lazy.requested
    // The state changes before the session closes, as for other servers.
    yield* runSupervisedSession(supervised, server, { session: lazy, save }).pipe(
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("MCP server supervision failed", { server: name }, defect), internalEnd)
      ),
      Effect.flatMap(onEnd),
      Effect.ensuring(save),
      Effect.scoped,
      Effect.catchDefect((defect) => Effect.logError("MCP server close failed", { server: name }, defect))
    )
  }
})

/**
 * Runs a lazy server as often as requests need it. Its catalogue is the stored one, or else that of a first start, which
 * ends once the server is listed. Completes only when this start fails.
 */
export const runLazily = Effect.fnUntraced(function* (
  supervised: SupervisedServer,
  server: ServerConfig,
  lazyServers: LazyServers
): Effect.fn.Return<SessionEnd, never, Scope.Scope | McpConnector | Inputs> {
  const { catalogues } = lazyServers
  const stored = yield* catalogues.load(server)
  const found =
    stored === undefined ? yield* Effect.result(listOnce(supervised, server, lazyServers)) : Result.succeed(stored)
  if (Result.isFailure(found)) return found.failure
  if (stored === undefined) yield* catalogues.save(server, found.success)
  const lazy = makeLazySession(server.name, found.success)
  yield* Effect.addFinalizer(() => Effect.sync(lazy.close))
  return yield* runOnRequest(supervised, server, lazy, lazyServers)
})
