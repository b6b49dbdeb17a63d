import { Duration, Exit } from "effect"
import type { NodeReceive } from "../../application/ports/NodeLink.ts"
import { type Asked, LinkClosed, NotSent } from "../../application/ports/Transport.ts"
import type { Refusal } from "../../domain/refusal.ts"
import type { Faults } from "./Faults.ts"
import type { FrameReader } from "./frames.ts"
import type { Outbox } from "./Outbox.ts"
import { sendAnswer, withdrawAnswer } from "./sending.ts"
import { readBody } from "./wire.ts"

const nothing = () => {}

/** The requests of one other node to members of this one, each until it is answered or forgotten. */
export class Errands {
  readonly #outbox: Outbox
  readonly #faults: Faults
  readonly #open = new Map<number, () => void>()
  #abandoned = false

  constructor(outbox: Outbox, faults: Faults) {
    this.#outbox = outbox
    this.#faults = faults
  }

  /** Requests without an answer yet. */
  get size(): number {
    return this.#open.size
  }

  /** The other node asks. */
  begin(fields: FrameReader, long: Buffer | undefined, receive: NodeReceive | undefined): void {
    const id = fields.u32()
    const millis = fields.f64()
    const to = { sid: fields.string(), office: fields.string() }
    const event = fields.string()
    const body = readBody(fields, long)
    if (fields.failed || Number.isNaN(millis) || this.#open.has(id)) return this.#faults.garbled("no request")
    if (receive === undefined) {
      return this.#answer(id, Exit.fail(new LinkClosed({ reason: "the node does not serve" })))
    }
    const end = (asked: Asked) => {
      if (this.#open.delete(id)) this.#answer(id, asked)
    }
    // There before the handler is: it may end at once.
    this.#open.set(id, nothing)
    this.#faults.guard(() => {
      const forget = receive.request(to, event, body, Duration.millis(Math.max(0, millis)), end)
      if (this.#open.has(id)) this.#open.set(id, forget)
    })
  }

  /** The other node asks what cannot be taken. */
  refuse(id: number, refusal: Refusal): void {
    if (!this.#open.has(id)) this.#answer(id, Exit.fail(new NotSent({ refusal })))
  }

  /** The other node does not want an answer any more. */
  forget(id: number): void {
    const forget = this.#open.get(id)
    if (forget === undefined) return withdrawAnswer(this.#outbox, id)
    this.#open.delete(id)
    this.#faults.guard(forget)
  }

  /** This node serves no longer: nothing is done any more, and the other one is told so. */
  stop(): void {
    for (const [id, forget] of this.#open) {
      this.#open.delete(id)
      forget()
      this.#answer(id, Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
    }
  }

  /** The other node is away: nothing is done for it any more. */
  abandon(): void {
    this.#abandoned = true
    for (const forget of this.#open.values()) this.#faults.guard(forget)
  }

  #answer(id: number, asked: Asked): void {
    if (!this.#abandoned && !sendAnswer(this.#outbox, id, asked)) this.#faults.unsent++
  }
}
