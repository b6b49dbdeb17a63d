import { Deferred, Duration, Effect, Exit, FiberSet, Result, type Scope } from "effect"
import { type Body, receivedBody } from "../../application/ports/Body.ts"
import {
  type Reply,
  type ReplyExit,
  requestUsing,
  type Link,
  LinkClosed,
  RequestTimeout,
  SendFailed,
  type MessageHandler
} from "../../application/ports/Transport.ts"
import { payloadTooLarge } from "../../domain/model/ProtocolError.ts"
import { exceedsBytes, isBody } from "./parser.ts"

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
export interface SocketIoLink {
  readonly link: Link
  /** From now on messages reach `receive`. */
  readonly startReceiving: (handler: MessageHandler) => void
  /** The socket is gone: everything that waits ends, handlers are interrupted. */
  readonly markClosed: (reason: string) => Effect.Effect<void>
}

type Ack = (...values: ReadonlyArray<Body>) => void
type PendingRequest = (exit: ReplyExit) => void

const isAck = (value: unknown): value is Ack => typeof value === "function"

const isSerializable = (values: Reply): boolean => values.every((body) => Result.isSuccess(body.text()))

/** Longest time a timer of the platform can wait. */
const maxTimerMillis = 2 ** 31 - 1

/**
 * Makes a link of a socket whose messages are already bodies. `maxBytes` is what the far end takes, `backlog` what it has
 * not taken yet.
 */
export const makeSocketIoLink = Effect.fnUntraced(function* (
  id: string,
  socket: SocketLike,
  maxBytes: () => number,
  backlog: () => number
): Effect.fn.Return<SocketIoLink, never, Scope.Scope> {
  const handlers = yield* FiberSet.make<void>()
  const runFork = yield* FiberSet.runtime(handlers)<never>()
  const closed = yield* Deferred.make<string>()
  const pendingRequests = new Set<PendingRequest>()
  let closeReason: string | undefined

  const fits = (body: Body): boolean =>
    Result.match(body.text(), { onFailure: () => true, onSuccess: (text) => !exceedsBytes(text, maxBytes()) })

  /** Why a message cannot be sent, or `undefined` when it can. */
  const sendError = (body: Body): LinkClosed | SendFailed | undefined => {
    if (closeReason !== undefined) return new LinkClosed({ reason: closeReason })
    const text = body.text()
    if (Result.isFailure(text)) return new SendFailed({ error: text.failure })
    return fits(body) ? undefined : new SendFailed({ error: payloadTooLarge(maxBytes()) })
  }

  const notify = (event: string, body: Body) =>
    Effect.suspend(() => {
      const problem = sendError(body)
      if (problem !== undefined) return Effect.fail(problem)
      socket.emit(event, body)
      return Effect.void
    })

  const startRequest: Link["startRequest"] = (event, body, timeout, onReply) => {
    const problem = sendError(body)
    if (problem !== undefined) {
      // Not before the asker has what it needs to forget the answer.
      let isAwaited = true
      queueMicrotask(() => {
        if (isAwaited) onReply(Exit.fail(problem))
      })
      return () => {
        isAwaited = false
      }
    }
    const finish: PendingRequest = (exit) => {
      if (pendingRequests.delete(finish)) onReply(exit)
    }
    pendingRequests.add(finish)
    const millis = Math.min(Duration.toMillis(timeout), maxTimerMillis)
    socket.timeout(millis).emit(event, body, (error, ...values) => {
      finish(error === null ? Exit.succeed(values) : Exit.fail(new RequestTimeout({ timeout })))
    })
    return () => void pendingRequests.delete(finish)
  }

  const startReceiving = (handler: MessageHandler) => {
    socket.onAny((event, ...args) => {
      if (closeReason !== undefined) return
      const last = args.at(-1)
      const ack = isAck(last) ? last : undefined
      const [first] = args
      const body = isBody(first) ? first : receivedBody(undefined)
      runFork(
        handler(String(event), body).pipe(
          Effect.catchDefect((defect) => Effect.as(Effect.logError("handler failed", { event }, defect), [])),
          Effect.flatMap((reply) => {
            if (ack === undefined) return Effect.void
            if (isSerializable(reply)) return Effect.sync(() => ack(...reply))
            return Effect.andThen(
              Effect.logError("answer cannot be written as JSON", { event }),
              Effect.sync(() => ack())
            )
          })
        )
      )
    })
  }

  const markClosed = (reason: string) =>
    Effect.suspend(() => {
      if (closeReason !== undefined) return Effect.void
      closeReason = reason
      for (const finish of new Set(pendingRequests)) finish(Exit.fail(new LinkClosed({ reason })))
      Deferred.doneUnsafe(closed, Exit.succeed(reason))
      return FiberSet.clear(handlers)
    })

  const link: Link = {
    id,
    request: requestUsing(startRequest),
    startRequest,
    notify,
    maxBytes,
    fits,
    backlog,
    pauseReading: () => undefined,
    closed: Deferred.await(closed),
    close: (reason) =>
      Effect.andThen(
        markClosed(reason),
        Effect.sync(() => socket.disconnect())
      )
  }
  return { link, startReceiving, markClosed }
})
