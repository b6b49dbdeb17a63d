import { Effect, type Scope, Semaphore, Stream, SubscriptionRef } from "effect"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { Naming } from "../../../domain/tools/naming.ts"
import { makeChangeNotifier } from "../ChangeNotifier.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import {
  isFirstAttempt,
  makeSnapshotBuilder,
  type ServersSnapshot,
  type ServerState,
  type ServerStates
} from "./ServersSnapshot.ts"

export interface ServerStateStore {
  readonly snapshot: () => ServersSnapshot
  /** The current states, then every change. */
  readonly changes: Stream.Stream<ServerStates>
  /** Changes the states and announces the parts that differ for the office. */
  readonly update: (transition: (states: ServerStates) => ServerStates) => Effect.Effect<void>
  /** Changes the state of one server like `update`; `undefined` keeps it. */
  readonly updateServer: (
    name: string,
    transition: (state: ServerState | undefined) => ServerState | undefined
  ) => Effect.Effect<void>
  /** Names servers and tools in another way. */
  readonly setNaming: (naming: Naming) => Effect.Effect<void>
  /** Announces a change that the states do not show. */
  readonly markChanged: (part: ComputerPart) => Effect.Effect<void>
  /** Waits until the predicate holds and the change is announced. */
  readonly waitUntil: (predicate: (states: ServerStates) => boolean) => Effect.Effect<void>
}

/** Maximum number of conflicts that are logged at a time: one mistake can cause thousands. */
const maxLoggedConflicts = 10

const addedItems = <A>(before: ReadonlyArray<A>, after: ReadonlyArray<A>, keyOf: (item: A) => string) => {
  if (before === after) return []
  const known = new Set(before.map(keyOf))
  return after.filter((item) => !known.has(keyOf(item)))
}

/** What the owner of a Computer may want to correct. */
type Problems = Pick<ServersSnapshot, "hostConflicts"> & Pick<ServersSnapshot["catalogue"], "hidden" | "invalidTags">

const problemsOf = ({ catalogue: { hidden, invalidTags }, hostConflicts }: ServersSnapshot): Problems => ({
  hidden,
  invalidTags,
  hostConflicts
})

/** Logs tools that became hidden, and new conflicts between servers with the same document host (spec §10.3). */
const logNewProblems = Effect.fnUntraced(function* (before: Problems, after: Problems) {
  const hidden = addedItems(before.hidden, after.hidden, ({ name, server }) => JSON.stringify([server, name]))
  for (const { name, originalName, reason, server } of hidden) {
    const fields = { server, tool: originalName, name, reason }
    yield* reason === "forbidden" ? Effect.logDebug("tool hidden", fields) : Effect.logWarning("tool hidden", fields)
  }
  const invalidTags = addedItems(before.invalidTags, after.invalidTags, (tool) => JSON.stringify(tool))
  for (const { originalName, server } of invalidTags) {
    yield* Effect.logWarning("declared tags ignored", { server, tool: originalName, reason: "not a list of texts" })
  }
  const conflicts = addedItems(before.hostConflicts, after.hostConflicts, (conflict) => JSON.stringify(conflict))
  for (const { host, servers } of conflicts.slice(0, maxLoggedConflicts)) {
    yield* Effect.logWarning("document host conflict", { host, servers, using: servers[0] })
  }
})

/** True when a first start attempt ended: Agents may wait for its tools. */
const hasEndedStart = (before: ServersSnapshot, { states }: ServersSnapshot): boolean =>
  before.starting.some((name) => !isFirstAttempt(states.get(name)))

/** Makes a store of the states of all MCP servers of a Computer; `notify` announces a changed part of the Computer. */
export const makeServerStateStore = Effect.fnUntraced(function* (
  initial: ServerStates,
  notify: (part: ComputerPart) => Effect.Effect<void>
): Effect.fn.Return<ServerStateStore, never, Scope.Scope> {
  const { changeThrottle, showUnsubscribable } = yield* ComputerSettings
  const buildSnapshot = makeSnapshotBuilder(showUnsubscribable)
  const initialSnapshot = buildSnapshot(initial)
  const snapshots = yield* SubscriptionRef.make(initialSnapshot)
  const snapshot = () => SubscriptionRef.getUnsafe(snapshots)

  let logged = problemsOf(initialSnapshot)
  const logProblems = Effect.uninterruptible(
    Effect.suspend(() => {
      const before = logged
      logged = problemsOf(snapshot())
      return logNewProblems(before, logged)
    })
  )
  yield* Effect.addFinalizer(() => logProblems)

  const { observe, markChanged } = yield* makeChangeNotifier<ComputerPart | "problems">(
    (part) => (part === "problems" ? logProblems : notify(part)),
    () => snapshot().fingerprints,
    changeThrottle
  )
  const changes = Stream.map(SubscriptionRef.changes(snapshots), ({ states }) => states)
  /** Keeps the announcements in the order of the changes. */
  const updateLock = yield* Semaphore.make(1)

  const replace = Effect.fnUntraced(function* (
    next: (before: ServersSnapshot) => { readonly states?: ServerStates; readonly naming?: Naming }
  ) {
    const before = snapshot()
    const { naming = before.naming, states = before.states } = next(before)
    if (states === before.states && naming === before.naming) return
    const after = buildSnapshot(states, naming)
    yield* SubscriptionRef.set(snapshots, after)
    if (after.running !== before.running || naming !== before.naming) yield* markChanged("problems")
    if (hasEndedStart(before, after)) yield* markChanged("toolList")
    yield* observe
  }, Semaphore.withPermit(updateLock))

  const update: ServerStateStore["update"] = (transition) => replace(({ states }) => ({ states: transition(states) }))

  return {
    snapshot,
    changes,
    update,
    updateServer: (name, transition) =>
      update((states) => {
        const state = states.get(name)
        const next = transition(state)
        return next === undefined || next === state ? states : new Map(states).set(name, next)
      }),
    setNaming: (naming) => replace(() => ({ naming })),
    markChanged,
    waitUntil: (predicate) =>
      changes.pipe(Stream.filter(predicate), Stream.runHead, Effect.andThen(updateLock.withPermit(Effect.void)))
  }
})
