import { Duration, Exit, Result } from "effect"
import { NodeAway, type NodeAsked } from "../../application/ports/NodeLink.ts"
import { NoAnswer } from "../../application/ports/Transport.ts"
import type { Refusal } from "../../domain/refusal.ts"
import type { Faults } from "./Faults.ts"
import type { FrameReader } from "./frames.ts"
import type { Outbox, Waiting } from "./Outbox.ts"
import { type Request, sendForget, sendRequest, tooMuchWaits } from "./sending.ts"
import { readEnding } from "./wire.ts"

/** How much later than the other node we give up a request, in milliseconds: it has the way back to go. */
const netTime = 3000

interface Question {
  readonly end: (asked: NodeAsked) => void
  readonly deadline: Duration.Duration
  /** The pulse with which we give it up ourselves. */
  readonly due: number
  readonly waiting: Waiting | undefined
}

/** What {@link Questions} are asked with. */
export interface QuestionsOptions {
  readonly node: string
  readonly outbox: Outbox
  readonly faults: Faults
  /** Numbers that no question to any node has borne lately. */
  readonly nextId: () => number
  /** Milliseconds between two calls of {@link Questions.pulse}. */
  readonly pulseTime: number
}

/** The requests of this node to one other, each until it has ended: exactly once, unless it is forgotten before. */
export class Questions {
  readonly #options: QuestionsOptions
  readonly #open = new Map<number, Question>()
  #pulses = 0

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  /** Requests without an answer yet. */
  get size(): number {
    return this.#open.size
  }

  /** Sends a request; gives what forgets it, or why it cannot go. */
  ask(request: Request, end: (asked: NodeAsked) => void): Result.Result<() => void, Refusal> {
    const { outbox, pulseTime } = this.#options
    const { deadline } = request
    const id = this.#nextId()
    const millis = Duration.toMillis(deadline)
    const waiting = sendRequest(outbox, id, millis, request)
    if (waiting === "refused") return Result.fail(tooMuchWaits)
    const due = this.#pulses + 1 + Math.ceil((millis + netTime) / pulseTime)
    this.#open.set(id, { end, deadline, due, waiting })
    return Result.succeed(() => this.#forget(id))
  }

  /** The other node says how a request has ended. */
  answered(kind: number, fields: FrameReader, long: Buffer | undefined): void {
    const { faults } = this.#options
    const id = fields.u32()
    if (!this.#open.has(id)) {
      faults.ignored++
      return
    }
    const asked = readEnding(kind, fields, long)
    if (asked !== undefined) return this.#end(id, asked)
    faults.garbled("no answer")
    this.unanswerable(id, "its answer cannot be read")
  }

  /** The answer to a request is none that can be taken. */
  unanswerable(id: number, reason: string): void {
    this.#end(id, Exit.fail(new NodeAway({ node: this.#options.node, reason })))
  }

  /** Ends what has been open for too long. */
  pulse(): void {
    this.#pulses++
    for (const [id, { deadline, due, end }] of this.#open) {
      if (due > this.#pulses) continue
      this.#forget(id)
      this.#options.faults.guard(() => end(Exit.fail(new NoAnswer({ after: deadline }))))
    }
  }

  /** Ends everything: the node is away. */
  away(reason: string): void {
    const { faults, node } = this.#options
    const asked = Exit.fail(new NodeAway({ node, reason }))
    for (const [id, { end }] of this.#open) {
      this.#open.delete(id)
      faults.guard(() => end(asked))
    }
  }

  #end(id: number, asked: NodeAsked): void {
    const { faults, outbox } = this.#options
    const question = this.#open.get(id)
    if (question === undefined) return
    this.#open.delete(id)
    // Whoever refuses a request of which it has seen the beginning need not see the rest.
    if (question.waiting !== undefined) outbox.withdraw(question.waiting)
    faults.guard(() => question.end(asked))
  }

  #forget(id: number): void {
    const { outbox } = this.#options
    const question = this.#open.get(id)
    if (question === undefined) return
    this.#open.delete(id)
    const { waiting } = question
    if (waiting !== undefined && outbox.withdraw(waiting) !== "sent") return
    sendForget(outbox, id)
  }

  #nextId(): number {
    let id = this.#options.nextId()
    while (this.#open.has(id)) id = this.#options.nextId()
    return id
  }
}
