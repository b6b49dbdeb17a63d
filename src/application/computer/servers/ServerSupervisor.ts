import { Data, Effect, Ref, type Scope, Semaphore } from "effect"
import type { Setup, SetupDiff } from "../../../domain/config/Setup.ts"
import { initialServer, type OwnerEvent } from "../../../domain/mcpServers/McpServer.ts"
import { type Arrangement, changedConflicts, reload, serverConfigOf } from "../../../domain/mcpServers/reload.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { Naming } from "../../../domain/tools/naming.ts"
import type { McpConnector } from "../../ports/McpSession.ts"
import type { Inputs } from "../inputs/Inputs.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { makeCatalogues } from "./Catalogues.ts"
import { makeResourceReads, type ResourceReads } from "./resourceReads.ts"
import { makeServerRuns, type ServerRuns } from "./serverRuns.ts"
import { openSession, type OfferedServer } from "./ServersSnapshot.ts"
import { makeServerStateStore, type ServerStateStore } from "./ServerStateStore.ts"

/** No MCP server of this name is configured. */
export class UnknownServer extends Data.TaggedError("UnknownServer")<{ readonly server: string }> {
  override get message(): string {
    return `No MCP server '${this.server}' is configured`
  }
}

export interface ServerSupervisor extends Pick<ServerStateStore, "snapshot" | "changes">, ResourceReads {
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

/** Lazy servers without a known catalogue that start at a time. */
const maxListedAtOnce = 4

const stop: OwnerEvent = { _tag: "Stop" }

/** The configuration in force, and numbers for the runs that begin. */
interface Configured {
  readonly setup: Ref.Ref<Setup>
  readonly nextRun: () => number
}

/** Makes the changes of configuration and naming, one of which may run at a time. */
const makeReloads = ({ nextRun, setup }: Configured, store: ServerStateStore, { execute, send }: ServerRuns) => {
  const arrangement = (): Arrangement => ({ setup: Ref.getUnsafe(setup), naming: store.snapshot().naming })

  /** Restarts servers whose conflict with another one appeared or went, unless they have just started. */
  const restartConflicting = (before: Arrangement, started: ReadonlyArray<string> = []) =>
    Effect.forEach(
      changedConflicts(store.servers(), before, arrangement()).filter((name) => !started.includes(name)),
      (name) =>
        Effect.andThen(
          send(name, stop),
          Effect.suspend(() => send(name, { _tag: "Start", run: nextRun() }))
        ),
      { discard: true }
    )

  return {
    applyNaming: Effect.fnUntraced(function* (naming: Naming) {
      const before = arrangement()
      if (naming === before.naming) return
      yield* store.setNaming(naming)
      yield* restartConflicting(before)
    }),
    applySetup: Effect.fnUntraced(function* (next: Setup) {
      const before = arrangement()
      yield* Ref.set(setup, next)
      const { commands, diff } = yield* store.update((servers) => {
        const { servers: changed, ...outcome } = reload(servers, before.setup, next, nextRun())
        return [outcome, changed]
      })
      yield* execute(commands, diff.isReportedConfigChanged ? store.markChanged("config") : Effect.void)
      yield* restartConflicting(before, [...diff.added, ...diff.restarted])
      return diff
    })
  }
}

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
  const setup = yield* Ref.make(initial)
  let runs = 0
  const nextRun = () => ++runs
  const store = yield* makeServerStateStore(
    new Map(Object.values(initial.config.servers).map(({ disabled, name }) => [name, initialServer(0, disabled)])),
    notify
  )
  const { snapshot, waitFor } = store
  const configOf = (name: string) => serverConfigOf(Ref.getUnsafe(setup), name)
  const serverRuns = yield* makeServerRuns({
    setup: () => Ref.getUnsafe(setup),
    store,
    secrets,
    catalogues: yield* makeCatalogues(computer, secrets),
    listing: yield* Semaphore.make(maxListedAtOnce)
  })
  const { send } = serverRuns
  const { applyNaming, applySetup } = makeReloads({ setup, nextRun }, store, serverRuns)
  const commands = yield* Semaphore.make(1)

  /** Runs one command at a time, uninterrupted: half a command would leave a server without a fiber. */
  const exclusively = <A, E>(effect: Effect.Effect<A, E>) => commands.withPermit(Effect.uninterruptible(effect))
  const command = Effect.fnUntraced(function* (name: string, tags: ReadonlyArray<"Start" | "Stop">) {
    if (configOf(name) === undefined) return yield* new UnknownServer({ server: name })
    for (const tag of tags) yield* send(name, tag === "Stop" ? stop : { _tag: tag, run: nextRun() })
  }, exclusively)
  const awaitStarted = (name: string) =>
    waitFor((servers) => (servers.get(name)?._tag === "Starting" ? undefined : true))
  /** Starts a lazy server as a request does. */
  const startIdle = (name: string) =>
    Effect.suspend(() => {
      const state = snapshot().states.get(name)
      return state?._tag === "Idle" ? Effect.ignore(Effect.scoped(openSession(state))) : Effect.void
    })

  const enabled = Object.values(initial.config.servers).filter(({ disabled }) => !disabled)
  const launchInitial = Effect.suspend(() =>
    Effect.forEach(enabled, ({ name }) => send(name, { _tag: "Reload", run: nextRun(), disabled: false }))
  )
  yield* Effect.forkScoped(Effect.andThen(mayStart, launchInitial), { startImmediately: true })

  return {
    snapshot,
    changes: store.changes,
    ...(yield* makeResourceReads(store)),
    find: (name) => snapshot().running.find(({ config }) => config.name === name),
    identify: (name) => {
      const config = configOf(name)
      return config === undefined ? name : snapshot().naming.serverId(config)
    },
    findById: (id) => {
      const { naming, running } = snapshot()
      return running.find(({ config }) => naming.serverId(config) === id)
    },
    setNaming: (naming) => exclusively(Effect.suspend(() => applyNaming(naming))),
    setup: () => Ref.getUnsafe(setup),
    startupCompleted: waitFor(() => (snapshot().starting.length > 0 ? undefined : true)),
    start: (name) => command(name, ["Start"]).pipe(Effect.andThen(awaitStarted(name)), Effect.andThen(startIdle(name))),
    stop: (name) => command(name, ["Stop"]),
    restart: (name) => Effect.andThen(command(name, ["Stop", "Start"]), awaitStarted(name)),
    reconfigure: (next) => exclusively(Effect.suspend(() => applySetup(next)))
  }
})
