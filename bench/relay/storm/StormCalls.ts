import { Effect, Fiber, Stream } from "effect"
import { type Execution, Ledger, type Tally } from "../../../test/chaos/Ledger.ts"
import { outcomeOf } from "../../../test/chaos/orders.ts"
import { type StormAgent, stormTool } from "./members.ts"

/** Calls that each Agent keeps in flight. */
const inFlight = 2

/** Pause after a failed call, for example to a Computer that has not joined yet. */
const pause = "100 millis"

/** Time for the calls to end after the last join. A call has a longer timeout, so a lost call does not end by it. */
const endTimeout = "30 seconds"

/** All calls of the Agents, and their executions. */
export class StormCalls {
  readonly #executions: Array<Execution> = []
  // The calls end by `endTimeout` instead of a timeout of the ledger.
  readonly #ledger = new Ledger(Number.POSITIVE_INFINITY, () => 0)
  readonly #lost = new Set<string>()
  #last = 0

  readonly onExecution = (id: string, computer: string): void => void this.#executions.push({ id, computer })

  /**
   * Keeps calls of these Agents in flight while `use` runs, then waits for their end. Calls that do not end in time are
   * lost.
   */
  during<A, R>(agents: ReadonlyArray<StormAgent>, use: Effect.Effect<A, never, R>): Effect.Effect<A, never, R> {
    let isOver = false
    const loops = agents.flatMap((agent) =>
      Array.from({ length: inFlight }, () => this.#keepCalling(agent, () => isOver))
    )
    return Effect.gen({ self: this }, function* () {
      const callers = yield* Effect.forEach(loops, (loop) => Effect.forkChild(loop))
      const result = yield* use
      isOver = true
      yield* Effect.timeoutOption(Fiber.awaitAll(callers), endTimeout)
      for (const id of this.tally().lost) this.#lost.add(id)
      yield* Fiber.interruptAll(callers)
      return result
    })
  }

  tally(): Tally {
    const tally = this.#ledger.tally(this.#executions)
    return { ...tally, lost: [...new Set([...this.#lost, ...tally.lost])] }
  }

  #keepCalling({ agent, computers, service }: StormAgent, isOver: () => boolean): Effect.Effect<void> {
    const isJoined = Stream.runDrain(Stream.takeUntil(service.status, ({ _tag }) => _tag === "Joined"))
    const call = Effect.suspend(() => {
      this.#last += 1
      const id = String(this.#last)
      const computer = computers[this.#last % computers.length] ?? ""
      this.#ledger.started(id, { agent, computer }, agent)
      return Effect.flatMap(outcomeOf(service, { computer, tool: stormTool, params: { id } }), (outcome) => {
        this.#ledger.ended(id, outcome)
        return outcome._tag === "Answered" ? Effect.void : Effect.andThen(Effect.sleep(pause), isJoined)
      })
    })
    return Effect.whileLoop({ while: () => !isOver(), body: () => call, step: () => undefined })
  }
}
