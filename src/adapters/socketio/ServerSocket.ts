import { randomBytes, randomInt } from "node:crypto"
import { Duration, Effect, Exit, Fiber } from "effect"
import type { Socket as Connection } from "engine.io"
import type { Body } from "../../application/ports/Body.ts"
import {
  type Answer,
  type Asked,
  type Link,
  LinkClosed,
  NoAnswer,
  NotSent,
  type Receive
} from "../../application/ports/Transport.ts"
import { pauseReading, send, waitingBytes } from "./Engine.ts"
import { answerPacket, eventPacket, type Outgoing, unwritable } from "./frames.ts"
import type { Incoming } from "./packets.ts"

/** Starts what is to run for a member. */
export type Run = <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>

/** Longest time a timer of the platform can wait. */
const maxTimer = 2 ** 31 - 1

/** Largest id of a request of ours: some clients keep it in 32 bits, one of them for the sign. */
const mostId = 2 ** 31 - 1

/** A request of ours that waits for its acknowledgement. */
interface Waiting {
  readonly end: (asked: Asked) => void
  readonly timer: ReturnType<typeof setTimeout>
}

/**
 * The Server's end of a link to a member, on a connection of Engine.IO. Everything that every connection has its own
 * of is a field, and what they do is shared: thousands of them are idle.
 */
export class ServerSocket implements Link {
  readonly id = randomBytes(15).toString("base64url")
  readonly #connection: Connection
  readonly #run: Run
  readonly #waiting = new Map<number, Waiting>()
  readonly #handlers = new Set<Fiber.Fiber<Answer>>()
  #asked = 0
  /**
   * Begins anywhere: a client answers when it is done, on whatever connection it has by then, and what it was asked on an
   * earlier one must not be taken for an answer to something else.
   */
  #latestId = randomInt(mostId)
  #answered = 0
  #queued = 0
  #receive: Receive | undefined
  #lost: string | undefined
  #watchers: ReadonlyArray<(reason: string) => void> = []

  constructor(connection: Connection, run: Run) {
    this.#connection = connection
    this.#run = run
  }

  maxBytes(): number {
    return Number.POSITIVE_INFINITY
  }

  fits(): boolean {
    return true
  }

  backlog(): number {
    return this.#queued + waitingBytes(this.#connection.transport)
  }

  pause(millis: number): void {
    pauseReading(this.#connection.transport, millis)
  }

  get closed(): Effect.Effect<string> {
    return Effect.callback((resume) => {
      if (this.#lost !== undefined) return resume(Effect.succeed(this.#lost))
      const watcher = (reason: string) => resume(Effect.succeed(reason))
      this.#watchers = [...this.#watchers, watcher]
      return Effect.sync(() => {
        this.#watchers = this.#watchers.filter((other) => other !== watcher)
      })
    })
  }

  close(reason: string): Effect.Effect<void> {
    return Effect.andThen(
      this.lose(reason),
      Effect.sync(() => {
        // Whoever takes nothing must not keep the connection open by it.
        this.#connection.close(this.backlog() > 0)
      })
    )
  }

  tell(event: string, body: Body): Effect.Effect<void, LinkClosed | NotSent> {
    return Effect.suspend(() => {
      const obstacle = this.#obstacle(body)
      if (obstacle !== undefined) return Effect.fail(obstacle)
      this.#send(eventPacket(undefined, event, body, this.#taken))
      return Effect.void
    })
  }

  ask(
    event: string,
    body: Body,
    deadline: Duration.Duration
  ): Effect.Effect<Answer, LinkClosed | NoAnswer | NotSent> {
    return Effect.callback((resume) => {
      const forget = this.request(event, body, deadline, resume)
      return Effect.sync(forget)
    })
  }

  request(event: string, body: Body, deadline: Duration.Duration, end: (asked: Asked) => void): () => void {
    const obstacle = this.#obstacle(body)
    if (obstacle !== undefined) {
      const soon = setImmediate(() => end(Exit.fail(obstacle)))
      return () => clearImmediate(soon)
    }
    this.#asked += 1
    const id = this.#nextId()
    const late = () => {
      if (this.#waiting.delete(id)) end(Exit.fail(new NoAnswer({ after: deadline })))
    }
    const timer = setTimeout(late, Math.min(Duration.toMillis(deadline), maxTimer))
    this.#waiting.set(id, { end, timer })
    this.#send(eventPacket(id, event, body, this.#taken))
    return () => {
      if (this.#waiting.delete(id)) clearTimeout(timer)
    }
  }

  /** From now on messages reach `receive`. */
  open(receive: Receive): void {
    this.#receive = receive
  }

  /** Takes what the member sends, and says what it was: more answers than questions are not asked for. */
  take(packet: Extract<Incoming, { readonly type: "event" | "ack" }>): "taken" | "unasked" | "too early" {
    if (packet.type === "ack") {
      this.#answered += 1
      const waiting = this.#waiting.get(packet.id)
      // Late answers are nobody's fault: an Agent may ask and cancel as often as it likes.
      if (waiting === undefined) return this.#answered > this.#asked ? "unasked" : "taken"
      this.#waiting.delete(packet.id)
      clearTimeout(waiting.timer)
      waiting.end(Exit.succeed(packet.answer))
      return "taken"
    }
    if (this.#lost !== undefined) return "taken"
    if (this.#receive === undefined) return "too early"
    const { body, event, id } = packet
    const fiber = this.#run(this.#receive(event, body))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) {
      this.#answer(id, event, exit)
      return "taken"
    }
    this.#handlers.add(fiber)
    fiber.addObserver((ended) => {
      this.#handlers.delete(fiber)
      this.#answer(id, event, ended)
    })
    return "taken"
  }

  /** The member is gone: everything that waits ends, handlers are interrupted. */
  lose(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#lost !== undefined) return Effect.void
      this.#lost = reason
      this.#receive = undefined
      const waiting = [...this.#waiting.values()]
      this.#waiting.clear()
      for (const { end, timer } of waiting) {
        clearTimeout(timer)
        end(Exit.fail(new LinkClosed({ reason })))
      }
      for (const watcher of this.#watchers) watcher(reason)
      return Fiber.interruptAll([...this.#handlers])
    })
  }

  #answer(id: number | undefined, event: string, exit: Exit.Exit<Answer>): void {
    if (id === undefined || this.#lost !== undefined) return
    if (Exit.isFailure(exit)) {
      this.#run(Effect.logError("handler failed", { event }, exit.cause))
      this.#send(answerPacket(id, [], this.#taken))
      return
    }
    const answer = exit.value
    if (answer.every((body) => unwritable(body) === undefined)) {
      this.#send(answerPacket(id, answer, this.#taken))
      return
    }
    this.#run(Effect.logError("answer cannot be written as JSON", { event }))
    this.#send(answerPacket(id, [], this.#taken))
  }

  #nextId(): number {
    do this.#latestId = (this.#latestId % mostId) + 1
    while (this.#waiting.has(this.#latestId))
    return this.#latestId
  }

  /** Why a message cannot be sent, or `undefined` when it can. */
  #obstacle(body: Body): LinkClosed | NotSent | undefined {
    if (this.#lost !== undefined) return new LinkClosed({ reason: this.#lost })
    const refusal = unwritable(body)
    return refusal === undefined ? undefined : new NotSent({ refusal })
  }

  #send(outgoing: Outgoing): void {
    this.#queued += outgoing.size
    send(this.#connection, outgoing)
  }

  readonly #taken = (size: number): void => {
    this.#queued -= size
  }
}
