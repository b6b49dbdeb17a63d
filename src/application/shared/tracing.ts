import { Context, Effect, Random, Tracer } from "effect"
import { formatTraceparent, parseTraceparent } from "../../domain/traceContext.ts"
import type { RequestId } from "../../domain/model/ids.ts"

/** Makes a request id: 128 random bits in the form of a UUID. Ids must be unique (spec §6.2). */
export const makeRequestId: Effect.Effect<string> = Effect.map(
  Effect.forEach([0, 1, 2, 3], () => Random.nextIntBetween(0, 2 ** 32 - 1)),
  (words) => {
    const digits = words.map((word) => word.toString(16).padStart(8, "0")).join("")
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
  }
)

/** True when a tracer records spans; Effect's native tracer does not. */
export const isTracing = (context: Context.Context<never>): boolean =>
  Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer

/** The parent of a span by a `traceparent`, which starts a trace without a valid one. */
export const remoteParent = (traceparent: string | undefined): { readonly root: true } | { parent: Tracer.AnySpan } => {
  const from = traceparent === undefined ? undefined : parseTraceparent(traceparent)
  return from === undefined ? { root: true } : { parent: Tracer.externalSpan({ ...from }) }
}

/** Runs an effect in a span, which is the parent of its spans. Attributes are never arguments. */
export const inSpan = <A, E, R>(
  name: string,
  options: Tracer.SpanOptionsNoTrace,
  run: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.useSpan(name, options, (span) => Effect.provideService(run(span), Tracer.ParentSpan, span))

/**
 * Sends a request with a new request id, in a client span when spans are recorded. The id is then the `traceparent` of
 * the span, by which other peers join the trace. Peers that do not trace need no change.
 */
export const withNewRequestId = <A, E, R>(
  name: string,
  attributes: Readonly<Record<string, string>>,
  send: (reqId: RequestId) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => {
    const sendUntraced = Effect.flatMap(makeRequestId, send)
    if (!isTracing(context)) return sendUntraced
    return inSpan(name, { kind: "client", attributes }, (span) => {
      const traceparent = formatTraceparent(span)
      return traceparent === undefined ? sendUntraced : send(traceparent)
    })
  })

/** Serves a request in a server span, whose parent is the `traceparent` in the request id. */
export const withServerSpan = <A, E, R>(
  name: string,
  attributes: Readonly<Record<string, string>>,
  reqId: RequestId,
  serve: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) =>
    isTracing(context) ? inSpan(name, { kind: "server", attributes, ...remoteParent(reqId) }, () => serve) : serve
  )
