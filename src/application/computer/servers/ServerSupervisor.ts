import { Data, Duration, Effect, FiberMap, type Scope, Semaphore, type Stream } from "effect"
import { diffSetups, type Setup, type SetupDiff } from "../../../domain/config/Setup.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { Catalogue } from "../../../domain/tools/catalogue.ts"
import { type McpConnector, McpSessionError } from "../../ports/McpSession.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Inputs } from "../inputs/Inputs.ts"
import { isRunning, type RunningMcpServer, type ServerState, type ServerStates } from "./ServersSnapshot.ts"
import { makeServerStateStore } from "./ServerStateStore.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { listAllResources } from "./runSession.ts"
import { serverConfigOf, superviseServer } from "./superviseServer.ts"

/** No MCP server of this name is configured. */
export class UnknownServer extends Data.TaggedError("UnknownServer")<{ readonly server: string }> {
  override get message(): string {
    return `No MCP server '${this.server}' is configured`
  }
}

/** The MCP servers of a Computer. */
export interface ServerSupervisor {
  /** Running servers, in configuration order. */
  readonly running: () => ReadonlyArray<RunningMcpServer>
  /** Those of them whose windows and documents are shown. */
  readonly shown: () => ReadonlyArray<RunningMcpServer>
  /** The running server of this name. */
  readonly find: (name: string) => RunningMcpServer | undefined
  /** What is configured now. */
  readonly setup: () => Setup
  /** Every configured server and its state. */
  readonly states: () => ServerStates
  /** The states now, and after every change. */
  readonly changes: Stream.Stream<ServerStates>
  readonly catalogue: () => Catalogue
  /** Lists a server's resources anew, so that what it did not announce is seen, too. */
  readonly refreshResources: (
    server: RunningMcpServer
  ) => Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  /** The same for whoever wants `what` of it; what it listed last where it does not answer in half of the time. */
  readonly freshResources: (
    server: RunningMcpServer,
    what: "windows" | "documents"
  ) => Effect.Effect<ReadonlyArray<JsonObject>>
  /** Waits until no server starts for the first time any more. */
  readonly startupCompleted: Effect.Effect<void>
  /** Starts a server that does not run, even a disabled one, and waits until it runs or cannot. */
  readonly start: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server until it is started again. Its running calls end with an error. */
  readonly stop: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server and starts it again. */
  readonly restart: (name: string) => Effect.Effect<void, UnknownServer>
  /** Makes the servers those of another setup. Whoever did not change keeps its session. */
  readonly reconfigure: (setup: Setup) => Effect.Effect<SetupDiff>
}

const initialState = ({ disabled }: ServerConfig): ServerState =>
  disabled ? { _tag: "Stopped", reason: "disabled" } : { _tag: "Starting", attempt: 1 }

/** Why a server's listing was given up. */
export const listingTimedOut = new McpSessionError({ reason: "unavailable", message: "it lists too slowly" })

const isJsonEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Runs every enabled server of a setup for as long as the scope, and keeps each running on its own: one that fails
 * stops nobody. `tell` hears which part of the Computer has changed, exactly when it did.
 */
export const makeServerSupervisor = Effect.fnUntraced(function* (
  initial: Setup,
  secrets: Secrets,
  notify: (part: ComputerPart) => Effect.Effect<void>
): Effect.fn.Return<ServerSupervisor, never, Scope.Scope | McpConnector | Inputs> {
  const context = yield* Effect.context<McpConnector | Inputs>()
  const { readTimeout } = yield* ComputerSettings
  let setup = initial
  const store = yield* makeServerStateStore(
    new Map(Object.values(initial.config.servers).map((server) => [server.name, initialState(server)])),
    notify
  )
  const { update, snapshot, waitUntil } = store
  const fibers = yield* FiberMap.make<string, void>()
  /** Which of the runs of a server speaks for it: one that is being stopped does not any more. */
  const generations = new Map<string, object>()
  const commands = yield* Semaphore.make(1)
  const stateOf = (name: string) => snapshot().states.get(name)

  const launch = (name: string) =>
    Effect.suspend(() => {
      const generation = {}
      generations.set(name, generation)
      const isCurrent = () => generations.get(name) === generation
      const work = superviseServer({ name, setup: () => setup, isCurrent, store, secrets })
      return FiberMap.run(fibers, name, Effect.provideContext(work, context))
    })

  /** Ends sessions, all at once; what they offered is gone before they are. */
  const stopAll = Effect.fnUntraced(function* (
    names: ReadonlyArray<string>,
    next: (states: ServerStates) => ServerStates
  ) {
    for (const name of names) generations.delete(name)
    yield* update(next)
    yield* Effect.forEach(names, (name) => FiberMap.remove(fibers, name), {
      concurrency: "unbounded",
      discard: true
    })
  })

  /** One at a time and as a whole: half of one would leave a server that nobody runs. */
  const exclusively = <A, E>(effect: Effect.Effect<A, E>) =>
    commands.withPermit(Effect.uninterruptible(effect))
  const command = (name: string, effect: Effect.Effect<unknown>): Effect.Effect<void, UnknownServer> =>
    exclusively(
      Effect.suspend(() =>
        serverConfigOf(setup, name) === undefined
          ? Effect.fail(new UnknownServer({ server: name }))
          : Effect.asVoid(effect)
      )
    )
  const awaitSettled = (name: string) => waitUntil((states) => states.get(name)?._tag !== "Starting")
  const startServer = (name: string) =>
    Effect.suspend(() =>
      isRunning(stateOf(name)) || stateOf(name)?._tag === "Starting"
        ? Effect.void
        : // Its last session may be closing still.
          Effect.andThen(FiberMap.remove(fibers, name), launch(name))
    )
  const stopped: ServerState = { _tag: "Stopped", reason: "on request" }
  const stopServer = (name: string) => stopAll([name], (states) => new Map(states).set(name, stopped))

  const applySetup = Effect.fnUntraced(function* (next: Setup) {
    const diff = diffSetups(setup, next)
    const { added, restarted, isReportedConfigChanged, removed, reconfigured } = diff
    const servers = Object.values(next.config.servers)
    const toLaunch = new Set([...added, ...restarted])
    setup = next
    yield* stopAll(
      [...removed, ...restarted],
      (states) =>
        new Map(
          servers.map((config) => {
            const state = states.get(config.name)
            if (state === undefined || toLaunch.has(config.name)) return [config.name, initialState(config)]
            if (!reconfigured.includes(config.name) || !isRunning(state)) return [config.name, state]
            return [config.name, { ...state, config }]
          })
        )
    )
    if (isReportedConfigChanged) yield* store.markChanged("config")
    yield* Effect.forEach(
      servers.filter(({ disabled, name }) => !disabled && toLaunch.has(name)),
      ({ name }) => launch(name),
      { discard: true }
    )
    return diff
  })

  yield* Effect.forEach(
    Object.values(initial.config.servers).filter(({ disabled }) => !disabled),
    ({ name }) => launch(name),
    { discard: true }
  )

  const refreshResources: ServerSupervisor["refreshResources"] = ({ config: { name }, session }) =>
    listAllResources(session).pipe(
      Effect.timeoutOrElse({ duration: readTimeout, orElse: () => Effect.fail(listingTimedOut) }),
      Effect.tap((resources) =>
        update((states) => {
          const state = states.get(name)
          return isRunning(state) && state.session === session && !isJsonEqual(state.resources, resources)
            ? new Map(states).set(name, { ...state, resources })
            : states
        })
      )
    )

  return {
    running: () => snapshot().running,
    shown: () => snapshot().shown,
    find: (name) => snapshot().running.find(({ config }) => config.name === name),
    setup: () => setup,
    states: () => snapshot().states,
    changes: store.changes,
    catalogue: () => snapshot().catalogue,
    refreshResources,
    freshResources: (server, what) =>
      refreshResources(server).pipe(
        Effect.timeout(Duration.times(readTimeout, 0.5)),
        Effect.catch(({ message: reason }) =>
          Effect.as(
            Effect.logWarning(`${what} as they were listed before`, { server: server.config.name, reason }),
            server.resources
          )
        )
      ),
    startupCompleted: waitUntil((states) =>
      [...states.values()].every((state) => state._tag !== "Starting" || state.attempt > 1)
    ),
    start: (name) => Effect.andThen(command(name, startServer(name)), awaitSettled(name)),
    stop: (name) => command(name, stopServer(name)),
    restart: (name) =>
      Effect.andThen(command(name, Effect.andThen(stopServer(name), launch(name))), awaitSettled(name)),
    reconfigure: (next) => exclusively(applySetup(next))
  }
})
