import { Effect, Option, type Scope, Semaphore, Stream, SubscriptionRef } from "effect"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import { makeChangeNotifier } from "../office/ChangeNotifier.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { type ServersSnapshot, makeServersSnapshot, type ServerStates } from "./ServersSnapshot.ts"

/** Where every MCP server of a Computer stands, and what they offer together. */
export interface ServerStateStore {
  readonly snapshot: () => ServersSnapshot
  /** The states now, and after every change. */
  readonly changes: Stream.Stream<ServerStates>
  /** Changes the states, and announces whatever the office now sees differently. */
  readonly update: (transition: (states: ServerStates) => ServerStates) => Effect.Effect<void>
  /** Announces a part that has changed in a way the states do not show. */
  readonly markChanged: (part: ComputerPart) => Effect.Effect<void>
  /** Waits until this holds, and has been announced. */
  readonly waitUntil: (predicate: (states: ServerStates) => boolean) => Effect.Effect<void>
}

const logHiddenTools = (before: ServersSnapshot, after: ServersSnapshot): Effect.Effect<void> => {
  if (before.catalogue === after.catalogue) return Effect.void
  return Effect.forEach(
    after.catalogue.hidden.filter(
      ({ name, server }) => !before.catalogue.hidden.some((one) => one.server === server && one.name === name)
    ),
    ({ name, originalName, reason, server }) => {
      const fields = { server, tool: originalName, name, reason }
      return reason === "forbidden"
        ? Effect.logDebug("tool hidden", fields)
        : Effect.logWarning("tool hidden", fields)
    },
    { discard: true }
  )
}

/** So many hosts that have come to clash are told at once: who lists thousands has made one mistake. */
const maxLoggedConflicts = 10

/** Warns of hosts that several servers have, when they come to have them (spec §10.3). */
const logHostConflicts = (before: ServersSnapshot, after: ServersSnapshot): Effect.Effect<void> => {
  if (before.hostConflicts === after.hostConflicts) return Effect.void
  const known = new Set(before.hostConflicts.map((conflict) => JSON.stringify(conflict)))
  return Effect.forEach(
    after.hostConflicts
      .filter((conflict) => !known.has(JSON.stringify(conflict)))
      .slice(0, maxLoggedConflicts),
    ({ host, servers }) =>
      Effect.logWarning("several servers have the same host; its documents are those of the first one", {
        host,
        servers
      }),
    { discard: true }
  )
}

/** A roster of servers in these states; `tell` hears which part of the Computer has changed, exactly when it did. */
export const makeServerStateStore = Effect.fnUntraced(function* (
  initial: ServerStates,
  notify: (part: ComputerPart) => Effect.Effect<void>
): Effect.fn.Return<ServerStateStore, never, Scope.Scope> {
  const { changeThrottle, showUnsubscribable } = yield* ComputerSettings
  const initialSnapshot = makeServersSnapshot(initial, showUnsubscribable)
  const snapshots = yield* SubscriptionRef.make(initialSnapshot)
  const { observe, markChanged } = yield* makeChangeNotifier(
    notify,
    initialSnapshot.fingerprints,
    changeThrottle
  )
  const changes = Stream.map(SubscriptionRef.changes(snapshots), ({ states }) => states)
  /** Changes are announced in the order in which they happen. */
  const updateLock = yield* Semaphore.make(1)

  return {
    snapshot: () => SubscriptionRef.getUnsafe(snapshots),
    changes,
    update: Effect.fnUntraced(function* (transition) {
      type Transition = readonly [before: ServersSnapshot, after: ServersSnapshot]
      const [before, after] = yield* SubscriptionRef.modifySome<ServersSnapshot, Transition>(
        snapshots,
        (current) => {
          const states = transition(current.states)
          if (states === current.states) return [[current, current], Option.none()]
          const next = makeServersSnapshot(states, showUnsubscribable, current)
          return [[current, next], Option.some(next)]
        }
      )
      yield* logHiddenTools(before, after)
      yield* logHostConflicts(before, after)
      yield* observe(after.fingerprints)
    }, Semaphore.withPermit(updateLock)),
    markChanged,
    waitUntil: (predicate) =>
      changes.pipe(
        Stream.filter(predicate),
        Stream.runHead,
        Effect.andThen(updateLock.withPermit(Effect.void))
      )
  }
})
