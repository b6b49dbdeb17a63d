import { Context, Effect, Random, Tracer } from "effect"
import { formatTraceparent, parseTraceparent } from "../../domain/traceparent.ts"
import type { RequestId } from "../../domain/model/ids.ts"

/** Makes a request id: 128 random bits in the form of a UUID. Ids must be unique (spec §6.2). */
export const makeRequestId: Effect.Effect<string> = Effect.map(
  Effect.forEach([0, 1, 2, 3], () => Random.nextIntBetween(0, 2 ** 32 - 1)),
  (words) => {
    const digits = words.map((word) => word.toString(16).padStart(8, "0")).join("")
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
  }
)

/** The attributes of a span at its start; never arguments. */
type Attributes = { readonly [name: string]: string | number | boolean }

/** True when a tracer records spans; Effect's native tracer does not. */
const isTracing = (context: Context.Context<never>) => Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer

/** Sends a request in a client span. `send` gets the `traceparent` to forward, if spans are recorded. */
export const withPeerSpan = <A, E, R>(
  name: string,
  attributes: Attributes,
  send: (traceparent: string | undefined) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) =>
    isTracing(context)
      ? Effect.useSpan(name, { kind: "client", attributes }, (span) =>
          Effect.provideService(send(formatTraceparent(span)), Tracer.ParentSpan, span)
        )
      : send(undefined)
  )

/**
 * Sends a request with a new request id, in a client span when spans are recorded. The id is then the `traceparent` of
 * the span, by which other peers join the trace. Peers that do not trace need no change.
 */
export const withNewRequestId = <A, E, R>(
  name: string,
  attributes: Attributes,
  send: (reqId: RequestId) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  withPeerSpan(name, attributes, (traceparent) =>
    traceparent === undefined ? Effect.flatMap(makeRequestId, send) : send(traceparent)
  )

/** Serves a request in a server span, whose parent is the `traceparent` in the request id. */
export const withServerSpan = <A, E, R>(
  name: string,
  attributes: Attributes,
  reqId: RequestId,
  serve: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => {
    if (!isTracing(context)) return serve
    const from = parseTraceparent(reqId)
    const options = {
      kind: "server",
      attributes,
      ...(from === undefined ? { root: true } : { parent: Tracer.externalSpan({ ...from }) })
    } as const
    return Effect.useSpan(name, options, (span) => Effect.provideService(serve, Tracer.ParentSpan, span))
  })
