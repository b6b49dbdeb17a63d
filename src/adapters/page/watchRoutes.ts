import type { IncomingMessage, ServerResponse } from "node:http"
import { Deferred, Duration, Effect, type Scope, Stream } from "effect"
import type { PageSource } from "../../application/shared/page/PageSource.ts"
import { errorCodes, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { type PageCallMessage, PageCallRequest, PageCommand, type PageError } from "../../domain/page/PageCommand.ts"
import type { PageMessage } from "../../domain/page/PageEvent.ts"
import { makeDecoder } from "../../domain/validation.ts"
import type { HttpReply } from "../http/messages.ts"
import { remoteAddressOf } from "../http/operatorAccess.ts"
import { pageHeaders, pageJsonReply, readJsonBody } from "./requestChecks.ts"
import type { SignedIn } from "./PageSessions.ts"

/** A client that has not read a message for this time is disconnected. */
const readTimeout = Duration.seconds(60)

/** Starts a response whose messages follow one by one. */
const startStream = (response: ServerResponse, contentType: string): void =>
  void response.writeHead(200, {
    ...pageHeaders(),
    "Content-Type": contentType,
    // A proxy must not collect messages.
    "X-Accel-Buffering": "no"
  })

const drained = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const onDrain = () => resume(Effect.void)
    response.once("drain", onDrain)
    return Effect.sync(() => void response.off("drain", onDrain))
  })

/** Writes a message. Waits until the client has read enough for the next one: a slow reader must not grow the memory. */
const writeMessage = (response: ServerResponse, text: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (response.write(text)) return Effect.void
    const disconnect = Effect.suspend(() => {
      const remoteAddress = response.socket?.remoteAddress
      response.destroy()
      return Effect.logWarning("connection closed", { remoteAddress, reason: "unread_page_stream" })
    })
    return Effect.timeoutOrElse(drained(response), { duration: readTimeout, orElse: () => disconnect })
  })

/** Interval of comments, which keep proxies from closing a quiet stream. */
const commentInterval = Duration.seconds(15)

const sessionEnded: PageError = { code: errorCodes.unauthorized, message: "The session has ended" }

const decodeCommand = makeDecoder(PageCommand)
const decodeCall = makeDecoder(PageCallRequest)

/** A request of a session, and its response. */
interface SessionRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly session: SignedIn
}

/** A reply; none after a stream, which has ended. */
export type Responding = Effect.Effect<HttpReply | undefined, HttpReply | ProtocolError, Scope.Scope>

export type SessionHandler = (given: SessionRequest) => Responding

const toEvent = (message: PageMessage): string => `data: ${JSON.stringify(message)}\n\n`

const operatorOf = ({ request, session }: SessionRequest) => ({
  identity: session.identity,
  remoteAddress: remoteAddressOf(request)
})

/** Makes the handlers of the requests that observe and command the Server. */
export const makeWatchRoutes = (source: PageSource) => {
  /** Streams the events of all offices until the session ends or the Server shuts down. */
  const events: SessionHandler = Effect.fnUntraced(function* ({ response, session }) {
    const stream = yield* source.open
    startStream(response, "text/event-stream; charset=utf-8")
    yield* writeMessage(response, toEvent(stream.snapshot))
    const comment = Effect.sync(() => {
      if (!response.writableNeedDrain) response.write(":\n\n")
    })
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(commentInterval), comment)))
    const sendBatch = Effect.tap(stream.next, (batch) =>
      batch === undefined ? Effect.void : writeMessage(response, toEvent(batch))
    )
    const sending = Effect.repeat(sendBatch, { until: (batch) => batch === undefined })
    return yield* Effect.as(Effect.raceFirst(sending, Deferred.await(session.ended)), undefined)
  })

  const commands: SessionHandler = Effect.fnUntraced(function* (given) {
    const command = yield* readJsonBody(given.request, decodeCommand)
    return pageJsonReply(200, yield* source.execute(command, operatorOf(given)))
  })

  /** Calls a tool. The end of the response or of the session ends the call. */
  const calls: SessionHandler = Effect.fnUntraced(function* (given) {
    const { request, response, session } = given
    const call = yield* readJsonBody(request, decodeCall)
    const messages = yield* source.call(call, operatorOf(given))
    startStream(response, "application/x-ndjson; charset=utf-8")
    const send = (message: PageCallMessage) => writeMessage(response, `${JSON.stringify(message)}\n`)
    const sending = Stream.runForEach(messages, send)
    const ended = yield* Effect.raceFirst(Effect.as(sending, false), Effect.as(Deferred.await(session.ended), true))
    if (ended) yield* send({ _tag: "Failed", error: sessionEnded })
    return undefined
  })

  return { events, commands, calls }
}
