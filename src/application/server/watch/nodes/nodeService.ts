import { type Cause, Duration, Effect, Exit, FiberMap, Option, Queue, Scope, Stream } from "effect"
import { notFound, type ProtocolError } from "../../../../domain/model/ProtocolError.ts"
import type { PageCallMessage } from "../../../../domain/page/PageCommand.ts"
import { type Body, decodeBody, jsonBody } from "../../../ports/Body.ts"
import { secureRandomHex } from "../../../shared/secureRandom.ts"
import {
  encodeNodeError,
  encodeNodeReply,
  fromNodeOperator,
  type NextMessages,
  type NodeRequest,
  nodeRequestCodec,
  type OpenedStream
} from "./NodeRequest.ts"
import type { ExecuteCommand, CallAsOperator, PageStream } from "../../../shared/page/PageSource.ts"

/** How long a request waits for the next message of a call. */
const maxWait = Duration.seconds(10)

/** A stream that its node does not read for this time is closed: the node may be lost. */
const lease = Duration.seconds(30)

/** Messages of a call that wait for the other node. */
const maxQueuedMessages = 16

/** A stream that was opened, with the reply to its request. */
interface Opened {
  readonly reply: { readonly stream: string }
  readonly next: Effect.Effect<NextMessages>
}

interface ServiceOptions {
  readonly open: Effect.Effect<PageStream, ProtocolError, Scope.Scope>
  readonly execute: ExecuteCommand
  readonly call: CallAsOperator
}

const openPage = (open: ServiceOptions["open"]): Effect.Effect<Opened, ProtocolError, Scope.Scope> =>
  Effect.map(open, ({ next, snapshot }) => ({
    reply: snapshot,
    next: Effect.map(next, (batch) => ({ messages: batch === undefined ? [] : [batch], isLast: batch === undefined }))
  }))

const openCall = Effect.fnUntraced(function* (
  call: CallAsOperator,
  { call: request, operator }: Extract<NodeRequest, { readonly _tag: "OpenCall" }>
) {
  const messages = yield* call(request, fromNodeOperator(operator))
  const queue = yield* Queue.bounded<PageCallMessage, Cause.Done>(maxQueuedMessages)
  yield* Effect.forkScoped(
    Effect.andThen(
      Stream.runForEach(messages, (message) => Queue.offer(queue, message)),
      Queue.end(queue)
    )
  )
  const next = Queue.take(queue).pipe(
    Effect.timeoutOption(maxWait),
    Effect.map((message): NextMessages => ({ messages: Option.toArray(message), isLast: false })),
    Effect.orElseSucceed((): NextMessages => ({ messages: [], isLast: true }))
  )
  return { reply: { stream: secureRandomHex(16) } satisfies OpenedStream, next }
})

/** Makes the function that serves the requests of other nodes, as long as the scope. */
export const makeNodeService = Effect.fnUntraced(function* ({
  call,
  execute,
  open
}: ServiceOptions): Effect.fn.Return<(body: Body) => Effect.Effect<Body>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const streams = new Map<string, Pick<Opened, "next"> & { readonly scope: Scope.Closeable }>()
  const leases = yield* FiberMap.make<string, void>()

  const close = (id: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const stream = streams.get(id)
      streams.delete(id)
      return stream === undefined ? Effect.void : Scope.close(stream.scope, Exit.void)
    })

  const extendLease = (id: string) => FiberMap.run(leases, id, Effect.andThen(Effect.sleep(lease), close(id)))

  /** Opens a stream that ends with its lease, and gives its first reply. */
  const serve = Effect.fnUntraced(function* (opening: Effect.Effect<Opened, ProtocolError, Scope.Scope>) {
    const streamScope = yield* Scope.fork(scope)
    const { next, reply } = yield* Effect.onError(Scope.provide(opening, streamScope), () =>
      Scope.close(streamScope, Exit.void)
    )
    streams.set(reply.stream, { next, scope: streamScope })
    yield* extendLease(reply.stream)
    return reply
  })

  const readNext = Effect.fnUntraced(function* (id: string) {
    const stream = streams.get(id)
    if (stream === undefined) return yield* notFound("The stream has ended")
    yield* extendLease(id)
    const read = yield* stream.next
    if (read.isLast) yield* close(id)
    return read
  })

  const handle = (request: NodeRequest): Effect.Effect<object, ProtocolError> => {
    switch (request._tag) {
      case "OpenPage":
        return serve(openPage(open))
      case "OpenCall":
        return serve(openCall(call, request))
      case "Next":
        return readNext(request.stream)
      case "Close":
        return Effect.as(close(request.stream), {})
      case "Execute":
        return execute(request.command, fromNodeOperator(request.operator))
    }
  }

  return (body) =>
    Effect.fromResult(decodeBody(body, nodeRequestCodec.decode)).pipe(
      Effect.flatMap(handle),
      Effect.match({
        onSuccess: (value) => jsonBody(encodeNodeReply(value)),
        onFailure: (error) => jsonBody(encodeNodeError(error))
      })
    )
})
