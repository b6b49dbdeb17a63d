import { Effect, Option, Semaphore, Stream, SubscriptionRef } from "effect"
import type { McpServers } from "../../../domain/mcpServers/reload.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import { isShallowEqual } from "../../../domain/objects.ts"
import type { Naming } from "../../../domain/tools/naming.ts"
import { makeChangeNotifier } from "../ChangeNotifier.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import {
  isFirstAttempt,
  makeSnapshotBuilder,
  type OfferedServer,
  type ServersSnapshot,
  type ServerStates,
  toServerState
} from "./ServersSnapshot.ts"

type Servers = McpServers<OfferedServer>

export type ServerStateStore = Effect.Success<ReturnType<typeof makeServerStateStore>>

/** Maximum number of conflicts that are logged at a time: one mistake can cause thousands. */
const maxLoggedConflicts = 10

const addedItems = <A>(before: ReadonlyArray<A>, after: ReadonlyArray<A>, keyOf: (item: A) => string) => {
  if (before === after) return []
  const known = new Set(before.map(keyOf))
  return after.filter((item) => !known.has(keyOf(item)))
}

/** What the owner of a Computer may want to correct. */
const problemsOf = ({ catalogue: { hidden, invalidTags }, hostConflicts }: ServersSnapshot) => ({
  hidden,
  invalidTags,
  hostConflicts
})
type Problems = ReturnType<typeof problemsOf>

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

interface Cell {
  readonly servers: Servers
  readonly snapshot: ServersSnapshot
}

/** The states of servers. Those of unchanged ones stay the same objects. */
const statesOf = (servers: Servers, before: Cell): ServerStates =>
  new Map(
    [...servers].map(([name, server]) => {
      const previous = before.servers.get(name)
      const state = before.snapshot.states.get(name)
      // A request that starts an idle server does not show.
      const isSame =
        server === previous ||
        (server._tag === "Waking" && previous?._tag === "Idle" && server.offer === previous.offer)
      return [name, state !== undefined && isSame ? state : toServerState(server)]
    })
  )

/** Makes a store of the MCP servers of a Computer; `notify` announces a changed part of the Computer. */
export const makeServerStateStore = Effect.fnUntraced(function* (
  initial: Servers,
  notify: (part: ComputerPart) => Effect.Effect<void>
) {
  const { changeThrottle, showUnsubscribable } = yield* ComputerSettings
  const buildSnapshot = makeSnapshotBuilder(showUnsubscribable)
  const initialSnapshot = buildSnapshot(new Map([...initial].map(([name, server]) => [name, toServerState(server)])))
  const cell = yield* SubscriptionRef.make<Cell>({ servers: initial, snapshot: initialSnapshot })
  const snapshot = () => SubscriptionRef.getUnsafe(cell).snapshot

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
  /** Keeps the announcements in the order of the changes. */
  const updateLock = yield* Semaphore.make(1)

  const replace = Effect.fnUntraced(function* <A>(
    change: (before: Cell) => readonly [A, { readonly servers: Servers; readonly naming: Naming }]
  ) {
    const before = SubscriptionRef.getUnsafe(cell)
    const result = yield* SubscriptionRef.modifySome(cell, (current): readonly [A, Option.Option<Cell>] => {
      const [result, { naming, servers }] = change(current)
      const { snapshot } = current
      if (servers === current.servers && naming === snapshot.naming) return [result, Option.none()]
      const states = statesOf(servers, current)
      const isShown = naming !== snapshot.naming || !isShallowEqual([...states].flat(), [...snapshot.states].flat())
      return [result, Option.some({ servers, snapshot: isShown ? buildSnapshot(states, naming) : snapshot })]
    })
    const after = snapshot()
    if (after === before.snapshot) return result
    const { naming, running, starting } = before.snapshot
    if (after.running !== running || after.naming !== naming) yield* markChanged("problems")
    // Agents may wait for the tools of a server whose first start attempt has ended.
    if (starting.some((name) => !isFirstAttempt(after.states.get(name)))) yield* markChanged("toolList")
    yield* observe
    return result
  }, Semaphore.withPermit(updateLock))

  return {
    snapshot,
    /** The MCP servers in all details of their lives. */
    servers: () => SubscriptionRef.getUnsafe(cell).servers,
    /** The current states, then every change. */
    changes: SubscriptionRef.changes(cell).pipe(
      Stream.changesWith((one, other) => one.snapshot === other.snapshot),
      Stream.map(({ snapshot: { states } }) => states)
    ),
    /** Changes the servers at once, and announces the parts that differ for the office. */
    update: <A>(change: (servers: Servers) => readonly [A, Servers]): Effect.Effect<A> =>
      replace(({ servers, snapshot: { naming } }) => {
        const [result, next] = change(servers)
        return [result, { servers: next, naming }]
      }),
    setNaming: (naming: Naming): Effect.Effect<void> => replace(({ servers }) => [undefined, { servers, naming }]),
    markChanged,
    /** Waits until `select` gives a value for the servers and the change is announced. */
    waitFor: <A>(select: (servers: Servers) => A | undefined): Effect.Effect<A> =>
      SubscriptionRef.changes(cell).pipe(
        Stream.map(({ servers }) => select(servers)),
        Stream.filter((selected) => selected !== undefined),
        Stream.runHead,
        Effect.map(Option.getOrThrow),
        Effect.tap(() => updateLock.withPermit(Effect.void))
      )
  }
})
