import { Data, Duration, Effect, FiberMap, type Scope, Semaphore } from "effect"
import { diffSetups, type Setup, type SetupDiff } from "../../../domain/config/Setup.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { Naming } from "../../../domain/tools/naming.ts"
import { type McpConnector, McpSessionError } from "../../ports/McpSession.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { makeCatalogues } from "./Catalogues.ts"
import type { Inputs } from "../inputs/Inputs.ts"
import {
  backgroundSessionOf,
  isOffered,
  openSession,
  type OfferedServer,
  type ServerState,
  type ServerStates,
  startingServersOf
} from "./ServersSnapshot.ts"
import { makeServerStateStore, type ServerStateStore } from "./ServerStateStore.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { listResources } from "../../shared/listings/serverListings.ts"
import { serverConfigOf } from "./supervisedSession.ts"
import { findIdentityConflict, superviseServer } from "./superviseServer.ts"

/** No MCP server of this name is configured. */
export class UnknownServer extends Data.TaggedError("UnknownServer")<{ readonly server: string }> {
  override get message(): string {
    return `No MCP server '${this.server}' is configured`
  }
}

export interface ServerSupervisor extends Pick<ServerStateStore, "snapshot" | "changes"> {
  readonly find: (name: string) => OfferedServer | undefined
  /** The identity of a server in the office, by its name; the name of a server that is not configured any more. */
  readonly identify: (name: string) => string
  /** Finds a server by its identity in the office. */
  readonly findById: (id: string) => OfferedServer | undefined
  /**
   * Names servers and tools in another way. Of servers with the same identity in the office only the first one of the
   * configuration runs.
   */
  readonly setNaming: (naming: Naming) => Effect.Effect<void>
  readonly setup: () => Setup
  /**
   * Lists a server's resources again, for changes that the server does not announce. Gives the last listing of a lazy server
   * that does not run.
   */
  readonly refreshResources: (server: OfferedServer) => Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  /**
   * Lists the resources of every shown server again and collects what `read` makes of each, in listing order. Uses the
   * previous listing of a server after half of the read timeout.
   */
  readonly readShown: <A>(
    kind: "windows" | "documents",
    read: (resource: JsonObject, server: OfferedServer) => Effect.Effect<ReadonlyArray<A>>,
    select?: (resources: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject>
  ) => Effect.Effect<ReadonlyArray<A>>
  /** Waits until no server is in its first start attempt. */
  readonly startupCompleted: Effect.Effect<void>
  /** Starts a server, even a disabled or a lazy one, and waits until it is running or its attempt failed. */
  readonly start: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server until the next start. Its running calls fail. */
  readonly stop: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops and starts a server, and waits like `start`; a lazy one starts on the next request. */
  readonly restart: (name: string) => Effect.Effect<void, UnknownServer>
  /** Applies another configuration. Unchanged servers keep their sessions. */
  readonly reconfigure: (setup: Setup) => Effect.Effect<SetupDiff>
}

const initialState = ({ disabled }: ServerConfig): ServerState =>
  disabled ? { _tag: "Stopped", reason: "disabled" } : { _tag: "Starting", attempt: 1 }

export const listingTimedOut = new McpSessionError({ reason: "unavailable", message: "listing timed out" })

const maxReadsPerServer = 16

/** Lazy servers without a known catalogue that start at a time. */
const maxListedAtOnce = 4

/**
 * Supervises the enabled servers of a Computer until the scope closes; `notify` announces its changed parts. The servers
 * of the initial setup start once `mayStart` completes, and no command may precede that. Catalogues are kept under the name
 * of the `computer`.
 */
export const makeServerSupervisor = Effect.fnUntraced(function* (
  initial: Setup,
  secrets: Secrets,
  notify: (part: ComputerPart) => Effect.Effect<void>,
  mayStart: Effect.Effect<void> = Effect.void,
  computer = ""
): Effect.fn.Return<ServerSupervisor, never, Scope.Scope | McpConnector | Inputs> {
  const context = yield* Effect.context<McpConnector | Inputs>()
  const { readTimeout } = yield* ComputerSettings
  let setup = initial
  let hasStarted = false
  const initialServers = Object.values(initial.config.servers)
  const store = yield* makeServerStateStore(
    new Map(initialServers.map((server) => [server.name, initialState(server)])),
    notify
  )
  const { update, snapshot, waitUntil } = store
  const fibers = yield* FiberMap.make<string, void>()
  /** The current run of each server; only that run may change the server's state. */
  const generations = new Map<string, object>()
  const commands = yield* Semaphore.make(1)
  const lazyServers = {
    catalogues: yield* makeCatalogues(computer, secrets),
    listing: yield* Semaphore.make(maxListedAtOnce)
  }

  const launch = (name: string) =>
    Effect.suspend(() => {
      const generation = {}
      generations.set(name, generation)
      const isCurrent = () => generations.get(name) === generation
      const work = superviseServer({ name, setup: () => setup, isCurrent, store, secrets }, lazyServers)
      return FiberMap.run(fibers, name, Effect.provideContext(work, context))
    })
  const launchAll = (servers: ReadonlyArray<ServerConfig>) =>
    Effect.forEach(
      servers.filter(({ disabled }) => !disabled),
      ({ name }) => launch(name),
      { discard: true }
    )

  /** Stops servers concurrently. Their offers disappear before their sessions close. */
  const stopAll = Effect.fnUntraced(function* (
    names: ReadonlyArray<string>,
    next: (states: ServerStates) => ServerStates
  ) {
    for (const name of names) generations.delete(name)
    yield* update(next)
    yield* Effect.forEach(names, (name) => FiberMap.remove(fibers, name), { concurrency: "unbounded", discard: true })
  })

  /** Runs one command at a time, uninterrupted: half a command would leave a server without a fiber. */
  const exclusively = <A, E>(effect: Effect.Effect<A, E>) => commands.withPermit(Effect.uninterruptible(effect))
  const command = Effect.fnUntraced(function* (name: string, effect: Effect.Effect<unknown>) {
    if (serverConfigOf(setup, name) === undefined) return yield* new UnknownServer({ server: name })
    yield* effect
  }, exclusively)
  const awaitSettled = (name: string) => waitUntil((states) => states.get(name)?._tag !== "Starting")
  const startServer = Effect.fnUntraced(function* (name: string) {
    const state = snapshot().states.get(name)
    if (isOffered(state) || state?._tag === "Starting") return
    // The previous session may still be closing.
    yield* FiberMap.remove(fibers, name)
    yield* launch(name)
  })
  /** Starts a lazy server as a request does. */
  const startIdle = (name: string) =>
    Effect.suspend(() => {
      const state = snapshot().states.get(name)
      return state?._tag === "Idle" ? Effect.ignore(Effect.scoped(openSession(state))) : Effect.void
    })
  const stopped: ServerState = { _tag: "Stopped", reason: "stopped_by_user" }
  const stopServer = (name: string) => stopAll([name], (states) => new Map(states).set(name, stopped))

  /** Servers that do not run because an earlier one has the same identity in the office. */
  const conflictingServers = (): ReadonlySet<string> => {
    const { naming } = snapshot()
    const names = Object.keys(setup.config.servers)
    return new Set(names.filter((name) => findIdentityConflict(setup, naming, name) !== undefined))
  }

  /** Restarts servers whose conflict has appeared or gone since. */
  const restartConflicting = Effect.fnUntraced(function* (
    before: ReadonlySet<string>,
    launched: ReadonlySet<string> = new Set()
  ) {
    if (!hasStarted) return
    const now = conflictingServers()
    const { states } = snapshot()
    const names = [...new Set([...before, ...now])].filter(
      (name) => before.has(name) !== now.has(name) && !launched.has(name) && states.get(name)?._tag !== "Stopped"
    )
    yield* Effect.forEach(names, (name) => Effect.andThen(stopServer(name), launch(name)), { discard: true })
  })

  const applyNaming = Effect.fnUntraced(function* (naming: Naming) {
    if (naming === snapshot().naming) return
    const before = conflictingServers()
    yield* store.setNaming(naming)
    yield* restartConflicting(before)
  })

  const applySetup = Effect.fnUntraced(function* (next: Setup) {
    const before = conflictingServers()
    const diff = diffSetups(setup, next)
    const { added, restarted, isReportedConfigChanged, removed, reconfigured } = diff
    const servers = Object.values(next.config.servers)
    const toLaunch = new Set([...added, ...restarted])
    setup = next
    const nextState = (config: ServerConfig, state: ServerState | undefined): ServerState => {
      if (state === undefined || toLaunch.has(config.name)) return initialState(config)
      if (!reconfigured.includes(config.name)) return state
      if (isOffered(state)) return { ...state, config }
      return "last" in state && state.last !== undefined ? { ...state, last: { ...state.last, config } } : state
    }
    yield* stopAll(
      [...removed, ...restarted],
      (states) => new Map(servers.map((config) => [config.name, nextState(config, states.get(config.name))]))
    )
    if (isReportedConfigChanged) yield* store.markChanged("config")
    yield* launchAll(servers.filter(({ name }) => toLaunch.has(name)))
    yield* restartConflicting(before, toLaunch)
    return diff
  })

  const launchInitial = Effect.suspend(() => {
    hasStarted = true
    return launchAll(initialServers)
  })
  yield* Effect.forkScoped(Effect.andThen(mayStart, launchInitial), { startImmediately: true })

  const refreshResources: ServerSupervisor["refreshResources"] = (server) => {
    const session = backgroundSessionOf(server)
    if (session === undefined) return Effect.succeed(server.resources)
    return listResources(session).pipe(
      Effect.map(({ items }) => items),
      Effect.timeoutOrElse({ duration: readTimeout, orElse: () => Effect.fail(listingTimedOut) }),
      Effect.tap((resources) =>
        store.updateServer(server.config.name, (state) =>
          isOffered(state) &&
          backgroundSessionOf(state) === session &&
          JSON.stringify(state.resources) !== JSON.stringify(resources)
            ? { ...state, resources }
            : state
        )
      )
    )
  }
  const freshResources = (server: OfferedServer, kind: "windows" | "documents") =>
    refreshResources(server).pipe(
      Effect.timeout(Duration.times(readTimeout, 0.5)),
      Effect.catch(({ message: reason }) =>
        Effect.as(
          Effect.logWarning("using the previous resource listing", { server: server.config.name, kind, reason }),
          server.resources
        )
      )
    )

  return {
    snapshot,
    changes: store.changes,
    find: (name) => snapshot().running.find(({ config }) => config.name === name),
    identify: (name) => {
      const config = serverConfigOf(setup, name)
      return config === undefined ? name : snapshot().naming.serverId(config)
    },
    findById: (id) => {
      const { naming, running } = snapshot()
      return running.find(({ config }) => naming.serverId(config) === id)
    },
    setNaming: (naming) => exclusively(Effect.suspend(() => applyNaming(naming))),
    setup: () => setup,
    refreshResources,
    readShown: (kind, read, select = (resources) => resources) =>
      Effect.forEach(
        snapshot().shown,
        (server) =>
          Effect.flatMap(freshResources(server, kind), (resources) =>
            Effect.forEach(select(resources), (resource) => read(resource, server), { concurrency: maxReadsPerServer })
          ),
        { concurrency: "unbounded" }
      ).pipe(Effect.map((results) => results.flat(2))),
    startupCompleted: waitUntil((states) => startingServersOf(states).length === 0),
    start: (name) =>
      Effect.andThen(command(name, startServer(name)), awaitSettled(name)).pipe(Effect.andThen(startIdle(name))),
    stop: (name) => command(name, stopServer(name)),
    restart: (name) =>
      Effect.andThen(command(name, Effect.andThen(stopServer(name), launch(name))), awaitSettled(name)),
    reconfigure: (next) => exclusively(applySetup(next))
  }
})
