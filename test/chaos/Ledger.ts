import type { Outcome } from "./orders.ts"

/** An Agent and a Computer that it calls. */
export interface Pair {
  readonly agent: string
  readonly computer: string
}

/** One call, at times in milliseconds since the process began. */
interface Call {
  readonly id: string
  readonly pair: Pair
  /** Which process of the Agent makes it. */
  readonly life: string
  readonly startedAt: number
  /** For how long its Agent had stood still by then. */
  readonly stillBefore: number
  endedAt?: number
  outcome?: Outcome
  /** Its Agent has died before it ended. */
  abandoned?: boolean
  /** It took longer than it may. */
  late?: boolean
}

/** An execution of a call at a Computer. */
export interface Execution {
  readonly id: string
  readonly computer: string
}

/** What became of all calls. */
export interface Tally {
  readonly started: number
  readonly answered: number
  /** Those that ended with an error, by the error. */
  readonly failed: { readonly [error: string]: number }
  /** Those whose Agent was killed before they ended. */
  readonly abandoned: number
  /** Those that never ended, or not within their time. */
  readonly lost: ReadonlyArray<string>
  /** Those that ended with something else than an answer or an error of the protocol. */
  readonly broken: ReadonlyArray<string>
  /** Those that got an answer that is not theirs, or that no execution can have given. */
  readonly wrong: ReadonlyArray<string>
  /** Those that ended, or were acknowledged, more than once. */
  readonly twice: ReadonlyArray<string>
  readonly executed: number
  readonly executedTwice: ReadonlyArray<string>
  /** Executions at another Computer than was asked, or of calls that nobody made. */
  readonly stray: ReadonlyArray<string>
}

const isPair = (one: Pair, { agent, computer }: Pair) => one.agent === agent && one.computer === computer

/** How a call has ended, in a word or two. */
const endOf = ({ abandoned, outcome }: Call): string => {
  if (outcome === undefined) return abandoned === true ? "abandoned" : "under way"
  switch (outcome._tag) {
    case "Answered":
      return "answered"
    case "Failed":
      return outcome.error
    case "Broken":
      return "broken"
  }
}

/** Every call there was. `patience` is how long a call may take until it counts as lost, in milliseconds. */
export class Ledger {
  readonly #calls = new Map<string, Call>()
  readonly #twice: Array<string> = []
  /** Lives of Agents that ended while calls were under way: the last ones may not have been reported. */
  readonly #dead = new Set<string>()
  readonly #callTimeout: number
  /** For how long an Agent has stood still so far: its clock runs on, but it cannot look at it. */
  readonly #still: (agent: string) => number

  constructor(callTimeout: number, still: (agent: string) => number) {
    this.#callTimeout = callTimeout
    this.#still = still
  }

  started(id: string, pair: Pair, life: string): void {
    const stillBefore = this.#still(pair.agent)
    this.#calls.set(id, { id, pair, life, startedAt: performance.now(), stillBefore })
  }

  ended(id: string, outcome: Outcome): void {
    const call = this.#calls.get(id)
    if (call === undefined || call.endedAt !== undefined) return void this.#twice.push(id)
    call.late = this.#isOverdue(call)
    call.endedAt = performance.now()
    call.outcome = outcome
  }

  /** A request that was acknowledged more than once. */
  acknowledgedTwice(request: string): void {
    this.#twice.push(request)
  }

  /** An Agent's process has ended: nobody waits for its calls. */
  died(life: string): void {
    this.#dead.add(life)
    for (const call of this.#calls.values()) {
      if (call.life === life && call.endedAt === undefined) call.abandoned = true
    }
  }

  /** Is any call under way that may still end in time? */
  isWaiting(): boolean {
    return this.#open().some((call) => !this.#isOverdue(call))
  }

  /** When the first call of a pair that began after this moment was answered rightly; nothing if none was. */
  answeredSince(pair: Pair, since: number): number | undefined {
    let first: number | undefined
    for (const { endedAt, outcome, pair: own, startedAt } of this.#calls.values()) {
      if (startedAt < since || endedAt === undefined || outcome?._tag !== "Answered") continue
      if (isPair(own, pair) && (first === undefined || endedAt < first)) first = endedAt
    }
    return first
  }

  /** What became of the calls of a pair that began after this moment: how many ended how, or are under way. */
  since(pair: Pair, moment: number): { readonly [end: string]: number } {
    const those = [...this.#calls.values()].filter(
      (call) => call.startedAt >= moment && isPair(call.pair, pair)
    )
    return Object.fromEntries(
      [...Map.groupBy(those, endOf)].map(([end, calls]) => [end, calls.length] as const)
    )
  }

  tally(executions: ReadonlyArray<Execution>): Tally {
    const calls = [...this.#calls.values()]
    const times = Map.groupBy(executions, ({ id }) => id)
    const those = (holds: (call: Call) => boolean) => calls.filter(holds).map(({ id }) => id)
    const isRight = ({ id, outcome }: Call) =>
      outcome?._tag === "Answered" && outcome.text === id && times.has(id)
    const failed = calls.flatMap(({ outcome }) => (outcome?._tag === "Failed" ? [outcome.error] : []))
    return {
      started: calls.length,
      answered: those(isRight).length,
      failed: Object.fromEntries(
        [...Map.groupBy(failed, (error) => error)]
          .map(([error, all]) => [error, all.length] as const)
          .toSorted(([, one], [, other]) => other - one)
      ),
      abandoned: those(({ abandoned }) => abandoned === true).length,
      lost: those((call) => call.late === true || (call.endedAt === undefined && call.abandoned !== true)),
      broken: calls.flatMap(({ id, outcome }) =>
        outcome?._tag === "Broken" ? [`${id}: ${outcome.cause}`] : []
      ),
      wrong: those((call) => call.outcome?._tag === "Answered" && !isRight(call)),
      twice: this.#twice,
      executed: executions.length,
      executedTwice: [...times].filter(([, all]) => all.length > 1).map(([id]) => id),
      stray: executions.filter((one) => this.#isStray(one)).map(({ computer, id }) => `${id} at ${computer}`)
    }
  }

  #open(): ReadonlyArray<Call> {
    return [...this.#calls.values()].filter((call) => call.endedAt === undefined && call.abandoned !== true)
  }

  #isOverdue({ pair, startedAt, stillBefore }: Call): boolean {
    const still = this.#still(pair.agent) - stillBefore
    return performance.now() - startedAt > this.#callTimeout + still
  }

  #isStray({ computer, id }: Execution): boolean {
    const call = this.#calls.get(id)
    if (call !== undefined) return call.pair.computer !== computer
    return !this.#dead.has(id.slice(0, id.lastIndexOf("-")))
  }
}
