import { createHash, randomUUID } from "node:crypto"
import {
  Deferred,
  Duration,
  Effect,
  Exit,
  FiberSet,
  Latch,
  Layer,
  Option,
  Queue,
  type Redacted,
  Result,
  type Schema,
  Semaphore
} from "effect"
import {
  type Capacity,
  type Command,
  type Member,
  mayLeave,
  mayTake,
  OfficeRefusal,
  officeFull,
  registryUnavailable,
  seatTaken,
  type Seat,
  type Session,
  tooManyOffices,
  unbounded
} from "../../domain/office/membership.ts"
import { type Change, OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import { type Heard, LocalOffices } from "./LocalOffices.ts"
import {
  fieldOf,
  memberText,
  readJoined,
  readMessage,
  readReconciled,
  readRenewed,
  readSnapshot,
  seatAt
} from "./messages.ts"
import { connectScripts, type RedisAway, type RedisUrlInvalid, scriptPatience } from "./RedisScripts.ts"

/** What may be set about a registry in Redis. */
export interface RedisRegistryOptions {
  /** `redis://` or `rediss://`; it may hold a password. */
  readonly url: Redacted.Redacted<string>
  /** What all keys begin with; clusters with different ones know nothing of each other. Braces keep them in one slot. */
  readonly prefix?: string
  /** The name of this node, unique for every start; a random one unless given. */
  readonly node?: string
  /**
   * How long nobody can join a registry that has just begun, so that the members of all nodes come back before
   * newcomers when Redis has lost its data.
   */
  readonly settle?: Duration.Duration
}

/** A node that has not renewed its lease for so long is dead; with the pulse below its leaves are told in 4 seconds. */
const lease = Duration.seconds(3)
const pulse = Duration.millis(700)

/** All members of a node in one script: 10 000 take a fifth of a second. */
const reconcilePatience = Duration.seconds(5)

/** How long a join waits until it is heard on the channel; then it looks for itself. */
const echoPatience = Duration.millis(500)

/** How often a join is tried while the registry comes back. */
const joinAttempts = 4

/** Offices that are read at once. */
const readers = 32

/** What a limit that is none is for Redis. */
const whole = (limit: number): string => String(Math.min(limit, Number.MAX_SAFE_INTEGER))

/** What Redis knows a holder by: who can read it there cannot take anybody's place. */
const known = (holder: string): string =>
  holder === "" ? "" : createHash("sha256").update(holder).digest("hex")

const malformed = new OfficeRefusal({
  why: "malformed",
  message: "The names of members and rooms must be well-formed Unicode"
})

type Unread = RedisAway | Schema.SchemaError

/** A registry that all nodes with the same Redis and prefix share. Redis need not be there when it starts. */
export const layer = (options: RedisRegistryOptions): Layer.Layer<OfficeRegistry, RedisUrlInvalid> =>
  Layer.effect(OfficeRegistry, make(options))

const make = Effect.fnUntraced(function* ({
  node = randomUUID(),
  prefix = "{a2c}:",
  settle = Duration.seconds(1),
  url
}: RedisRegistryOptions) {
  const settling = String(Duration.toMillis(settle))
  const listeners = new Set<(change: Change) => void>()
  const local = new LocalOffices(node, (change) => {
    for (const listener of listeners) listener(change)
  })
  const locks = new Map<string, Semaphore.Semaphore>()
  const run = yield* FiberSet.makeRuntime<never>()
  const wake = yield* Queue.sliding<void>(1)
  // Open while what this node has told Redis and what Redis has told this node can be trusted.
  const steady = yield* Latch.make(false)
  const refreshing = new Map<string, { again: boolean }>()
  let trusted = false
  let dirty = true
  let recovering = false
  let recoveries = 0
  let nodes = 1

  /** Something may be missing there or here: compare everything as soon as Redis answers. */
  const distrust = Effect.sync(() => {
    dirty = true
    trusted = false
    steady.closeUnsafe()
    Queue.offerUnsafe(wake, undefined)
  })

  const distrusting = <A>(effect: Effect.Effect<A, Unread>): Effect.Effect<A, Unread> =>
    Effect.tapError(effect, (error) =>
      Effect.andThen(
        Effect.logDebug("the office registry did not answer", { reason: reasonOf(error) }),
        distrust
      )
    )

  const heard = (office: string, what: Heard) => {
    if (what === "stray") run(distrust)
    if (what === "missed" && !recovering) run(Effect.ignore(refresh(office)))
  }

  /** Reads an office anew. Whoever asks while it is read waits for nobody: it is read once more. */
  const refresh = (office: string): Effect.Effect<void, Unread> =>
    Effect.suspend(() => {
      const under = refreshing.get(office)
      if (under !== undefined) {
        under.again = true
        return Effect.void
      }
      const state = { again: false }
      refreshing.set(office, state)
      const read = Effect.flatMap(
        Effect.flatMap(scriptsOf.run("snapshot", [node, office]), readSnapshot),
        ([known, asOf, revision, members]) => {
          // Our members are missing there because this node was taken for dead, and not because they have left.
          if (known === "gone") return distrust
          if (local.follows(office)) heard(office, local.replace(office, { asOf, revision, members }))
          return Effect.void
        }
      )
      const again = Effect.suspend((): Effect.Effect<void, Unread> => {
        state.again = false
        return Effect.flatMap(read, () => (state.again ? again : Effect.void))
      })
      return distrusting(again).pipe(Effect.ensuring(Effect.sync(() => refreshing.delete(office))))
    })

  const onMessage = (text: string) => {
    const read = readMessage(text)
    if (Result.isFailure(read)) {
      run(Effect.logWarning("a message of the office registry cannot be read", read.failure))
      return
    }
    const message = read.success
    if ("gone" in message) {
      for (const listener of listeners) listener({ _tag: "NodeGone", node: message.gone })
      return
    }
    const { office, to } = message
    if ("all" in message) {
      // While the nodes come back what is there is not yet everything: those who are missing have not left.
      if (recovering && local.knows(office)) return
      heard(office, local.replace(office, { revision: to, asOf: to, members: message.all }))
      return
    }
    const { from } = message
    if ("entered" in message) {
      heard(office, local.step(office, { from, to, move: { _tag: "Entered", member: message.entered } }))
      return
    }
    const { field, replaced, sid } = message.left
    const move = { _tag: "Left", sid, seat: seatAt(office, field), replaced } as const
    heard(office, local.step(office, { from, to, move }))
  }

  const scriptsOf = yield* connectScripts({
    url,
    prefix,
    channel: `${prefix}to:${node}`,
    onReady: () => run(distrust),
    onMessage
  })
  const { ready } = scriptsOf

  const renew = Effect.gen(function* () {
    const renewed = Effect.flatMap(
      scriptsOf.run("renew", [node, String(Duration.toMillis(lease))]),
      readRenewed
    )
    const [state, count] = yield* distrusting(renewed)
    if (state === "ok") nodes = count
    else
      yield* Effect.andThen(Effect.logWarning("the other nodes took this one for dead", { node }), distrust)
  })

  /** Waits some milliseconds and stays alive for the others. */
  const lingering = Effect.fnUntraced(function* (millis: number) {
    for (let left = millis; left > 0; left -= Duration.toMillis(pulse)) {
      yield* Effect.sleep(Math.min(left, Duration.toMillis(pulse)))
      yield* renew
    }
  })

  /** Puts into Redis what this node knows of its members, then learns what Redis knows of the others'. */
  const recover = Effect.gen(function* () {
    dirty = false
    recovering = true
    recoveries++
    const { changing, seated } = local.standing()
    const [left, count, losers] = yield* Effect.flatMap(
      scriptsOf.run(
        "reconcile",
        [
          node,
          String(Duration.toMillis(lease)),
          String(local.highest()),
          settling,
          String(seated.length),
          ...seated.flatMap(([session, seat]) => [
            session.sid,
            seat.office,
            fieldOf(seat),
            textOf(session, seat),
            known(session.holder)
          ]),
          ...changing
        ],
        reconcilePatience
      ),
      readReconciled
    )
    nodes = count
    for (const sid of losers) local.evict(sid)
    yield* lingering(left)
    recovering = false
    yield* Effect.forEach(local.offices(), refresh, { concurrency: readers, discard: true })
    if (!dirty) {
      trusted = true
      yield* steady.open
      yield* Effect.logDebug("the office registry is up", { node, nodes })
    }
  }).pipe(
    distrusting,
    Effect.ensuring(
      Effect.sync(() => {
        recovering = false
      })
    )
  )

  const beat = Effect.suspend(() => {
    if (!ready()) return Effect.void
    return Effect.ignore(dirty ? recover : renew)
  })

  const textOf = ({ sid, version }: Session, seat: Seat): string => memberText({ sid, node, version, seat })

  const joinOnce = Effect.fnUntraced(function* (session: Session, seat: Seat, capacity: Capacity) {
    const reply = Effect.flatMap(
      scriptsOf.run("join", [
        node,
        session.sid,
        seat.office,
        fieldOf(seat),
        seat.name,
        textOf(session, seat),
        known(session.holder),
        whole(capacity.offices),
        whole(capacity.membersPerOffice)
      ]),
      readJoined
    )
    return yield* Effect.mapError(distrusting(reply), registryUnavailable)
  })

  const isSeated = (sid: string, office: string): boolean =>
    Option.exists(local.session(sid)?.seat ?? Option.none(), (seat) => seat.office === office)

  /** Waits until this node has heard of a join of its own, so that its members hear everything in order. */
  const echo = Effect.fnUntraced(function* (sid: string, office: string, entered: Deferred.Deferred<void>) {
    if (isSeated(sid, office)) return
    const heard = yield* Effect.timeoutOption(Deferred.await(entered), echoPatience)
    // It may have lost the seat again by now.
    if (Option.isSome(heard) || isSeated(sid, office)) return
    yield* Effect.ignore(refresh(office))
    if (isSeated(sid, office)) return
    yield* distrust
    return yield* registryUnavailable()
  })

  const takeSeat = Effect.fnUntraced(function* (
    session: Session,
    seat: Seat,
    capacity: Capacity,
    entered: Deferred.Deferred<void>
  ) {
    for (let attempt = 0; attempt < joinAttempts; attempt++) {
      if (!ready()) return yield* registryUnavailable()
      const waited = yield* Effect.timeoutOption(steady.await, Duration.sum(scriptPatience, settle))
      if (Option.isNone(waited)) return yield* registryUnavailable()
      const outcome = yield* joinOnce(session, seat, capacity)
      switch (outcome) {
        case "in":
          return yield* echo(session.sid, seat.office, entered)
        case "gone":
          yield* distrust
          break
        case "taken":
          return yield* seatTaken(seat)
        case "office full":
          return yield* officeFull(seat.office)
        case "too many offices":
          return yield* tooManyOffices()
      }
    }
    return yield* registryUnavailable()
  })

  const join = Effect.fnUntraced(function* (session: Session, seat: Seat, capacity: Capacity) {
    const allowed = yield* Effect.fromResult(mayTake(session, seat))
    if (allowed === "own") return
    if (!seat.name.isWellFormed() || !seat.office.isWellFormed()) return yield* malformed
    const entered = Deferred.makeUnsafe<void>()
    const done = local.joining(session.sid, seat.office, () => Deferred.doneUnsafe(entered, Exit.void))
    const before = recoveries
    yield* takeSeat(session, seat, capacity, entered).pipe(
      Effect.ensuring(Effect.sync(done)),
      // A seat that was changing has been left out when everything was compared.
      Effect.tapError(() => (before !== recoveries && Option.isSome(session.seat) ? distrust : Effect.void))
    )
  })

  /** Gives up whatever seat a session has: here at once, in Redis as soon as it answers. */
  const vacate = (sid: string) =>
    Effect.suspend(() => {
      local.leave(sid)
      return Effect.ignore(distrusting(scriptsOf.run("leave", [node, sid])))
    })

  const settleCommand = (
    command: Exclude<Command, { readonly _tag: "Connect" }>,
    capacity: Capacity
  ): Effect.Effect<void, OfficeRefusal> => {
    const session = local.session(command.sid)
    if (session === undefined) {
      return command._tag === "Disconnect"
        ? Effect.void
        : Effect.fail(new OfficeRefusal({ why: "not connected", message: "Not connected" }))
    }
    switch (command._tag) {
      case "Join": {
        const { name, office, role } = command
        return join(session, { office, role, name }, capacity)
      }
      case "Leave":
        return Effect.flatMap(Effect.fromResult(mayLeave(session, command.office)), () => vacate(command.sid))
      case "Disconnect": {
        const gone = Effect.sync(() => {
          local.disconnect(command.sid)
          locks.delete(command.sid)
        })
        return Option.isNone(session.seat) ? gone : Effect.ensuring(vacate(command.sid), gone)
      }
    }
  }

  const apply = (command: Command, capacity: Capacity = unbounded) =>
    Effect.suspend((): Effect.Effect<void, OfficeRefusal> => {
      if (command._tag === "Connect") {
        const { holder, role, sid, version } = command
        local.connect({ sid, node, version, role, holder, seat: Option.none() })
        locks.set(sid, Semaphore.makeUnsafe(1))
        return Effect.void
      }
      const lock = locks.get(command.sid)
      const settled = Effect.suspend(() => settleCommand(command, capacity))
      return lock === undefined ? settled : lock.withPermit(settled)
    })

  // A clean end tells the others at once; when Redis is away, the lease does.
  yield* Effect.addFinalizer(() => Effect.ignore(scriptsOf.run("depart", [node])))

  yield* Effect.timeoutOption(Queue.take(wake), scriptPatience)
  if (!ready())
    yield* Effect.logWarning("Redis cannot be reached yet: nobody can join until it can", { node })
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(beat, Effect.timeoutOption(Queue.take(wake), pulse)))
  )

  return OfficeRegistry.of({
    node,
    apply,
    follow: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      ),
    session: (sid) => Option.fromNullishOr(local.session(sid)),
    computerIn: (office, name) => local.computerIn(office, name),
    members: (office): ReadonlyArray<Member> => local.members(office),
    computerElsewhere: (office, name) =>
      Effect.matchEager(scriptsOf.run("elsewhere", [office, name]), {
        onSuccess: (found) => found === 1,
        onFailure: () =>
          local.offices().some((other) => other !== office && Option.isSome(local.computerIn(other, name)))
      }),
    state: () => ({ up: ready() && trusted, nodes, ...local.size() })
  })
})

const reasonOf = (error: Unread): string => (error._tag === "RedisAway" ? error.reason : error.message)
