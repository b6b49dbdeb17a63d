import { Context, Effect, Tracer } from "effect"
import { formatTraceparent, parseTraceparent } from "../../domain/traceparent.ts"
import { makeRequestId } from "./requestId.ts"

/** What is known of a request when it begins; never its arguments. */
type Attributes = { readonly [name: string]: string | number | boolean }

/** Does anybody record spans? Effect's own tracer records nothing. */
const isTracing = (context: Context.Context<never>): boolean =>
  Context.get(context, Tracer.Tracer) !== Tracer.nativeTracer

/**
 * Sends a request under an id of its own. When spans are recorded the request is one, and its id is the span's
 * `traceparent`, which says to everybody on the way which trace it belongs to; to peers that do not trace it is an id
 * like any other.
 */
export const withClientSpan = <A, E, R>(
  name: string,
  attributes: Attributes,
  send: (reqId: string) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) =>
    isTracing(context)
      ? Effect.useSpan(name, { kind: "client", attributes }, (span) => {
          const traceparent = formatTraceparent(span)
          const sending = traceparent === undefined ? Effect.flatMap(makeRequestId, send) : send(traceparent)
          return Effect.provideService(sending, Tracer.ParentSpan, span)
        })
      : Effect.flatMap(makeRequestId, send)
  )

/** Serves a request as part of the trace that its id names, or of none; where nobody records spans it just serves. */
export const withServerSpan = <A, E, R>(
  name: string,
  attributes: Attributes,
  reqId: string,
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

/**
 * Asks a peer outside of the office as a step of the current trace. `ask` gets the `traceparent` to hand on, or
 * `undefined` where nothing is recorded.
 */
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
