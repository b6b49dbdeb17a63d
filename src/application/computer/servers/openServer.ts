import { Clock, Duration, Effect, Exit, Option, Scope, type Semaphore, Stream } from "effect"
import { type ServerConfig, parseIdle } from "../../../domain/config/computerConfig.ts"
import { serverConfigOf, type Setup } from "../../../domain/config/Setup.ts"
import type { McpListings, McpServer, RunEvent, SessionFailure } from "../../../domain/mcpServers/McpServer.ts"
import { findIdentityConflict } from "../../../domain/mcpServers/reload.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { ServerCatalogue } from "../../../domain/tools/ServerCatalogue.ts"
import { vrlScript } from "../../../domain/tools/vrl.ts"
import { Endpoints, McpConnector, type McpSession } from "../../ports/McpSession.ts"
import { VrlEngine } from "../../ports/VrlEngine.ts"
import { nextJitter } from "../../shared/backoff.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import type { Catalogues } from "./Catalogues.ts"
import { type LazyRun, makeLazyControl } from "./lazy/LazySession.ts"
import { connectAndList, followSession } from "./runSession.ts"
import { isFirstAttempt, isOffered, type OfferedServer, watchedUris } from "./ServersSnapshot.ts"
import type { ServerStateStore } from "./ServerStateStore.ts"

/** What the MCP servers of a Computer share. */
export interface ServerWorld {
  readonly setup: () => Setup
  readonly store: ServerStateStore
  readonly secrets: Secrets
  readonly catalogues: Catalogues
  /** Bounds the lazy servers that start at a time to be listed. */
  readonly listing: Semaphore.Semaphore
}

/** A run of a server, which sends events of its life. */
export interface ServerRun extends LazyRun {
  readonly world: ServerWorld
}

type Event = RunEvent<OfferedServer>

const misconfigured = (message: string): SessionFailure => ({ reason: "misconfigured", message })

/** Gives the reason why the VRL script of a server is unusable. */
const checkScript = Effect.fnUntraced(function* ({ vrl }: ServerConfig) {
  const script = vrlScript(vrl)
  if (script === undefined) return undefined
  const engine = yield* Effect.serviceOption(VrlEngine)
  if (Option.isNone(engine)) return "it has a VRL script, and this Computer has no VRL engine"
  return yield* Effect.match(engine.value.check(script), {
    onFailure: ({ message }) => `VRL script unusable: ${message}`,
    onSuccess: (errors) => (errors === undefined ? undefined : `VRL script does not compile: ${errors}`)
  })
})

const checkConfig = Effect.fnUntraced(function* ({ name, world: { setup, store } }: ServerRun) {
  const config = serverConfigOf(setup(), name)
  if (config === undefined) return yield* Effect.fail(misconfigured("not configured"))
  const { naming } = store.snapshot()
  const conflict = findIdentityConflict(setup(), naming, name)
  const problem =
    conflict === undefined
      ? yield* checkScript(config)
      : `'${conflict.name}' has the same bundle id ${naming.serverId(config)}`
  return problem === undefined ? config : yield* Effect.fail(misconfigured(problem))
})

const endpointOf = ({ world: { secrets, setup } }: ServerRun, config: ServerConfig) =>
  Endpoints.use((resolve) => Effect.mapError(resolve(config, setup(), secrets.add), misconfigured))

const endOf = Effect.fnUntraced(function* (
  _tag: "StartFailed" | "Lost",
  { run }: ServerRun,
  { message, output, reason }: SessionFailure
) {
  const failure = { reason, message, ...definedOnly({ output }) }
  return { _tag, run, failure, at: yield* Clock.currentTimeMillis, jitter: yield* nextJitter } satisfies Event
})

/** How long an expired catalogue is not offered while the server is listed again. */
const relistTimeout = Duration.seconds(10)

const relistTimedOut = { message: `no response within ${Duration.toSeconds(relistTimeout)} seconds` }

/** The catalogue of a session whose lists are current. */
const catalogueOf = ({ info, listLifetime }: McpSession, listings: McpListings) =>
  Effect.map(Clock.currentTimeMillis, (now): ServerCatalogue => {
    const lifetime = listLifetime?.()
    return { info, ...listings, ...definedOnly({ freshUntil: lifetime === undefined ? undefined : now + lifetime }) }
  })

/** Gives the offer of a lazy server from its last catalogue while that is fresh, or else from a start to list it. */
const listLazily = Effect.fnUntraced(function* (serverRun: ServerRun, config: ServerConfig) {
  const { name, run, world } = serverRun
  const { catalogues, listing, secrets, setup } = world
  const list = endpointOf(serverRun, config).pipe(
    Effect.flatMap((endpoint) => connectAndList(name, endpoint, secrets)),
    Effect.flatMap(({ listings, session }) => catalogueOf(session, listings)),
    Effect.scoped
  )
  const listOnce = Effect.tap(listing.withPermit(list), (catalogue) => catalogues.save(config, catalogue))
  const listAgain = (stored: ServerCatalogue) =>
    listOnce.pipe(
      Effect.timeoutOrElse({ duration: relistTimeout, orElse: () => Effect.fail(relistTimedOut) }),
      // A server that is away for a time keeps its tools.
      Effect.catch(({ message: reason }) =>
        Effect.as(Effect.logWarning("expired catalogue kept", { server: name, reason }), stored)
      )
    )
  const stored = yield* catalogues.load(config)
  const isExpired = (yield* Clock.currentTimeMillis) >= (stored?.freshUntil ?? Number.POSITIVE_INFINITY)
  const catalogue = stored === undefined ? yield* listOnce : isExpired ? yield* listAgain(stored) : stored
  const { freshUntil: _, info, ...listings } = catalogue
  const lazyControl = makeLazyControl(serverRun)
  const session = lazyControl.sessionOf(info)
  const offer = { config: serverConfigOf(setup(), name) ?? config, session, ...listings, lazyControl }
  return { _tag: "Listed", run, offer } satisfies Event
})

/** The offer of a server whose session has started. Its session for requests changes with its info only. */
const offerOf = (before: McpServer<OfferedServer> | undefined, started: OfferedServer): OfferedServer => {
  const { lazyControl, session: shown } = before?._tag === "Waking" ? before.offer : {}
  if (lazyControl === undefined || shown === undefined) return started
  const { session: live } = started
  const isSameInfo = JSON.stringify(live.info) === JSON.stringify(shown.info)
  const session = isSameInfo ? shown : lazyControl.sessionOf(live.info)
  return { ...started, session, lazyControl: { ...lazyControl, live } }
}

/** Runs one session of a server to its end. One of a lazy server ends as well when no request used it for a time. */
const runSession = Effect.fnUntraced(function* (serverRun: ServerRun, config: ServerConfig) {
  const { name, run, send, server, world } = serverRun
  const { catalogues, secrets, setup, store } = world
  const { idle } = yield* ComputerSettings
  const configNow = () => serverConfigOf(setup(), name) ?? config
  const saveCatalogue = Effect.suspend(() => {
    const now = server()
    if (now?._tag !== "Running" || now.offer.lazyControl === undefined) return Effect.void
    const { config: _, lazyControl, session, ...listings } = now.offer
    return Effect.flatMap(catalogueOf(lazyControl.live ?? session, listings), (catalogue) =>
      catalogues.save(config, catalogue)
    )
  })
  const endpoint = yield* endpointOf(serverRun, config)
  if (isFirstAttempt(store.snapshot().states.get(name))) {
    const { command } = config.parameters
    yield* Effect.logInfo("MCP server starting", { server: name, ...definedOnly({ command }) })
  }
  const opened = yield* connectAndList(name, endpoint, secrets)
  const at = yield* Clock.currentTimeMillis
  const offer = offerOf(server(), { config: configNow(), session: opened.session, ...opened.listings })
  yield* send(() => ({ _tag: "Ready", run, offer, at }))
  yield* saveCatalogue
  const ended = followSession(opened, {
    onListingsChanged: (listings) =>
      send(() => ({ _tag: "ListingsChanged", run, listings })).pipe(Effect.andThen(saveCatalogue)),
    onHealthChange: (source, reason) => Effect.asVoid(send(() => ({ _tag: "HealthChanged", run, source, reason }))),
    onPartChanged: store.markChanged,
    watchedUris: store.changes.pipe(
      Stream.map((states) => states.get(name)),
      Stream.filter(isOffered),
      Stream.changesWith((one, other) => one.resources === other.resources),
      Stream.map(watchedUris)
    )
  })
  const unused = offer.lazyControl?.untilIdle(() => parseIdle(configNow().idle ?? "") ?? idle) ?? Effect.never
  return yield* Effect.raceFirst(
    Effect.flatMap(ended, (failure) => endOf("Lost", serverRun, failure)),
    Effect.as(unused, undefined)
  )
})

/** Runs a server once, or lists a lazy one, and gives the event of the end unless it was sent. */
const runOnce = Effect.fnUntraced(function* (serverRun: ServerRun) {
  const { name, server, world } = serverRun
  const before = server()
  if (before?._tag === "Waking") {
    return yield* runSession(serverRun, serverConfigOf(world.setup(), name) ?? before.offer.config)
  }
  const config = yield* checkConfig(serverRun)
  const { lifecycle } = yield* ComputerSettings
  const { isInProcess = () => false } = yield* McpConnector
  const isLazy = (config.lifecycle ?? lifecycle) === "lazy" && !isInProcess(name)
  return yield* isLazy ? listLazily(serverRun, config) : runSession(serverRun, config)
})

/** Opens a session of a server, or lists a lazy one, and gives the work that follows its end. */
export const openServer = (serverRun: ServerRun) => {
  const { name, send, server } = serverRun
  const onDefect = Effect.fnUntraced(function* (defect: unknown) {
    yield* Effect.logError("MCP server supervision failed", { server: name }, defect)
    const failure = { reason: "unavailable", message: "internal error" } as const
    return yield* endOf(server()?._tag === "Running" ? "Lost" : "StartFailed", serverRun, failure)
  })
  const run = (scope: Scope.Scope) =>
    Effect.uninterruptibleMask((restore) =>
      restore(Scope.provide(runOnce(serverRun), scope)).pipe(
        Effect.catch((failure) => endOf("StartFailed", serverRun, failure)),
        Effect.catchDefect(onDefect),
        Effect.flatMap((event) => send(() => event))
      )
    )
  // The state changes before the session closes: closing may take long or fail, and the offer must be gone by then.
  return Effect.acquireUseRelease(Scope.make(), run, (scope, exit) =>
    Effect.catchDefect(Scope.close(scope, Exit.asVoid(exit)), (defect) =>
      Effect.logError("MCP server close failed", { server: name }, defect)
    )
  )
}
