import { Clock, Deferred, Effect, Result, type Scope, Stream } from "effect"
import { parseIdle } from "../../../domain/config/lifecycle.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { Setup } from "../../../domain/config/Setup.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type McpConnector, McpSessionError } from "../../ports/McpSession.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Inputs } from "../inputs/Inputs.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import type { LazySession } from "./lazy/LazySession.ts"
import { resolveEndpoint } from "./resolveEndpoint.ts"
import { type Listings, runSession, type SessionCallbacks } from "./runSession.ts"
import { isOffered, type OfferedServer, type ServerFailure, type ServerState, watchedUris } from "./ServersSnapshot.ts"
import type { ServerStateStore } from "./ServerStateStore.ts"

export interface SupervisedServer {
  readonly name: string
  readonly setup: () => Setup
  /** False once another run or a stop has replaced this one, which then must not change the state. */
  readonly isCurrent: () => boolean
  readonly store: ServerStateStore
  readonly secrets: Secrets
}

export const updateState = (
  { isCurrent, name, store }: SupervisedServer,
  transition: (state: ServerState | undefined) => ServerState | undefined
) => store.updateServer(name, (state) => (isCurrent() ? transition(state) : state))

export const serverConfigOf = ({ config: { servers } }: Setup, name: string): ServerConfig | undefined =>
  Object.hasOwn(servers, name) ? servers[name] : undefined

/** How a session ended. */
export interface SessionEnd {
  readonly error: McpSessionError
  /** When the server became ready, in milliseconds since 1970, if it did. */
  readonly readySince: number | undefined
  /** A retry would fail for the same reason. */
  readonly isPermanent: boolean
  /** The server ran, and no request used it for a time. */
  readonly isIdle?: true
}

export const makeEnd = (error: McpSessionError, readySince?: number): SessionEnd => ({
  error,
  readySince,
  isPermanent: error.reason === "unauthorized" || error.reason === "forbidden"
})

/** The end of a server that needs another configuration. */
export const permanentEnd = (message: string): SessionEnd => ({
  error: new McpSessionError({ reason: "unavailable", message }),
  readySince: undefined,
  isPermanent: true
})

export const internalEnd = makeEnd(new McpSessionError({ reason: "unavailable", message: "internal error" }))

const idleEnd: SessionEnd = {
  ...makeEnd(new McpSessionError({ reason: "closed", message: "idle" })),
  isIdle: true
}

export const failureOf = ({ error: { message, output } }: SessionEnd): ServerFailure => ({
  publicReason: message,
  reason: output === undefined ? message : `${message}: ${output}`
})

/** A lazy session, and how to keep its catalogue. */
export interface LazyRun {
  readonly session: LazySession
  readonly save: Effect.Effect<void>
}

const runningState = (
  { config, lazyControl, prompts, resources, session, templates, tools }: OfferedServer,
  degradations: ReadonlyMap<string, string>
): ServerState => {
  const server = { config, session, tools, resources, prompts, templates, ...definedOnly({ lazyControl }) }
  return degradations.size === 0
    ? { _tag: "Ready", ...server }
    : { _tag: "Degraded", reason: [...degradations.values()].join("; "), ...server }
}

export const endpointOf = ({ secrets, setup }: SupervisedServer, server: ServerConfig) =>
  Effect.mapError(resolveEndpoint(server, setup(), secrets), ({ message }) => permanentEnd(message))

/**
 * Runs one session of a server and shows its state, from its configuration to its end. A `lazy` session ends as well when it
 * has been idle for the configured time.
 */
export const runSupervisedSession = Effect.fnUntraced(function* (
  supervised: SupervisedServer,
  server: ServerConfig,
  lazy?: LazyRun
): Effect.fn.Return<SessionEnd, never, Scope.Scope | McpConnector | Inputs> {
  const { name, store, secrets, setup } = supervised
  const settings = yield* ComputerSettings
  const endpoint = yield* Effect.result(endpointOf(supervised, server))
  if (Result.isFailure(endpoint)) return endpoint.failure
  const degradations = new Map<string, string>()
  let readySince: number | undefined
  const ready = yield* Deferred.make<void>()
  const configNow = () => serverConfigOf(setup(), name) ?? server
  const updateListings = (changes: Partial<Listings>) =>
    Effect.suspend(() => {
      lazy?.session.setCatalogue({ ...lazy.session.catalogue(), ...changes })
      return updateState(supervised, (state) =>
        isOffered(state) && state._tag !== "Idle" ? runningState({ ...state, ...changes }, degradations) : state
      )
    })
  const callbacks: SessionCallbacks = {
    onReady: Effect.fnUntraced(function* (session, listings) {
      readySince = yield* Clock.currentTimeMillis
      lazy?.session.setCatalogue({ info: session.info, ...listings })
      yield* updateState(supervised, () => {
        const shown = lazy && {
          session: lazy.session.session(),
          lazyControl: { open: lazy.session.open, live: session }
        }
        return runningState({ config: configNow(), session, ...listings, ...shown }, degradations)
      })
      // The waiting requests find the listings of this start.
      lazy?.session.onStarted(session)
      yield* Deferred.succeed(ready, undefined)
      const { resources, tools } = listings
      yield* Effect.logInfo("MCP server ready", { server: name, tools: tools.length, resources: resources.length })
      yield* lazy?.save ?? Effect.void
    }),
    onListingsChanged: updateListings,
    onHealthChange: Effect.fnUntraced(function* (source, reason) {
      if (degradations.get(source) === reason) return
      if (reason === undefined) {
        degradations.delete(source)
        yield* Effect.logInfo("MCP server recovered", { server: name, source })
      } else {
        degradations.set(source, reason)
        yield* Effect.logWarning("MCP server degraded", { server: name, reason })
      }
      yield* updateListings({})
    }),
    onPartChanged: store.markChanged,
    watchedUris: store.changes.pipe(
      Stream.map((states) => states.get(name)),
      Stream.filter(isOffered),
      Stream.changesWith((one, other) => one.resources === other.resources),
      Stream.map(watchedUris)
    )
  }
  const ended = Effect.map(
    Effect.catch(runSession(name, endpoint.success, secrets, callbacks), Effect.succeed),
    (error) => makeEnd(error, readySince)
  )
  if (lazy === undefined) return yield* ended
  const idleTime = () => parseIdle(configNow().idle ?? "") ?? settings.idle
  const idle = Effect.andThen(Deferred.await(ready), lazy.session.untilIdle(idleTime))
  return yield* Effect.raceFirst(ended, Effect.as(idle, idleEnd))
})
