import { Deferred, Duration, Effect, Exit, FiberSet, Result, type Scope } from "effect"
import { type Body, receivedBody } from "../../application/ports/Body.ts"
import {
  type Answer,
  type Asked,
  askBy,
  type Link,
  LinkClosed,
  NoAnswer,
  NotSent,
  type Receive
} from "../../application/ports/Transport.ts"
import { tooLarge } from "../../domain/refusal.ts"
import { exceeds, isBody } from "./parser.ts"

/** What server and client sockets of Socket.IO have in common, as far as a link needs it. */
export interface SocketLike {
  emit(event: string, ...args: ReadonlyArray<unknown>): unknown
  timeout(millis: number): {
    emit(event: string, body: Body, ack: (error: Error | null, ...values: Array<Body>) => void): unknown
  }
  onAny(listener: (event: string, ...args: Array<unknown>) => void): unknown
  disconnect(): unknown
}

/** A link over a socket, and the hands of the adapter that owns it. */
export interface SocketLink {
  readonly link: Link
  /** From now on messages reach `receive`. */
  readonly open: (receive: Receive) => void
  /** The socket is gone: everything that waits ends, handlers are interrupted. */
  readonly lose: (reason: string) => Effect.Effect<void>
}

type Ack = (...values: ReadonlyArray<Body>) => void
type Waiting = (asked: Asked) => void

const isAck = (value: unknown): value is Ack => typeof value === "function"

const writable = (answer: Answer): boolean => answer.every((body) => Result.isSuccess(body.text()))

/** Longest time a timer of the platform can wait. */
const maxTimer = 2 ** 31 - 1

/**
 * Makes a link of a socket whose messages are already bodies. `maxBytes` is what the far end takes, `backlog` what it has
 * not taken yet.
 */
export const makeSocketLink = Effect.fnUntraced(function* (
  id: string,
  socket: SocketLike,
  maxBytes: () => number,
  backlog: () => number
): Effect.fn.Return<SocketLink, never, Scope.Scope> {
  const handlers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(handlers)<never>()
  const closed = yield* Deferred.make<string>()
  const waiting = new Set<Waiting>()
  let lost: string | undefined

  const fits = (body: Body): boolean =>
    Result.match(body.text(), { onFailure: () => true, onSuccess: (text) => !exceeds(text, maxBytes()) })

  /** Why a message cannot be sent, or `undefined` when it can. */
  const obstacle = (body: Body): LinkClosed | NotSent | undefined => {
    if (lost !== undefined) return new LinkClosed({ reason: lost })
    const text = body.text()
    if (Result.isFailure(text)) return new NotSent({ refusal: text.failure })
    return fits(body) ? undefined : new NotSent({ refusal: tooLarge(maxBytes()) })
  }

  const tell = (event: string, body: Body) =>
    Effect.suspend(() => {
      const problem = obstacle(body)
      if (problem !== undefined) return Effect.fail(problem)
      socket.emit(event, body)
      return Effect.void
    })

  const request: Link["request"] = (event, body, deadline, end) => {
    const problem = obstacle(body)
    if (problem !== undefined) {
      // Not before the asker has what it needs to forget the answer.
      let wanted = true
      queueMicrotask(() => {
        if (wanted) end(Exit.fail(problem))
      })
      return () => {
        wanted = false
      }
    }
    const finish: Waiting = (exit) => {
      if (waiting.delete(finish)) end(exit)
    }
    waiting.add(finish)
    const millis = Math.min(Duration.toMillis(deadline), maxTimer)
    socket.timeout(millis).emit(event, body, (error, ...values) => {
      finish(error === null ? Exit.succeed(values) : Exit.fail(new NoAnswer({ after: deadline })))
    })
    return () => void waiting.delete(finish)
  }

  const open = (receive: Receive) => {
    socket.onAny((event, ...args) => {
      if (lost !== undefined) return
      const last = args.at(-1)
      const ack = isAck(last) ? last : undefined
      const [first] = args
      const body = isBody(first) ? first : receivedBody(undefined)
      run(
        receive(String(event), body).pipe(
          Effect.catchDefect((defect) => Effect.as(Effect.logError("handler failed", { event }, defect), [])),
          Effect.flatMap((answer) => {
            if (ack === undefined) return Effect.void
            if (writable(answer)) return Effect.sync(() => ack(...answer))
            return Effect.andThen(
              Effect.logError("answer cannot be written as JSON", { event }),
              Effect.sync(() => ack())
            )
          })
        )
      )
    })
  }

  const lose = (reason: string) =>
    Effect.suspend(() => {
      if (lost !== undefined) return Effect.void
      lost = reason
      for (const end of new Set(waiting)) end(Exit.fail(new LinkClosed({ reason })))
      Deferred.doneUnsafe(closed, Exit.succeed(reason))
      return FiberSet.clear(handlers)
    })

  const link: Link = {
    id,
    ask: askBy(request),
    request,
    tell,
    maxBytes,
    fits,
    backlog,
    pause: () => undefined,
    closed: Deferred.await(closed),
    close: (reason) =>
      Effect.andThen(
        lose(reason),
        Effect.sync(() => socket.disconnect())
      )
  }
  return { link, open, lose }
})
