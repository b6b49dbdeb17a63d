import { Duration, Effect, Fiber, Schedule, type Scope } from "effect"
import type { Members, Load } from "./members.ts"
import { diagnose } from "./diagnosis.ts"
import { type Fault, faultsOf, slowKinds } from "./faults.ts"
import { type Fleet, startFleet } from "./Fleet.ts"
import type { Pair, Tally } from "./Ledger.ts"
import type { Outage } from "./outages.ts"
import { type Planned, planOf } from "./plan.ts"

/** Options of a run. */
export interface ChaosOptions {
  readonly members: Members
  /** Duration of the faults. */
  readonly seconds: number
  readonly seed: number
  /** Omits faults that take longer to heal than a short run. */
  readonly quick: boolean
  readonly note: (line: string) => void
}

/** Result of a fault. Times are in milliseconds. */
export interface Recovery {
  readonly kind: string
  readonly pair: string
  /** Time from the first possible recovery to the first successful call; undefined without one. */
  readonly millis: number | undefined
  /** True when another fault affected the same pair meanwhile. */
  readonly disturbed: boolean
}

/** Results of a run. */
export interface ChaosReport {
  readonly seed: number
  readonly seconds: number
  readonly tally: Tally
  /** Number of faults of each kind. */
  readonly faults: { readonly [kind: string]: number }
  readonly recoveries: ReadonlyArray<Recovery>
  readonly outages: ReadonlyArray<Outage>
  /** Pairs that did not recover after all faults. */
  readonly dead: ReadonlyArray<string>
  /** Processes that ended unexpectedly, with their last lines. */
  readonly deaths: ReadonlyArray<string>
  /** Diagnosis of these pairs. */
  readonly diagnosis: ReadonlyArray<string>
}

/** Each pair makes a call of 20 ms every 50 ms, with a timeout of 5 seconds. */
const load: Load = { every: 50, work: 20, timeout: 5, grace: 5000 }

/** Maximum seconds until every pair works, at the start and after all faults. */
const startTime = 60
const recoveryTime = 60

/** Maximum seconds for the last calls to end. */
const drainTime = load.timeout + load.grace / 1000 + 1

/** Seconds for all other steps: faults, diagnosis and the end of processes. */
const spareTime = 30

/** Maximum seconds of a run with this duration of faults. */
export const maxSecondsOf = (seconds: number): number => startTime + seconds + recoveryTime + drainTime + spareTime

const formatPair = ({ agent, computer }: Pair) => `${agent} → ${computer}`

/** A fault. Times are in milliseconds since the start of the process. */
interface Struck {
  readonly fault: Fault
  readonly pairs: ReadonlyArray<Pair>
  readonly began: number
  readonly ended: number
  readonly outage: Outage | undefined
}

/** A fault, its end included, for as long as it may have effects. */
interface Active {
  readonly part: string
  ended?: number
}

/** Milliseconds after a fault in which its part may differ from others. */
const aftermath = 5000

const strike = Effect.fnUntraced(function* (
  { fault, lasting }: Planned,
  strikes: Array<Active>,
  note: ChaosOptions["note"]
) {
  const pairs = fault.affected()
  note(`${fault.kind} (${fault.part}, ${lasting.toFixed(1)} s)`)
  const began = performance.now()
  const active: Active = { part: fault.part }
  strikes.push(active)
  const observed = fault.observe?.()
  yield* fault.begin
  yield* Effect.sleep(lasting * 1000)
  const outage = observed?.((part) =>
    strikes.some((one) => one.part === part && (one.ended === undefined || one.ended > began - aftermath))
  )
  yield* fault.end
  active.ended = performance.now()
  return { fault, pairs, began, ended: active.ended, outage }
})

/** Runs the planned faults and waits for all of them. */
const strikeAll = Effect.fnUntraced(function* (plan: ReadonlyArray<Planned>, note: ChaosOptions["note"]) {
  const begun = performance.now()
  const strikes: Array<Active> = []
  const fibers = yield* Effect.forEach(plan, (planned) => {
    const once = Effect.suspend(() => strike(planned, strikes, note))
    const wait = planned.at * 1000 - (performance.now() - begun)
    return Effect.forkChild(Effect.delay(once, Math.max(0, wait)))
  })
  return yield* Effect.forEach(fibers, Fiber.join)
})

/** The pairs without a successful call since this moment, once all have one or the time is up. */
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
    kept.deaths.map((words) => `${name} ended unexpectedly: ${words}`)
  )

/** Waits until every call has ended or is overdue. */
const drained = ({ ledger }: Fleet) =>
  Effect.repeat(
    Effect.sync(() => ledger.isWaiting()),
    {
      until: (waiting) => !waiting,
      schedule: Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: Duration.seconds(drainTime) }))
    }
  )

/** Runs calls during faults and counts the outcomes. Dies when the pairs do not work at the start. */
export const runChaos = Effect.fnUntraced(function* ({
  members,
  note,
  quick,
  seconds,
  seed
}: ChaosOptions): Effect.fn.Return<ChaosReport, never, Scope.Scope> {
  const fleet = yield* startFleet(members, load)
  const never = yield* deadSince(fleet, 0, startTime)
  if (never.length > 0) {
    const reason = yield* diagnose(fleet, never, 0)
    const pairs = never.map(formatPair).join(", ")
    return yield* Effect.die(
      new Error([`not working at the start: ${pairs}`, ...reason, ...deathsOf(fleet)].join("\n"))
    )
  }
  if (fleet.servers.every(({ wayToLinks }) => wayToLinks.connections().carrying === 0)) {
    return yield* Effect.die(new Error("the links between Servers do not pass through their proxies"))
  }
  note("all pairs work; starting faults")
  const faults = faultsOf(fleet).filter(({ kind }) => !(quick && slowKinds.has(kind)))
  const plan = yield* planOf(faults, seconds, seed)
  const struck = yield* strikeAll(plan, note)
  note("faults are over; waiting until all pairs work")
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
    outages: struck.flatMap(({ outage }) => (outage === undefined ? [] : [outage])),
    dead: dead.map(formatPair),
    deaths: deathsOf(fleet),
    diagnosis
  }
})
