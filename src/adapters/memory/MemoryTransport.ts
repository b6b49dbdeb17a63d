import { Context, Deferred, Duration, Effect, Exit, type Fiber, FiberSet, Layer, Result, Scope } from "effect"
import { type Body, invalidBody, receivedBody } from "../../application/ports/Body.ts"
import {
  ServedLines,
  versionsOf,
  AdmissionRejected,
  type Link,
  LinkClosed,
  type MessageHandler,
  notifyUsing,
  type Reply,
  RequestTimeout,
  requestUsing,
  TransportClient,
  TransportServer,
  Unreachable,
  VersionRejected
} from "../../application/ports/Transport.ts"
import { errorCodes, payloadTooLarge } from "../../domain/model/ProtocolError.ts"
import { formatMismatch } from "../../domain/wire/lines.ts"
import { type ServedVersions, versionGate, type VersionRejection } from "../../domain/wire/version.ts"
import { fitsBytes, sendError } from "../bytes/sendError.ts"
import { parseJsonOrThrow } from "../../domain/json.ts"

export interface MemoryTransportOptions {
  /** Largest body a member may send, in bytes of its JSON text; unlimited by default. */
  readonly maxMessageBytes?: number
  /** Delays the messages and replies to one end of a link, which count as backlog meanwhile; no delay by default. */
  readonly delay?: (id: string, to: "member" | "server") => Effect.Effect<void>
  /** The prefix of link ids, `memory` by default. Servers that share offices need different ones. */
  readonly idPrefix?: string
}

interface MemoryLink {
  readonly link: Link
  /** Passes messages to `handler` from now on. Earlier messages are dropped. */
  readonly startReceiving: (handler: MessageHandler) => void
  readonly deliver: (event: string, body: Body, reply: Deferred.Deferred<Reply>) => void
  readonly markClosed: (reason: string) => Effect.Effect<void>
}

/** Copies a body by its JSON text, as a network does: the ends share no object. */
const copyBody = (body: Body): Body => {
  const value = Result.flatMap(body.value(), (original) => receivedBody(original).value())
  const copy = Result.flatMap(value, (given) =>
    given === undefined ? Result.succeed(undefined) : Result.map(body.text(), parseJsonOrThrow)
  )
  return Result.match(copy, { onFailure: invalidBody, onSuccess: receivedBody })
}

interface Channel {
  /** Counts bodies as backlog until they arrive. */
  readonly transfer: (bodies: ReadonlyArray<Body>) => Effect.Effect<void>
  readonly backlog: () => number
  readonly sentBytes: () => number
}

const immediateChannel: Channel = { transfer: () => Effect.void, backlog: () => 0, sentBytes: () => 0 }

const makeDelayedChannel = (delay: () => Effect.Effect<void>, onChange: () => void): Channel => {
  let inFlightBytes = 0
  let sentBytes = 0
  return {
    transfer: (bodies) => {
      const bytes = bodies.reduce((sum, body) => sum + body.byteLength(), 0)
      inFlightBytes += bytes
      onChange()
      return Effect.ensuring(
        Effect.suspend(delay),
        Effect.sync(() => {
          inFlightBytes -= bytes
          sentBytes += bytes
          onChange()
        })
      )
    },
    backlog: () => inFlightBytes,
    sentBytes: () => sentBytes
  }
}

type Send = (event: string, body: Body, reply: Deferred.Deferred<Reply>) => ReturnType<typeof sendError>

/**
 * Makes the requests of one end of a link. `send` passes a message to the other end, which completes the reply. `lost` fails
 * when the link closes.
 */
const makeStartRequest =
  (
    send: Send,
    lost: Effect.Effect<never, LinkClosed>,
    runFork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  ): Link["startRequest"] =>
  (event, body, timeout, onReply, extend = () => Duration.zero) => {
    const reply = Deferred.makeUnsafe<Reply>()
    const error = send(event, body, reply)
    const awaitReply = (duration: Duration.Duration): ReturnType<Link["request"]> =>
      Effect.timeoutOrElse(Effect.raceFirst(Deferred.await(reply), lost), {
        duration,
        orElse: () => {
          const more = extend()
          return Duration.isZero(more) ? Effect.fail(new RequestTimeout({ timeout })) : awaitReply(more)
        }
      })
    const outcome: ReturnType<Link["request"]> = error === undefined ? awaitReply(timeout) : Effect.fail(error)
    // The caller gets the cancel function before the reply.
    const fiber = runFork(Effect.andThen(Effect.yieldNow, outcome))
    let isAwaited = true
    fiber.addObserver((exit) => {
      if (isAwaited) onReply(exit)
    })
    return () => {
      isAwaited = false
      fiber.interruptUnsafe()
    }
  }

/** `maxBytes` limits the bodies that this end sends. */
const makeMemoryLink = Effect.fnUntraced(function* (
  id: string,
  maxBytes: number,
  [inbound, outbound]: readonly [Channel, Channel],
  peer: () => MemoryLink,
  close: (reason: string) => Effect.Effect<void>
): Effect.fn.Return<MemoryLink, never, Scope.Scope> {
  const handlers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(handlers)<never>()
  const closed = yield* Deferred.make<string>()
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  let onMessage: MessageHandler | undefined
  let closeReason: string | undefined

  const limitReply = (body: Body): Body =>
    fitsBytes(body, maxBytes) ? copyBody(body) : invalidBody(payloadTooLarge(maxBytes))

  const send: Send = (event, body, reply) => {
    const error = sendError(body, maxBytes, closeReason)
    if (error === undefined) peer().deliver(event, copyBody(body), reply)
    return error
  }
  const post: Link["post"] = (event, body) => send(event, body, Deferred.makeUnsafe())
  const lost = Effect.flatMap(Deferred.await(closed), (reason) => Effect.fail(new LinkClosed({ reason })))
  const startRequest = makeStartRequest(send, lost, runFork)

  return {
    link: {
      id,
      maxBytes: () => maxBytes,
      fits: (body) => fitsBytes(body, maxBytes),
      closed: Deferred.await(closed),
      notify: notifyUsing(post),
      post,
      request: requestUsing(startRequest),
      startRequest,
      backlog: outbound.backlog,
      sentBytes: outbound.sentBytes,
      pauseReading: () => undefined,
      close
    },
    startReceiving: (handler) => void (onMessage = handler),
    deliver: (event, body, reply) => {
      const handle = onMessage
      if (handle === undefined) return
      const arrival = inbound.transfer([body])
      run(
        // As over a network, no reply arrives within the call that sends the request.
        Effect.andThen(Effect.yieldNow, arrival).pipe(
          Effect.flatMap(() => handle(event, body)),
          Effect.catchDefect((defect) => Effect.as(Effect.logError("request handler failed", { event }, defect), [])),
          Effect.flatMap((values) => {
            const copies = values.map(limitReply)
            return Effect.andThen(outbound.transfer(copies), Deferred.succeed(reply, copies))
          }),
          Effect.asVoid
        )
      )
    },
    markClosed: (reason) =>
      Effect.suspend(() => {
        onMessage = undefined
        closeReason ??= reason
        Deferred.doneUnsafe(closed, Exit.succeed(reason))
        return FiberSet.clear(handlers)
      })
  }
})

const toConnectError = ({ body }: VersionRejection): VersionRejected | AdmissionRejected =>
  body.code === errorCodes.versionMismatch
    ? new VersionRejected({ message: formatMismatch(body), mismatch: body })
    : new AdmissionRejected({ code: body.code, message: body.message })

type Serve = TransportServer["Service"]["serve"]

const make = ({ delay, idPrefix = "memory", maxMessageBytes = Number.POSITIVE_INFINITY }: MemoryTransportOptions) => {
  let serving:
    | {
        readonly accept: Parameters<Serve>[0]
        readonly onBacklogChange: (link: Link) => void
        readonly context: Context.Context<Scope.Scope>
        readonly versions: ServedVersions
      }
    | undefined
  let count = 0

  const serve: Serve = Effect.fnUntraced(function* (accept, onBacklogChange = () => undefined) {
    const versions = versionsOf(yield* ServedLines)
    serving = { accept, onBacklogChange, context: yield* Effect.context<Scope.Scope>(), versions }
    yield* Effect.addFinalizer(() => Effect.sync(() => void (serving = undefined)))
    return { url: "memory:" }
  })

  const connect: TransportClient["Service"]["connect"] = Effect.fnUntraced(function* (request) {
    if (serving === undefined) return yield* new Unreachable({ message: "No Server is running" })
    const { accept, context, onBacklogChange, versions } = serving
    const gated = versionGate([request.version], versions)
    if (Result.isFailure(gated)) return yield* toConnectError(gated.failure)
    const id = `${idPrefix}-${++count}`
    const clientScope = yield* Effect.scope
    const serverScope = yield* Scope.fork(Context.get(context, Scope.Scope))
    const markClosed = (reason: string) =>
      Effect.suspend(() => Effect.andThen(clientLink.markClosed(reason), serverLink.markClosed(reason)))
    const close = (reason: string) => Effect.andThen(markClosed(reason), Scope.close(serverScope, Exit.void))
    const makeChannel = (to: "member" | "server", onChange: () => void): Channel =>
      delay === undefined ? immediateChannel : makeDelayedChannel(() => delay(id, to), onChange)
    const inServer = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) =>
      effect.pipe(Scope.provide(serverScope), Effect.provideContext(context))
    const toMember = makeChannel("member", () => onBacklogChange(serverLink.link))
    const toServer = makeChannel("server", () => undefined)
    const clientLink: MemoryLink = yield* makeMemoryLink(
      id,
      maxMessageBytes,
      [toMember, toServer],
      () => serverLink,
      close
    )
    const serverLink: MemoryLink = yield* inServer(
      makeMemoryLink(id, Number.POSITIVE_INFINITY, [toServer, toMember], () => clientLink, close)
    )
    yield* Scope.addFinalizer(serverScope, markClosed("server_shutdown"))
    yield* Scope.addFinalizer(clientScope, close("client_disconnect"))
    const handshake = { version: gated.success, auth: request.auth, headers: {}, remoteAddress: "memory" }
    const onMessage = yield* inServer(accept(serverLink.link, handshake)).pipe(
      Effect.onError(() => close("admission_rejected"))
    )
    serverLink.startReceiving(onMessage)
    clientLink.startReceiving(request.onMessage)
    return clientLink.link
  })

  return Context.make(TransportServer, TransportServer.of({ serve })).pipe(
    Context.add(TransportClient, TransportClient.of({ connect }))
  )
}

/**
 * Both ends of a transport in one process, for tests on virtual time and for hosts of Server and members. Behaves like
 * the Socket.IO adapter.
 */
export const layer = (options: MemoryTransportOptions = {}): Layer.Layer<TransportServer | TransportClient> =>
  Layer.effectContext(Effect.sync(() => make(options)))
