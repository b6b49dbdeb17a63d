import type { Outcome } from "./orders.ts"

/** An Agent and the Computer that it calls. */
export interface Pair {
  readonly agent: string
  readonly computer: string
}

/** One call. Times are in milliseconds since the start of the process. */
interface Call {
  readonly id: string
  readonly pair: Pair
  /** The process of the Agent. */
  readonly life: string
  readonly startedAt: number
  /** Time for which its Agent had been stalled until then. */
  readonly pausedBefore: number
  endedAt?: number
  outcome?: Outcome
  /** The Agent died before the call ended. */
  abandoned?: boolean
  /** The call exceeded its timeout. */
  late?: boolean
}

/** An execution of a call by a Computer. */
export interface Execution {
  readonly id: string
  readonly computer: string
}

/** Outcomes of all calls. */
export interface Tally {
  readonly started: number
  readonly answered: number
  /** Number of failed calls by error. */
  readonly failed: { readonly [error: string]: number }
  /** Calls whose Agent was killed before they ended. */
  readonly abandoned: number
  /** Calls that did not end within their timeout. */
  readonly lost: ReadonlyArray<string>
  /** Calls that ended with neither a result nor a protocol error. */
  readonly broken: ReadonlyArray<string>
  /** Calls with the result of another call, or without an execution. */
  readonly wrong: ReadonlyArray<string>
  /** Calls that ended or were acknowledged more than once. */
  readonly twice: ReadonlyArray<string>
  readonly executed: number
  readonly executedTwice: ReadonlyArray<string>
  /** Executions at the wrong Computer, or of unknown calls. */
  readonly misplaced: ReadonlyArray<string>
}

const isPair = (one: Pair, { agent, computer }: Pair) => one.agent === agent && one.computer === computer

/** The outcome of a call in one or two words. */
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

/** Records all calls. A call is lost after `callTimeout` milliseconds. */
export class Ledger {
  readonly #calls = new Map<string, Call>()
  readonly #twice: Array<string> = []
  /** Agent processes that ended during calls: their last calls may not have been reported. */
  readonly #dead = new Set<string>()
  readonly #callTimeout: number
  /** Total stall of an Agent: its clock runs on meanwhile. */
  readonly #pausedMillis: (agent: string) => number

  constructor(callTimeout: number, pausedMillis: (agent: string) => number) {
    this.#callTimeout = callTimeout
    this.#pausedMillis = pausedMillis
  }

  started(id: string, pair: Pair, life: string): void {
    const pausedBefore = this.#pausedMillis(pair.agent)
    this.#calls.set(id, { id, pair, life, startedAt: performance.now(), pausedBefore })
  }

  ended(id: string, outcome: Outcome): void {
    const call = this.#calls.get(id)
    if (call === undefined || call.endedAt !== undefined) return void this.#twice.push(id)
    call.late = this.#isOverdue(call)
    call.endedAt = performance.now()
    call.outcome = outcome
  }

  acknowledgedTwice(request: string): void {
    this.#twice.push(request)
  }

  /** Abandons the calls of an Agent process that has ended. */
  died(life: string): void {
    this.#dead.add(life)
    for (const call of this.#calls.values()) {
      if (call.life === life && call.endedAt === undefined) call.abandoned = true
    }
  }

  /** True while a call may still end in time. */
  isWaiting(): boolean {
    return this.#open().some((call) => !this.#isOverdue(call))
  }

  /** Time of the first successful call of a pair that started after this moment. */
  answeredSince(pair: Pair, since: number): number | undefined {
    let first: number | undefined
    for (const { endedAt, outcome, pair: own, startedAt } of this.#calls.values()) {
      if (startedAt < since || endedAt === undefined || outcome?._tag !== "Answered") continue
      if (isPair(own, pair) && (first === undefined || endedAt < first)) first = endedAt
    }
    return first
  }

  /** Number of calls of a pair by outcome, for calls that started after this moment. */
  since(pair: Pair, moment: number): { readonly [end: string]: number } {
    const those = [...this.#calls.values()].filter((call) => call.startedAt >= moment && isPair(call.pair, pair))
    return Object.fromEntries([...Map.groupBy(those, endOf)].map(([end, calls]) => [end, calls.length] as const))
  }

  tally(executions: ReadonlyArray<Execution>): Tally {
    const calls = [...this.#calls.values()]
    const times = Map.groupBy(executions, ({ id }) => id)
    const those = (holds: (call: Call) => boolean) => calls.filter(holds).map(({ id }) => id)
    const isRight = ({ id, outcome }: Call) => outcome?._tag === "Answered" && outcome.text === id && times.has(id)
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
      broken: calls.flatMap(({ id, outcome }) => (outcome?._tag === "Broken" ? [`${id}: ${outcome.cause}`] : [])),
      wrong: those((call) => call.outcome?._tag === "Answered" && !isRight(call)),
      twice: this.#twice,
      executed: executions.length,
      executedTwice: [...times].filter(([, all]) => all.length > 1).map(([id]) => id),
      misplaced: executions.filter((one) => this.#isMisplaced(one)).map(({ computer, id }) => `${id} at ${computer}`)
    }
  }

  #open(): ReadonlyArray<Call> {
    return [...this.#calls.values()].filter((call) => call.endedAt === undefined && call.abandoned !== true)
  }

  #isOverdue({ pair, startedAt, pausedBefore }: Call): boolean {
    const paused = this.#pausedMillis(pair.agent) - pausedBefore
    return performance.now() - startedAt > this.#callTimeout + paused
  }

  #isMisplaced({ computer, id }: Execution): boolean {
    const call = this.#calls.get(id)
    if (call !== undefined) return call.pair.computer !== computer
    return !this.#dead.has(id.slice(0, id.lastIndexOf("-")))
  }
}
