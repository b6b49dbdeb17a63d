import { Context, Deferred, type Duration, Effect, Exit, FiberSet, Layer, Result, Scope } from "effect"
import {
  type VersionRejection,
  versionGate,
  parseVersion,
  PROTOCOL_VERSION
} from "../../domain/wire/version.ts"
import { payloadTooLarge } from "../../domain/model/ProtocolError.ts"
import { type Body, invalidBody, receivedBody } from "../../application/ports/Body.ts"
import {
  AdmissionRejected,
  type Reply,
  type ReplyExit,
  type Handshake,
  type Link,
  LinkClosed,
  RequestTimeout,
  SendFailed,
  type MessageHandler,
  TransportClient,
  TransportServer,
  Unreachable,
  VersionRejected
} from "../../application/ports/Transport.ts"

/** What may be set about a transport in memory. */
export interface MemoryTransportOptions {
  /** Largest body a member may send, in bytes of its JSON text. */
  readonly maxMessageBytes?: number
  /** The version the Server's gate speaks. */
  readonly version?: string
  /**
   * How messages travel: each message and each answer to this end of this link waits for it, and counts as backlog
   * until it has ended. Without it everything arrives at once.
   */
  readonly delay?: (id: string, to: "member" | "server") => Effect.Effect<void>
  /** What the ids of its links begin with: several Servers that share offices need different ones. */
  readonly idPrefix?: string
}

type Accept = (
  link: Link,
  handshake: Handshake
) => Effect.Effect<MessageHandler, AdmissionRejected, Scope.Scope>

/** One end of a link: what arrives here, and what is still to be answered. */
interface MemoryLink {
  readonly link: Link
  /** Sets what this end does with messages. Before that, and after the close, they go nowhere. */
  readonly startReceiving: (handler: MessageHandler) => void
  readonly deliver: (event: string, body: Body, reply: Deferred.Deferred<Reply, LinkClosed>) => void
  readonly markClosed: (reason: string) => Effect.Effect<void>
}

const encoder = new TextEncoder()

/** A body as the far end gets it: by its text, as over a wire, so that the ends share no object. */
const copyBody = (body: Body): Body => {
  const value = Result.flatMap(body.value(), (value) => receivedBody(value).value())
  if (Result.isFailure(value)) return invalidBody(value.failure)
  if (value.success === undefined) return receivedBody(undefined)
  return Result.match(body.text(), {
    onFailure: invalidBody,
    onSuccess: (text) => receivedBody(JSON.parse(text))
  })
}

/** The way to one end. */
interface Channel {
  /** Counts bodies as on their way, and waits until they have arrived. */
  readonly transfer: (bodies: ReadonlyArray<Body>) => Effect.Effect<void>
  /** Bytes on their way. */
  readonly backlog: () => number
}

const immediateChannel: Channel = { transfer: () => Effect.void, backlog: () => 0 }

const makeDelayedChannel = (delay: Effect.Effect<void>): Channel => {
  let inFlightBytes = 0
  return {
    transfer: (bodies) => {
      const bytes = bodies.reduce((sum, body) => sum + body.byteLength(), 0)
      inFlightBytes += bytes
      return Effect.ensuring(
        delay,
        Effect.sync(() => {
          inFlightBytes -= bytes
        })
      )
    },
    backlog: () => inFlightBytes
  }
}

/** The ways to this end and to the far one. */
interface Channels {
  readonly inbound: Channel
  readonly outbound: Channel
}

const makeMemoryLink = Effect.fnUntraced(function* (
  id: string,
  maxBytes: number,
  { inbound, outbound }: Channels,
  peer: () => MemoryLink,
  close: (reason: string) => Effect.Effect<void>
): Effect.fn.Return<MemoryLink, never, Scope.Scope> {
  const handlers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(handlers)<never>()
  const closed = yield* Deferred.make<string>()
  const pendingReplies = new Set<Deferred.Deferred<Reply, LinkClosed>>()
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  let onMessage: MessageHandler | undefined

  const fits = (body: Body): boolean =>
    Result.match(body.text(), {
      onFailure: () => true,
      onSuccess: (text) => encoder.encode(text).length <= maxBytes
    })
  /** A body of an answer, or what the asker is told instead of one that is too large. */
  const limitBody = (body: Body): Body =>
    fits(body) ? copyBody(body) : invalidBody(payloadTooLarge(maxBytes))
  const checkSendable = (body: Body): Effect.Effect<void, LinkClosed | SendFailed> => {
    if (Deferred.isDoneUnsafe(closed)) {
      return Effect.flatMap(Deferred.await(closed), (reason) => Effect.fail(new LinkClosed({ reason })))
    }
    const text = body.text()
    if (Result.isFailure(text)) return Effect.fail(new SendFailed({ error: text.failure }))
    return fits(body) ? Effect.void : Effect.fail(new SendFailed({ error: payloadTooLarge(maxBytes) }))
  }

  const request = Effect.fnUntraced(function* (event: string, body: Body, timeout: Duration.Duration) {
    yield* checkSendable(body)
    const reply = Deferred.makeUnsafe<Reply, LinkClosed>()
    pendingReplies.add(reply)
    peer().deliver(event, copyBody(body), reply)
    return yield* Deferred.await(reply).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(new RequestTimeout({ timeout }))
      }),
      Effect.ensuring(Effect.sync(() => pendingReplies.delete(reply)))
    )
  })

  const link: Link = {
    id,
    maxBytes: () => maxBytes,
    fits,
    closed: Deferred.await(closed),
    notify: (event, body) =>
      Effect.andThen(
        checkSendable(body),
        Effect.sync(() => peer().deliver(event, copyBody(body), Deferred.makeUnsafe()))
      ),
    request,
    startRequest: (event, body, timeout, onReply) => {
      const fiber = runFork(request(event, body, timeout))
      let isAwaited = true
      const finish = (exit: ReplyExit) => {
        if (isAwaited) onReply(exit)
      }
      const exit = fiber.pollUnsafe()
      // Not before the asker has what it needs to forget the answer.
      if (exit === undefined) fiber.addObserver(finish)
      else
        runFork(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => finish(exit))
          )
        )
      return () => {
        isAwaited = false
        fiber.interruptUnsafe()
      }
    },
    backlog: outbound.backlog,
    pauseReading: () => undefined,
    close
  }

  return {
    link,
    startReceiving: (handler) => {
      onMessage = handler
    },
    deliver: (event, body, reply) => {
      const handle = onMessage
      if (handle === undefined) return
      const arrival = inbound.transfer([body])
      run(
        // It arrives a moment later, as over a wire: nobody hears an answer within the call that asks.
        Effect.andThen(Effect.yieldNow, arrival).pipe(
          Effect.flatMap(() => handle(event, body)),
          Effect.catchDefect((defect) => Effect.as(Effect.logError("handler failed", { event }, defect), [])),
          Effect.flatMap((values) => {
            const carried = values.map(limitBody)
            return Effect.andThen(outbound.transfer(carried), Deferred.succeed(reply, carried))
          }),
          Effect.asVoid
        )
      )
    },
    markClosed: (reason) =>
      Effect.suspend(() => {
        onMessage = undefined
        for (const pendingReply of pendingReplies)
          Deferred.doneUnsafe(pendingReply, Exit.fail(new LinkClosed({ reason })))
        Deferred.doneUnsafe(closed, Exit.succeed(reason))
        return FiberSet.clear(handlers)
      })
  }
})

const toConnectError = ({ body }: VersionRejection): VersionRejected | AdmissionRejected =>
  body.code === 4008
    ? new VersionRejected({ message: body.message, mismatch: body })
    : new AdmissionRejected({ code: body.code, message: body.message })

/**
 * Both ends of a transport within one process: a full peer of the Socket.IO adapter, for deterministic tests on
 * virtual time and for hosts that keep Server and members together.
 */
export const layer = (options: MemoryTransportOptions = {}): Layer.Layer<TransportServer | TransportClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const {
        maxMessageBytes = Number.POSITIVE_INFINITY,
        idPrefix = "memory",
        delay,
        version = PROTOCOL_VERSION
      } = options
      const serverVersion = yield* Effect.orDie(Effect.fromResult(parseVersion(version)))
      let serving:
        | { readonly accept: Accept; readonly scope: Scope.Scope; readonly context: Context.Context<never> }
        | undefined
      let count = 0

      const server = TransportServer.of({
        serve: Effect.fnUntraced(function* (accept) {
          const context = yield* Effect.context<never>()
          const scope = yield* Effect.scope
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              serving = { accept, scope, context }
            }),
            () =>
              Effect.sync(() => {
                serving = undefined
              })
          )
          return { url: "memory:" }
        })
      })

      const connect = Effect.fnUntraced(function* (request: {
        readonly version: string
        readonly auth: unknown
        readonly onMessage: MessageHandler
      }) {
        if (serving === undefined) return yield* new Unreachable({ message: "No Server is running" })
        const { accept, context, scope } = serving
        const admitted = versionGate([request.version], serverVersion)
        if (Result.isFailure(admitted)) return yield* toConnectError(admitted.failure)
        const id = `${idPrefix}-${++count}`
        const clientScope = yield* Effect.scope
        const serverScope = yield* Scope.fork(scope)
        const markClosed = (reason: string) =>
          Effect.suspend(() => Effect.andThen(clientLink.markClosed(reason), serverLink.markClosed(reason)))
        const close = (reason: string) =>
          Effect.andThen(markClosed(reason), Scope.close(serverScope, Exit.void))
        const makeChannel = (to: "member" | "server"): Channel =>
          delay === undefined ? immediateChannel : makeDelayedChannel(Effect.suspend(() => delay(id, to)))
        const toMember = makeChannel("member")
        const toServer = makeChannel("server")
        const clientLink: MemoryLink = yield* makeMemoryLink(
          id,
          maxMessageBytes,
          { inbound: toMember, outbound: toServer },
          () => serverLink,
          close
        )
        const serverLink: MemoryLink = yield* makeMemoryLink(
          id,
          Number.POSITIVE_INFINITY,
          { inbound: toServer, outbound: toMember },
          () => clientLink,
          close
        ).pipe(Scope.provide(serverScope), Effect.provideContext(context))
        yield* Scope.addFinalizer(serverScope, markClosed("Server closed"))
        yield* Scope.addFinalizer(clientScope, close("closed by the member"))
        const handshake = {
          version: admitted.success,
          auth: request.auth,
          headers: {},
          remoteAddress: "memory"
        }
        const onMessage = yield* accept(serverLink.link, handshake).pipe(
          Scope.provide(serverScope),
          Effect.provideContext(context),
          Effect.onError(() => close("refused"))
        )
        serverLink.startReceiving(onMessage)
        clientLink.startReceiving(request.onMessage)
        return clientLink.link
      })

      return Context.make(TransportServer, server).pipe(
        Context.add(TransportClient, TransportClient.of({ connect }))
      )
    })
  )
