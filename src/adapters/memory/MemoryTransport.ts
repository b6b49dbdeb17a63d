import { Context, Deferred, type Duration, Effect, Exit, FiberSet, Layer, Result, Scope } from "effect"
import { type GateRefusal, gate, parseVersion, PROTOCOL_VERSION } from "../../domain/protocol/version.ts"
import { tooLarge } from "../../domain/refusal.ts"
import { type Body, faultyBody, receivedBody } from "../../application/ports/Body.ts"
import {
  AdmissionRefused,
  type Answer,
  type Asked,
  type Handshake,
  type Link,
  LinkClosed,
  NoAnswer,
  NotSent,
  type Receive,
  TransportClient,
  TransportServer,
  Unreachable,
  VersionRefused
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
  readonly travel?: (id: string, to: "member" | "server") => Effect.Effect<void>
  /** What the ids of its links begin with: several Servers that share offices need different ones. */
  readonly name?: string
}

type Accept = (link: Link, handshake: Handshake) => Effect.Effect<Receive, AdmissionRefused, Scope.Scope>

/** One end of a link: what arrives here, and what is still to be answered. */
interface End {
  readonly link: Link
  /** Sets what this end does with messages. Before that, and after the close, they go nowhere. */
  readonly open: (receive: Receive) => void
  readonly deliver: (event: string, body: Body, answered: Deferred.Deferred<Answer, LinkClosed>) => void
  readonly lose: (reason: string) => Effect.Effect<void>
}

const encoder = new TextEncoder()

/** A body as the far end gets it: by its text, as over a wire, so that the ends share no object. */
const carry = (body: Body): Body => {
  const value = Result.flatMap(body.whole(), (whole) => receivedBody(whole).whole())
  if (Result.isFailure(value)) return faultyBody(value.failure)
  if (value.success === undefined) return receivedBody(undefined)
  return Result.match(body.text(), {
    onFailure: faultyBody,
    onSuccess: (text) => receivedBody(JSON.parse(text))
  })
}

/** The way to one end. */
interface Way {
  /** Counts bodies as on their way, and waits until they have arrived. */
  readonly go: (bodies: ReadonlyArray<Body>) => Effect.Effect<void>
  /** Bytes on their way. */
  readonly backlog: () => number
}

const atOnce: Way = { go: () => Effect.void, backlog: () => 0 }

const wayOf = (travel: Effect.Effect<void>): Way => {
  let underWay = 0
  return {
    go: (bodies) => {
      const bytes = bodies.reduce((sum, body) => sum + body.bytes(), 0)
      underWay += bytes
      return Effect.ensuring(
        travel,
        Effect.sync(() => {
          underWay -= bytes
        })
      )
    },
    backlog: () => underWay
  }
}

/** The ways to this end and to the far one. */
interface Ways {
  readonly here: Way
  readonly there: Way
}

const makeEnd = Effect.fnUntraced(function* (
  id: string,
  maxBytes: number,
  { here, there }: Ways,
  far: () => End,
  close: (reason: string) => Effect.Effect<void>
): Effect.fn.Return<End, never, Scope.Scope> {
  const handlers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(handlers)<never>()
  const closed = yield* Deferred.make<string>()
  const unanswered = new Set<Deferred.Deferred<Answer, LinkClosed>>()
  const runAsk = Effect.runForkWith(yield* Effect.context<never>())
  let receive: Receive | undefined

  const fits = (body: Body): boolean =>
    Result.match(body.text(), {
      onFailure: () => true,
      onSuccess: (text) => encoder.encode(text).length <= maxBytes
    })
  /** A body of an answer, or what the asker is told instead of one that is too large. */
  const bounded = (body: Body): Body => (fits(body) ? carry(body) : faultyBody(tooLarge(maxBytes)))
  const sendable = (body: Body): Effect.Effect<void, LinkClosed | NotSent> => {
    if (Deferred.isDoneUnsafe(closed)) {
      return Effect.flatMap(Deferred.await(closed), (reason) => Effect.fail(new LinkClosed({ reason })))
    }
    const text = body.text()
    if (Result.isFailure(text)) return Effect.fail(new NotSent({ refusal: text.failure }))
    return fits(body) ? Effect.void : Effect.fail(new NotSent({ refusal: tooLarge(maxBytes) }))
  }

  const ask = Effect.fnUntraced(function* (event: string, body: Body, deadline: Duration.Duration) {
    yield* sendable(body)
    const answered = Deferred.makeUnsafe<Answer, LinkClosed>()
    unanswered.add(answered)
    far().deliver(event, carry(body), answered)
    return yield* Deferred.await(answered).pipe(
      Effect.timeoutOrElse({
        duration: deadline,
        orElse: () => Effect.fail(new NoAnswer({ after: deadline }))
      }),
      Effect.ensuring(Effect.sync(() => unanswered.delete(answered)))
    )
  })

  const link: Link = {
    id,
    maxBytes: () => maxBytes,
    fits,
    closed: Deferred.await(closed),
    tell: (event, body) =>
      Effect.andThen(
        sendable(body),
        Effect.sync(() => far().deliver(event, carry(body), Deferred.makeUnsafe()))
      ),
    ask,
    request: (event, body, deadline, end) => {
      const fiber = runAsk(ask(event, body, deadline))
      let wanted = true
      const tell = (exit: Asked) => {
        if (wanted) end(exit)
      }
      const exit = fiber.pollUnsafe()
      // Not before the asker has what it needs to forget the answer.
      if (exit === undefined) fiber.addObserver(tell)
      else
        runAsk(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => tell(exit))
          )
        )
      return () => {
        wanted = false
        fiber.interruptUnsafe()
      }
    },
    backlog: there.backlog,
    pause: () => undefined,
    close
  }

  return {
    link,
    open: (handler) => {
      receive = handler
    },
    deliver: (event, body, answered) => {
      const handle = receive
      if (handle === undefined) return
      const arrival = here.go([body])
      run(
        // It arrives a moment later, as over a wire: nobody hears an answer within the call that asks.
        Effect.andThen(Effect.yieldNow, arrival).pipe(
          Effect.flatMap(() => handle(event, body)),
          Effect.catchDefect((defect) => Effect.as(Effect.logError("handler failed", { event }, defect), [])),
          Effect.flatMap((answer) => {
            const carried = answer.map(bounded)
            return Effect.andThen(there.go(carried), Deferred.succeed(answered, carried))
          }),
          Effect.asVoid
        )
      )
    },
    lose: (reason) =>
      Effect.suspend(() => {
        receive = undefined
        for (const answered of unanswered)
          Deferred.doneUnsafe(answered, Exit.fail(new LinkClosed({ reason })))
        Deferred.doneUnsafe(closed, Exit.succeed(reason))
        return FiberSet.clear(handlers)
      })
  }
})

const refusalOf = ({ body }: GateRefusal): VersionRefused | AdmissionRefused =>
  body.code === 4008
    ? new VersionRefused({ message: body.message, mismatch: body })
    : new AdmissionRefused({ code: body.code, message: body.message })

/**
 * Both ends of a transport within one process: a full peer of the Socket.IO adapter, for deterministic tests on
 * virtual time and for hosts that keep Server and members together.
 */
export const layer = (options: MemoryTransportOptions = {}): Layer.Layer<TransportServer | TransportClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const {
        maxMessageBytes = Number.POSITIVE_INFINITY,
        name = "memory",
        travel,
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
        readonly receive: Receive
      }) {
        if (serving === undefined) return yield* new Unreachable({ message: "No Server is running" })
        const { accept, context, scope } = serving
        const admitted = gate([request.version], serverVersion)
        if (Result.isFailure(admitted)) return yield* refusalOf(admitted.failure)
        const id = `${name}-${++count}`
        const here = yield* Effect.scope
        const there = yield* Scope.fork(scope)
        const lose = (reason: string) =>
          Effect.suspend(() => Effect.andThen(near.lose(reason), far.lose(reason)))
        const close = (reason: string) => Effect.andThen(lose(reason), Scope.close(there, Exit.void))
        const way = (to: "member" | "server"): Way =>
          travel === undefined ? atOnce : wayOf(Effect.suspend(() => travel(id, to)))
        const toMember = way("member")
        const toServer = way("server")
        const near: End = yield* makeEnd(
          id,
          maxMessageBytes,
          { here: toMember, there: toServer },
          () => far,
          close
        )
        const far: End = yield* makeEnd(
          id,
          Number.POSITIVE_INFINITY,
          { here: toServer, there: toMember },
          () => near,
          close
        ).pipe(Scope.provide(there), Effect.provideContext(context))
        yield* Scope.addFinalizer(there, lose("Server closed"))
        yield* Scope.addFinalizer(here, close("closed by the member"))
        const handshake = { version: admitted.success, auth: request.auth, headers: {}, remote: "memory" }
        const receive = yield* accept(far.link, handshake).pipe(
          Scope.provide(there),
          Effect.provideContext(context),
          Effect.onError(() => close("refused"))
        )
        far.open(receive)
        near.open(request.receive)
        return near.link
      })

      return Context.make(TransportServer, server).pipe(
        Context.add(TransportClient, TransportClient.of({ connect }))
      )
    })
  )
