import { Deferred, Duration, Effect, Exit, FiberSet, Result } from "effect"
import type { Socket } from "socket.io-client"
import { type Body, receivedBody } from "../../../application/ports/Body.ts"
import {
  type Link,
  LinkClosed,
  maxExtension,
  maxTimerMillis,
  type MessageHandler,
  type ReplyExit,
  RequestTimeout,
  notifyUsing,
  requestUsing
} from "../../../application/ports/Transport.ts"
import { fitsBytes, sendError } from "../../bytes/sendError.ts"
import { isBody } from "./parser.ts"

type Ack = (...values: ReadonlyArray<Body>) => void

const isAck = (value: unknown): value is Ack => typeof value === "function"

/** Makes the requests of a link. `check` gives the reason why a body cannot be sent. */
const makeRequests = (socket: Socket, check: (body: Body) => ReturnType<typeof sendError>) => {
  const pendingRequests = new Set<(exit: ReplyExit) => void>()

  const startRequest: Link["startRequest"] = (event, body, timeout, onReply, extend) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = () => {
      clearTimeout(timer)
      return pendingRequests.delete(finish)
    }
    const finish = (exit: ReplyExit) => {
      if (end()) onReply(exit)
    }
    const onTimeout = () => {
      const more = extend === undefined ? 0 : Duration.toMillis(extend())
      if (more > 0) timer = setTimeout(onTimeout, Math.min(more, maxTimerMillis))
      else finish(Exit.fail(new RequestTimeout({ timeout })))
    }
    pendingRequests.add(finish)
    const error = check(body)
    // The caller gets the cancel function before the failure.
    if (error !== undefined) queueMicrotask(() => finish(Exit.fail(error)))
    else {
      const millis = Math.min(Duration.toMillis(timeout), maxTimerMillis)
      if (extend !== undefined) timer = setTimeout(onTimeout, millis)
      // The socket keeps the acknowledgement of a request for this time, which cannot be extended.
      const kept = extend === undefined ? millis : Math.min(millis + Duration.toMillis(maxExtension), maxTimerMillis)
      socket.timeout(kept).emit(event, body, (failure: Error | null, ...values: Array<Body>) => {
        finish(failure === null ? Exit.succeed(values) : Exit.fail(new RequestTimeout({ timeout })))
      })
    }
    return () => void end()
  }
  /** Fails the requests without a reply. */
  const failPending = (reason: string): void => {
    for (const finish of new Set(pendingRequests)) finish(Exit.fail(new LinkClosed({ reason })))
  }
  return { startRequest, failPending }
}

/** Makes a link of a socket whose messages are bodies. `maxBytes` is the size limit of the Server. */
export const makeSocketIoLink = Effect.fnUntraced(function* (
  socket: Socket,
  maxBytes: () => number,
  onClosed: (reason: string) => void
) {
  const handlers = yield* FiberSet.make<void>()
  const runFork = yield* FiberSet.runtime(handlers)<never>()
  const closed = yield* Deferred.make<string>()
  let closeReason: string | undefined

  const check = (body: Body) => sendError(body, maxBytes(), closeReason)
  const { failPending, startRequest } = makeRequests(socket, check)

  const post: Link["post"] = (event, body) => {
    const error = check(body)
    if (error === undefined) socket.emit(event, body)
    return error
  }

  const handle = (handler: MessageHandler, event: string, body: Body, ack: Ack | undefined) =>
    handler(event, body).pipe(
      Effect.catchDefect((defect) => Effect.as(Effect.logError("request handler failed", { event }, defect), [])),
      Effect.flatMap((reply) => {
        if (ack === undefined) return Effect.void
        if (reply.every((value) => Result.isSuccess(value.text()))) return Effect.sync(() => ack(...reply))
        return Effect.map(Effect.logError("reply not serializable", { event }), () => ack())
      })
    )

  const startReceiving = (handler: MessageHandler) => {
    socket.onAny((event: string, ...args: Array<unknown>) => {
      if (closeReason !== undefined) return
      const [first] = args
      const last = args.at(-1)
      const body = isBody(first) ? first : receivedBody(undefined)
      runFork(handle(handler, event, body, isAck(last) ? last : undefined))
    })
  }

  /** Ends pending requests and interrupts handlers: the socket is closed. */
  const markClosed = (reason: string) =>
    Effect.suspend(() => {
      if (closeReason !== undefined) return Effect.void
      closeReason = reason
      onClosed(reason)
      failPending(reason)
      Deferred.doneUnsafe(closed, Exit.succeed(reason))
      return FiberSet.clear(handlers)
    })

  const link: Link = {
    id: "",
    request: requestUsing(startRequest),
    startRequest,
    notify: notifyUsing(post),
    post,
    maxBytes,
    fits: (body) => fitsBytes(body, maxBytes()),
    backlog: () => 0,
    sentBytes: () => 0,
    pauseReading: () => undefined,
    closed: Deferred.await(closed),
    close: (reason) => Effect.map(markClosed(reason), () => void socket.disconnect())
  }
  return { link, startReceiving, markClosed }
})
