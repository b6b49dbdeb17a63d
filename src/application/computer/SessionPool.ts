import { Data, Duration, Effect, FiberMap, type Scope, Semaphore, type Stream } from "effect"
import { compareSetups, type Setup, type SetupDifference } from "../../domain/config/setup.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { Part } from "../../domain/office/notice.ts"
import type { ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import { type McpConnector, McpFailure } from "../ports/McpSession.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import type { Inputs } from "./Inputs.ts"
import { isRunning, type ReadyServer, type ServerState, type ServerStates } from "./Offer.ts"
import { makeRoster } from "./Roster.ts"
import type { Secrets } from "./Secrets.ts"
import { listResources } from "./ServerSession.ts"
import { configOf, supervise } from "./Supervision.ts"

/** No MCP server of this name is configured. */
export class UnknownServer extends Data.TaggedError("UnknownServer")<{ readonly server: string }> {
  override get message(): string {
    return `No MCP server '${this.server}' is configured`
  }
}

/** The MCP servers of a Computer. */
export interface SessionPool {
  /** Running servers, in configuration order. */
  readonly ready: () => ReadonlyArray<ReadyServer>
  /** Those of them whose windows and documents are shown. */
  readonly shown: () => ReadonlyArray<ReadyServer>
  /** The running server of this name. */
  readonly find: (name: string) => ReadyServer | undefined
  /** What is configured now. */
  readonly setup: () => Setup
  /** Every configured server and its state. */
  readonly states: () => ServerStates
  /** The states now, and after every change. */
  readonly changes: Stream.Stream<ServerStates>
  readonly catalogue: () => Catalogue
  /** Lists a server's resources anew, so that what it did not announce is seen, too. */
  readonly relist: (server: ReadyServer) => Effect.Effect<ReadonlyArray<JsonObject>, McpFailure>
  /** The same for whoever wants `what` of it; what it listed last where it does not answer in half of the time. */
  readonly listed: (
    server: ReadyServer,
    what: "windows" | "documents"
  ) => Effect.Effect<ReadonlyArray<JsonObject>>
  /** Waits until no server starts for the first time any more. */
  readonly started: Effect.Effect<void>
  /** Starts a server that does not run, even a disabled one, and waits until it runs or cannot. */
  readonly start: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server until it is started again. Its running calls end with an error. */
  readonly stop: (name: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server and starts it again. */
  readonly restart: (name: string) => Effect.Effect<void, UnknownServer>
  /** Makes the servers those of another setup. Whoever did not change keeps its session. */
  readonly apply: (setup: Setup) => Effect.Effect<SetupDifference>
}

const firstState = ({ disabled }: ServerConfig): ServerState =>
  disabled ? { _tag: "Stopped", reason: "disabled" } : { _tag: "Starting", attempt: 1 }

/** Why a server's listing was given up. */
export const tooSlow = new McpFailure({ kind: "unavailable", message: "it lists too slowly" })

const isSameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Runs every enabled server of a setup for as long as the scope, and keeps each running on its own: one that fails
 * stops nobody. `tell` hears which part of the Computer has changed, exactly when it did.
 */
export const makeSessionPool = Effect.fnUntraced(function* (
  first: Setup,
  secrets: Secrets,
  tell: (part: Part) => Effect.Effect<void>
): Effect.fn.Return<SessionPool, never, Scope.Scope | McpConnector | Inputs> {
  const context = yield* Effect.context<McpConnector | Inputs>()
  const { readTimeout } = yield* ComputerSettings
  let setup = first
  const roster = yield* makeRoster(
    new Map(Object.values(first.config.servers).map((server) => [server.name, firstState(server)])),
    tell
  )
  const { change, offer, until } = roster
  const fibers = yield* FiberMap.make<string, void>()
  /** Which of the runs of a server speaks for it: one that is being stopped does not any more. */
  const speakers = new Map<string, object>()
  const commands = yield* Semaphore.make(1)
  const stateOf = (name: string) => offer().states.get(name)

  const launch = (name: string) =>
    Effect.suspend(() => {
      const speaker = {}
      speakers.set(name, speaker)
      const isSpeaking = () => speakers.get(name) === speaker
      const work = supervise({ name, setup: () => setup, isSpeaking, roster, secrets })
      return FiberMap.run(fibers, name, Effect.provideContext(work, context))
    })

  /** Ends sessions, all at once; what they offered is gone before they are. */
  const halt = Effect.fnUntraced(function* (
    names: ReadonlyArray<string>,
    next: (states: ServerStates) => ServerStates
  ) {
    for (const name of names) speakers.delete(name)
    yield* change(next)
    yield* Effect.forEach(names, (name) => FiberMap.remove(fibers, name), {
      concurrency: "unbounded",
      discard: true
    })
  })

  /** One at a time and as a whole: half of one would leave a server that nobody runs. */
  const alone = <A, E>(effect: Effect.Effect<A, E>) => commands.withPermit(Effect.uninterruptible(effect))
  const command = (name: string, effect: Effect.Effect<unknown>): Effect.Effect<void, UnknownServer> =>
    alone(
      Effect.suspend(() =>
        configOf(setup, name) === undefined
          ? Effect.fail(new UnknownServer({ server: name }))
          : Effect.asVoid(effect)
      )
    )
  const settled = (name: string) => until((states) => states.get(name)?._tag !== "Starting")
  const begin = (name: string) =>
    Effect.suspend(() =>
      isRunning(stateOf(name)) || stateOf(name)?._tag === "Starting"
        ? Effect.void
        : // Its last session may be closing still.
          Effect.andThen(FiberMap.remove(fibers, name), launch(name))
    )
  const stopped: ServerState = { _tag: "Stopped", reason: "on request" }
  const end = (name: string) => halt([name], (states) => new Map(states).set(name, stopped))

  const apply = Effect.fnUntraced(function* (next: Setup) {
    const difference = compareSetups(setup, next)
    const { added, changed, isVisible, removed, retuned } = difference
    const servers = Object.values(next.config.servers)
    const anew = new Set([...added, ...changed])
    setup = next
    yield* halt(
      [...removed, ...changed],
      (states) =>
        new Map(
          servers.map((config) => {
            const state = states.get(config.name)
            if (state === undefined || anew.has(config.name)) return [config.name, firstState(config)]
            if (!retuned.includes(config.name) || !isRunning(state)) return [config.name, state]
            return [config.name, { ...state, config }]
          })
        )
    )
    if (isVisible) yield* roster.touch("config")
    yield* Effect.forEach(
      servers.filter(({ disabled, name }) => !disabled && anew.has(name)),
      ({ name }) => launch(name),
      { discard: true }
    )
    return difference
  })

  yield* Effect.forEach(
    Object.values(first.config.servers).filter(({ disabled }) => !disabled),
    ({ name }) => launch(name),
    { discard: true }
  )

  const relist: SessionPool["relist"] = ({ config: { name }, session }) =>
    listResources(session).pipe(
      Effect.timeoutOrElse({ duration: readTimeout, orElse: () => Effect.fail(tooSlow) }),
      Effect.tap((resources) =>
        change((states) => {
          const state = states.get(name)
          return isRunning(state) && state.session === session && !isSameText(state.resources, resources)
            ? new Map(states).set(name, { ...state, resources })
            : states
        })
      )
    )

  return {
    ready: () => offer().ready,
    shown: () => offer().shown,
    find: (name) => offer().ready.find(({ config }) => config.name === name),
    setup: () => setup,
    states: () => offer().states,
    changes: roster.changes,
    catalogue: () => offer().catalogue,
    relist,
    listed: (server, what) =>
      relist(server).pipe(
        Effect.timeout(Duration.times(readTimeout, 0.5)),
        Effect.catch(({ message: reason }) =>
          Effect.as(
            Effect.logWarning(`${what} as they were listed before`, { server: server.config.name, reason }),
            server.resources
          )
        )
      ),
    started: until((states) =>
      [...states.values()].every((state) => state._tag !== "Starting" || state.attempt > 1)
    ),
    start: (name) => Effect.andThen(command(name, begin(name)), settled(name)),
    stop: (name) => command(name, end(name)),
    restart: (name) => Effect.andThen(command(name, Effect.andThen(end(name), launch(name))), settled(name)),
    apply: (next) => alone(apply(next))
  }
})
