import { Duration, Effect, Fiber, Schedule, type Scope } from "effect"
import type { Cast, Load } from "./cast.ts"
import { diagnose } from "./diagnosis.ts"
import { type Fault, faultsOf, slowKinds } from "./faults.ts"
import { type Fleet, startFleet } from "./Fleet.ts"
import type { Pair, Tally } from "./Ledger.ts"
import { type Planned, planOf } from "./plan.ts"

/** What a run is made of. */
export interface ChaosOptions {
  readonly cast: Cast
  /** How long things go wrong. */
  readonly seconds: number
  readonly seed: number
  /** Leaves out what takes longer to heal than a short run lasts. */
  readonly quick: boolean
  readonly note: (line: string) => void
}

/** What is known of a fault afterwards. Times in milliseconds. */
export interface Recovery {
  readonly kind: string
  readonly pair: string
  /** From when it could begin until a call was answered; missing when none was. */
  readonly millis: number | undefined
  /** Did something else go wrong for the same pair meanwhile? */
  readonly disturbed: boolean
}

/** What a run has found. */
export interface ChaosReport {
  readonly seed: number
  readonly seconds: number
  readonly tally: Tally
  /** How often each kind of fault happened. */
  readonly faults: { readonly [kind: string]: number }
  readonly recoveries: ReadonlyArray<Recovery>
  /** Pairs that did not work again after all faults. */
  readonly dead: ReadonlyArray<string>
  /** Processes that ended without being killed, and their last words. */
  readonly deaths: ReadonlyArray<string>
  /** What can be known of why those pairs do not. */
  readonly diagnosis: ReadonlyArray<string>
}

/** A call every 50 ms for each pair, that has five seconds and takes 20 ms. */
const load: Load = { every: 50, work: 20, timeout: 5, grace: 5000 }

/** Seconds that it may take until every pair works, at first and after all faults. */
const startTime = 60
const recoveryTime = 60

/** Seconds that the last calls may take to end. */
const drainTime = load.timeout + load.grace / 1000 + 1

/** Seconds for all that needs no time of its own: beginning and ending faults, asking what is wrong, ending processes. */
const spareTime = 30

/** How many seconds a run takes at most in which things go wrong for so many. */
export const maxSecondsOf = (seconds: number): number =>
  startTime + seconds + recoveryTime + drainTime + spareTime

const formatPair = ({ agent, computer }: Pair) => `${agent} → ${computer}`

/** A fault that has happened, at times in milliseconds since the process began. */
interface Struck {
  readonly fault: Fault
  readonly pairs: ReadonlyArray<Pair>
  readonly began: number
  readonly ended: number
}

const strike = Effect.fnUntraced(function* ({ fault, lasting }: Planned, note: ChaosOptions["note"]) {
  const pairs = fault.affected()
  note(`${fault.kind} (${fault.part}, ${lasting.toFixed(1)} s)`)
  const began = performance.now()
  yield* fault.begin
  yield* Effect.sleep(lasting * 1000)
  yield* fault.end
  return { fault, pairs, began, ended: performance.now() }
})

/** Lets happen what is planned, and ends when all of it is over. */
const strikeAll = Effect.fnUntraced(function* (plan: ReadonlyArray<Planned>, note: ChaosOptions["note"]) {
  const begun = performance.now()
  const fibers = yield* Effect.forEach(plan, (planned) => {
    const strikes = Effect.suspend(() => strike(planned, note))
    const wait = planned.at * 1000 - (performance.now() - begun)
    return Effect.forkChild(Effect.delay(strikes, Math.max(0, wait)))
  })
  return yield* Effect.forEach(fibers, Fiber.join)
})

/** The pairs of which no call has been answered since this moment, when all have or the time is up. */
const deadSince = ({ ledger, pairs }: Fleet, since: number, seconds: number) => {
  const dead = Effect.sync(() => pairs.filter((pair) => ledger.answeredSince(pair, since) === undefined))
  return Effect.repeat(dead, {
    until: (those) => those.length === 0,
    schedule: Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: Duration.seconds(seconds) }))
  }).pipe(Effect.andThen(dead))
}

const recoveriesOf = (struck: ReadonlyArray<Struck>, { ledger }: Fleet): ReadonlyArray<Recovery> =>
  struck.flatMap((one) =>
    one.pairs.map((pair): Recovery => {
      const from = one.fault.heals ? one.began : one.ended
      const answered = ledger.answeredSince(pair, from)
      const until = answered ?? Number.POSITIVE_INFINITY
      const disturbed = struck.some(
        (other) =>
          other !== one &&
          other.began < until &&
          other.ended >= from &&
          other.pairs.some((another) => formatPair(another) === formatPair(pair))
      )
      return {
        kind: one.fault.kind,
        pair: formatPair(pair),
        millis: answered === undefined ? undefined : answered - from,
        disturbed
      }
    })
  )

const deathsOf = ({ agents, computers, servers }: Fleet): ReadonlyArray<string> =>
  [...servers, ...agents, ...computers].flatMap(({ kept, name }) =>
    kept.deaths.map((words) => `${name} ended by itself: ${words}`)
  )

/** Waits until every call has ended, or is late. */
const drained = ({ ledger }: Fleet) =>
  Effect.repeat(
    Effect.sync(() => ledger.isWaiting()),
    {
      until: (waiting) => !waiting,
      schedule: Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: Duration.seconds(drainTime) }))
    }
  )

/** Lets calls run while things go wrong, and counts. It dies when not even the start works. */
export const runChaos = Effect.fnUntraced(function* ({
  cast,
  note,
  quick,
  seconds,
  seed
}: ChaosOptions): Effect.fn.Return<ChaosReport, never, Scope.Scope> {
  const fleet = yield* startFleet(cast, load)
  const never = yield* deadSince(fleet, 0, startTime)
  if (never.length > 0) {
    const reason = yield* diagnose(fleet, never, 0)
    const pairs = never.map(formatPair).join(", ")
    return yield* Effect.die(
      new Error([`not even at first: ${pairs}`, ...reason, ...deathsOf(fleet)].join("\n"))
    )
  }
  note("everything works; now things go wrong")
  const faults = faultsOf(fleet).filter(({ kind }) => !(quick && slowKinds.has(kind)))
  const plan = yield* planOf(faults, seconds, seed)
  const struck = yield* strikeAll(plan, note)
  note("all is over; waiting until everything works again")
  const over = performance.now()
  const dead = yield* deadSince(fleet, over, recoveryTime)
  const diagnosis = dead.length === 0 ? [] : yield* diagnose(fleet, dead, over)
  yield* Effect.forEach(fleet.agents, ({ rest }) => rest, { discard: true })
  yield* drained(fleet)
  const kinds = Map.groupBy(plan, ({ fault }) => fault.kind)
  return {
    seed,
    seconds,
    tally: fleet.ledger.tally(fleet.executions()),
    faults: Object.fromEntries([...kinds].map(([kind, those]) => [kind, those.length])),
    recoveries: recoveriesOf(struck, fleet),
    dead: dead.map(formatPair),
    deaths: deathsOf(fleet),
    diagnosis
  }
})
