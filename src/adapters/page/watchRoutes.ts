import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Deferred, Duration, Effect, type Scope, Stream } from "effect"
import type { PageSource } from "../../application/shared/page/PageSource.ts"
import { errorCodes, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { type PageCallMessage, PageCallRequest, PageCommand } from "../../domain/page/PageCommand.ts"
import type { PageMessage } from "../../domain/page/PageEvent.ts"
import { makeDecoder } from "../../domain/validation.ts"
import type { HttpReply } from "../http/messages.ts"
import { remoteAddressOf } from "../http/operatorAccess.ts"
import { pageHeaders, pageJsonReply, readJsonBody } from "./requestChecks.ts"
import type { SignedIn } from "./PageSessions.ts"

/** A client that has not read a message for this time is disconnected. */
const readTimeout = Duration.seconds(60)

/** Interval of empty lines, which keep proxies from closing a quiet stream. */
const emptyLineInterval = Duration.seconds(15)

/** Writes a line. Waits until the client has read enough for the next one: a slow reader must not grow the memory. */
const writeLine = (response: ServerResponse, text: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (response.write(`${text}\n`)) return Effect.void
    const drained = Effect.ignore(Effect.tryPromise((signal) => once(response, "drain", { signal })))
    const disconnect = Effect.suspend(() => {
      const remoteAddress = response.socket?.remoteAddress
      response.destroy()
      return Effect.logWarning("connection closed", { remoteAddress, reason: "unread_page_stream" })
    })
    return Effect.timeoutOrElse(drained, { duration: readTimeout, orElse: () => disconnect })
  })

const decodeCommand = makeDecoder(PageCommand)
const decodeCall = makeDecoder(PageCallRequest)

interface SessionRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly session: SignedIn
}

/** A reply; none after a stream, which has ended. */
export type Responding = Effect.Effect<HttpReply | undefined, HttpReply | ProtocolError, Scope.Scope>

export type SessionHandler = (given: SessionRequest) => Responding

const operatorOf = ({ request, session }: SessionRequest) => ({
  identity: session.identity,
  remoteAddress: remoteAddressOf(request)
})

/** Streams messages as lines of JSON, until the session ends; then `last` follows. */
const sendMessages = Effect.fnUntraced(function* <Message extends PageMessage | PageCallMessage>(
  { response, session }: SessionRequest,
  messages: Stream.Stream<Message>,
  last: ReadonlyArray<Message> = []
) {
  response.writeHead(200, {
    ...pageHeaders(),
    "Content-Type": "application/x-ndjson; charset=utf-8",
    // A proxy must not collect messages.
    "X-Accel-Buffering": "no"
  })
  const writeEmptyLine = Effect.sync(() => void (response.writableNeedDrain || response.write("\n")))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(emptyLineInterval), writeEmptyLine)))
  const send = (message: Message) => writeLine(response, JSON.stringify(message))
  const sending = Effect.as(Stream.runForEach(messages, send), [])
  yield* Effect.forEach(yield* Effect.raceFirst(sending, Effect.as(Deferred.await(session.ended), last)), send)
  return undefined
})

/** Makes the handlers of the requests that observe and command the Server. */
export const makeWatchRoutes = (source: PageSource) => {
  /** Streams the events of all offices until the session ends or the Server shuts down. */
  const events: SessionHandler = Effect.fnUntraced(function* (given) {
    const { next, snapshot } = yield* source.open
    const batches = Stream.takeWhile(Stream.fromEffectRepeat(next), (batch) => batch !== undefined)
    return yield* sendMessages<PageMessage>(given, Stream.prepend(batches, [snapshot]))
  })

  const commands: SessionHandler = Effect.fnUntraced(function* (given) {
    const command = yield* readJsonBody(given.request, decodeCommand)
    return pageJsonReply(200, yield* source.execute(command, operatorOf(given)))
  })

  /** Calls a tool. The end of the response or of the session ends the call. */
  const calls: SessionHandler = Effect.fnUntraced(function* (given) {
    const call = yield* readJsonBody(given.request, decodeCall)
    const error = { code: errorCodes.unauthorized, message: "The session has ended" }
    return yield* sendMessages(given, yield* source.call(call, operatorOf(given)), [{ _tag: "Failed", error }])
  })

  return { events, commands, calls }
}
