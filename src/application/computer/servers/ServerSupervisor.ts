import { Clock, Data, Effect, Ref, Semaphore } from "effect"
import { serverConfigOf, type Setup, type SetupDiff } from "../../../domain/config/Setup.ts"
import { initialServer, type OwnerEvent } from "../../../domain/mcpServers/McpServer.ts"
import { type Arrangement, changedConflicts, reload } from "../../../domain/mcpServers/reload.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import { mcpServerRestarting } from "../../../domain/model/ProtocolError.ts"
import { buildCatalogue } from "../../../domain/tools/catalogue.ts"
import type { Naming } from "../../../domain/tools/naming.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { makeCatalogues } from "./Catalogues.ts"
import { makeResourceReads } from "./resourceReads.ts"
import { makeServerRuns, type ServerRuns } from "./serverRuns.ts"
import { openSession, type RestartingServer } from "./ServersSnapshot.ts"
import { makeServerStateStore, type ServerStateStore } from "./ServerStateStore.ts"

/** No MCP server of this name is configured. */
export class UnknownServer extends Data.TaggedError("UnknownServer")<{ readonly server: string }> {
  override get message(): string {
    return `No MCP server '${this.server}' is configured`
  }
}

/** Lazy servers without a known catalogue that start at a time. */
const maxListedAtOnce = 4

const stop: OwnerEvent = { _tag: "Stop" }

/** What changes the servers from outside: one change runs at a time, uninterrupted. */
export interface ServerCommands {
  /** Starts a server, even a disabled or a lazy one, and waits until it is running or its attempt failed. */
  readonly start: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server until the next start. Its running calls fail. */
  readonly stop: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops and starts a server, and waits like `start`; a lazy one starts on the next request. */
  readonly restart: (name: string) => Effect.Effect<void, UnknownServer>
  /** Applies another configuration. Unchanged servers keep their sessions. */
  readonly reconfigure: (setup: Setup) => Effect.Effect<SetupDiff>
  /**
   * Names servers and tools in another way. Of servers with the same identity in the office only the first one of the
   * configuration runs.
   */
  readonly setNaming: (naming: Naming) => Effect.Effect<void>
}

const makeCommands = (
  setup: Ref.Ref<Setup>,
  nextRun: () => number,
  store: ServerStateStore,
  { execute, send }: ServerRuns
): ServerCommands => {
  const lock = Semaphore.makeUnsafe(1)
  /** Half a command would leave a server without a fiber. */
  const exclusively = <A, E>(effect: Effect.Effect<A, E>) => lock.withPermit(Effect.uninterruptible(effect))
  const arrangement = (): Arrangement => ({ setup: Ref.getUnsafe(setup), naming: store.snapshot().naming })
  const launch = (name: string) => Effect.suspend(() => send(name, { _tag: "Start", run: nextRun() }))
  const relaunch = (name: string) => Effect.andThen(send(name, stop), launch(name))

  /** Restarts servers whose conflict with another one appeared or went, unless they have just started. */
  const restartConflicting = (before: Arrangement, started: ReadonlyArray<string> = []) =>
    Effect.forEach(
      changedConflicts(store.servers(), before, arrangement()).filter((name) => !started.includes(name)),
      relaunch,
      { discard: true }
    )
  const command = Effect.fnUntraced(function* (name: string, effect: Effect.Effect<void>) {
    if (serverConfigOf(Ref.getUnsafe(setup), name) === undefined) return yield* new UnknownServer({ server: name })
    return yield* effect
  }, exclusively)
  const awaitStarted = (name: string) =>
    store.waitFor((servers) => (servers.get(name)?._tag === "Starting" ? undefined : true))
  /** Starts a lazy server as a request does. */
  const startIdle = (name: string) =>
    Effect.suspend(() => {
      const state = store.snapshot().states.get(name)
      return state?._tag === "Idle" ? Effect.ignore(Effect.scoped(openSession(state))) : Effect.void
    })

  return {
    setNaming: Effect.fnUntraced(function* (naming) {
      const before = arrangement()
      if (naming === before.naming) return
      yield* store.setNaming(naming)
      yield* restartConflicting(before)
    }, exclusively),
    start: (name) =>
      command(name, launch(name)).pipe(Effect.andThen(awaitStarted(name)), Effect.andThen(startIdle(name))),
    stop: (name) => command(name, send(name, stop)),
    restart: (name) => Effect.andThen(command(name, relaunch(name)), awaitStarted(name)),
    reconfigure: Effect.fnUntraced(function* (next) {
      const before = arrangement()
      yield* Ref.set(setup, next)
      const { commands, diff } = yield* store.update((servers) => {
        const { servers: changed, ...outcome } = reload(servers, before.setup, next, nextRun())
        return [outcome, changed]
      })
      yield* execute(commands, diff.isReportedConfigChanged ? store.markChanged("config") : Effect.void)
      yield* restartConflicting(before, [...diff.added, ...diff.restarted])
      return diff
    }, exclusively)
  }
}

export type ServerSupervisor = Effect.Success<ReturnType<typeof makeServerSupervisor>>

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
) {
  const ref = yield* Ref.make(initial)
  const setup = () => Ref.getUnsafe(ref)
  let runs = 0
  const nextRun = () => ++runs
  const configured = Object.values(initial.config.servers)
  const store = yield* makeServerStateStore(
    new Map(configured.map(({ disabled, name }) => [name, initialServer(0, disabled)])),
    notify
  )
  const { changes, snapshot, waitFor } = store
  const catalogues = yield* makeCatalogues(computer, secrets)
  const listing = yield* Semaphore.make(maxListedAtOnce)
  const serverRuns = yield* makeServerRuns({ setup, store, secrets, catalogues, listing })

  const launchInitial = Effect.forEach(configured, ({ disabled, name }) =>
    disabled ? Effect.void : serverRuns.send(name, { _tag: "Reload", run: nextRun(), disabled })
  )
  yield* Effect.forkScoped(Effect.andThen(mayStart, launchInitial), { startImmediately: true })

  /** The identity of a server in the office, by its name; the name of a server that is not configured any more. */
  const identify = (name: string): string => {
    const config = serverConfigOf(setup(), name)
    return config === undefined ? name : snapshot().naming.serverId(config)
  }
  /** Fails with a retryable error while a server is restarting that matches: what it last offered is known. */
  const rejectWhileRestarting = Effect.fnUntraced(function* (matches: (server: RestartingServer) => boolean) {
    const server = snapshot().restarting.find(matches)
    if (server === undefined) return
    const { config, retryAt } = server
    const now = yield* Clock.currentTimeMillis
    return yield* mcpServerRestarting(identify(config.name), retryAt && Math.max(0, retryAt - now))
  })

  return {
    snapshot,
    changes,
    setup,
    ...(yield* makeResourceReads(store)),
    ...makeCommands(ref, nextRun, store, serverRuns),
    find: (name: string) => snapshot().running.find(({ config }) => config.name === name),
    identify,
    /** Finds a server by its identity in the office. */
    findById: (id: string) => {
      const { naming, running } = snapshot()
      return running.find(({ config }) => naming.serverId(config) === id)
    },
    rejectWhileRestarting,
    /** {@link rejectWhileRestarting} for the server of a tool, by its name in the office. */
    rejectToolWhileRestarting: (tool: string) =>
      rejectWhileRestarting((server) => buildCatalogue([server], snapshot().naming).entries.has(tool)),
    /** {@link rejectWhileRestarting} for the server of this identity in the office. */
    rejectServerWhileRestarting: (id: string) => rejectWhileRestarting(({ config }) => identify(config.name) === id),
    /** Waits until no server is in its first start attempt. */
    startupCompleted: waitFor(() => (snapshot().starting.length > 0 ? undefined : true))
  }
})
