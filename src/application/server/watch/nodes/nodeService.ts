import { Duration, Effect, Exit, FiberMap, Match, Option, Queue, Result, Schema, Scope, Stream } from "effect"
import { isJsonObject } from "../../../../domain/json.ts"
import { Identifier } from "../../../../domain/model/fields.ts"
import { Right } from "../../../../domain/model/Identity.ts"
import { badRequest, notFound, ProtocolError, unavailable } from "../../../../domain/model/ProtocolError.ts"
import { PageCallRequest, PageCommand, type PageCallMessage } from "../../../../domain/page/PageCommand.ts"
import type { PageBatch } from "../../../../domain/page/PageEvent.ts"
import { makeCodec } from "../../../../domain/validation.ts"
import { type Body, decodeBody, jsonBody } from "../../../ports/Body.ts"
import type { Reply } from "../../../ports/Transport.ts"
import type { CallAsOperator, PageSource } from "../../../shared/page/PageSource.ts"
import { secureRandomHex } from "../../../shared/secureRandom.ts"

/** The event of requests between nodes for their operators. */
export const operatorsEvent = "a2c:operators"

const Texts = Schema.Array(Schema.String)

/** An operator whom another node has authenticated. */
const NodeOperator = Schema.Struct({
  identity: Schema.Struct({
    subject: Schema.String,
    isShared: Schema.optionalKey(Schema.Boolean),
    grants: Schema.Struct({ rights: Schema.Array(Right), offices: Texts, names: Texts }),
    expiresAt: Schema.UndefinedOr(Schema.Finite).pipe(Schema.withDecodingDefaultKey(Effect.undefined))
  }),
  remoteAddress: Schema.String
})

const NodeRequest = Schema.Union([
  /** Opens a page's stream of the other node; the reply is its snapshot. */
  Schema.TaggedStruct("OpenPage", {}),
  /** Starts a call at the other node; the reply has the id of a stream. */
  Schema.TaggedStruct("OpenCall", { call: PageCallRequest, operator: NodeOperator }),
  /** Waits for the next messages of a stream; the reply is a {@link NextMessages}. */
  Schema.TaggedStruct("Next", { stream: Identifier }),
  Schema.TaggedStruct("Close", { stream: Identifier }),
  /** Executes a command at the other node; the reply is that of the command. */
  Schema.TaggedStruct("Execute", { command: PageCommand, operator: NodeOperator })
])

/** A request of one node to another for an operator. Its reply is the value, or an `error`. */
export type NodeRequest = typeof NodeRequest.Type

export const nodeRequestCodec = makeCodec(NodeRequest)

export interface NextMessages {
  /** Empty when none has arrived in time. */
  readonly messages: ReadonlyArray<PageBatch | PageCallMessage>
  /** The stream has ended. */
  readonly isLast: boolean
}

export const unreachable = (node: string, reason: string) =>
  unavailable(`The node ${node} cannot be reached: ${reason}`)

/** The value of a node's reply, or the error in its place. */
export const decodeNodeReply = (node: string, [body]: Reply): Result.Result<object, ProtocolError> =>
  Result.flatMap(body?.value() ?? Result.fail(badRequest("no reply")), (reply) => {
    const { error, value } = isJsonObject(reply) ? reply : {}
    if (isJsonObject(error) && typeof error["code"] === "number")
      return Result.fail(new ProtocolError({ code: error["code"], message: String(error["message"]) }))
    return isJsonObject(value) ? Result.succeed(value) : Result.fail(unreachable(node, "its reply is malformed"))
  })

/** How long a request waits for the next message of a call. */
const maxWait = Duration.seconds(10)

/** A stream that its node does not read for this time is closed: the node may be lost. */
const lease = Duration.seconds(30)

/** Messages of a call that wait for the other node. */
const maxQueuedMessages = 16

/** Opens a stream, and gives the reply to its request. */
type Open = Effect.Effect<
  { readonly reply: { readonly stream: string }; readonly next: Effect.Effect<NextMessages> },
  ProtocolError,
  Scope.Scope
>

const openPage = (open: PageSource["open"]): Open =>
  Effect.map(open, ({ next, snapshot }) => ({
    reply: snapshot,
    next: Effect.map(next, (batch) => ({ messages: batch === undefined ? [] : [batch], isLast: batch === undefined }))
  }))

const openCall = Effect.fnUntraced(function* (
  call: CallAsOperator,
  { call: request, operator }: Extract<NodeRequest, { readonly _tag: "OpenCall" }>
) {
  const queue = yield* Stream.toQueue(yield* call(request, operator), { capacity: maxQueuedMessages })
  const next = Queue.take(queue).pipe(
    Effect.timeoutOption(maxWait),
    Effect.map((message): NextMessages => ({ messages: Option.toArray(message), isLast: false })),
    Effect.orElseSucceed((): NextMessages => ({ messages: [], isLast: true }))
  )
  return { reply: { stream: secureRandomHex(16) }, next }
})

/** Makes the function that serves the requests of other nodes, as long as the scope. */
export const makeNodeService = Effect.fnUntraced(function* ({
  call,
  execute,
  open
}: Pick<PageSource, "call" | "execute" | "open">) {
  const scope = yield* Effect.scope
  const streams = new Map<string, Pick<Effect.Success<Open>, "next"> & { readonly scope: Scope.Closeable }>()
  const leases = yield* FiberMap.make<string, void>()

  const close = (id: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const stream = streams.get(id)
      streams.delete(id)
      return stream === undefined ? Effect.void : Scope.close(stream.scope, Exit.void)
    })

  const extendLease = (id: string) => FiberMap.run(leases, id, Effect.andThen(Effect.sleep(lease), close(id)))

  /** Opens a stream that ends with its lease, and gives its first reply. */
  const serve = Effect.fnUntraced(function* (opening: Open) {
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

  const handle = Match.typeTags<NodeRequest, Effect.Effect<object, ProtocolError>>()({
    OpenPage: () => serve(openPage(open)),
    OpenCall: (request) => serve(openCall(call, request)),
    Next: ({ stream }) => readNext(stream),
    Close: ({ stream }) => Effect.as(close(stream), {}),
    Execute: ({ command, operator }) => execute(command, operator)
  })

  return (body: Body): Effect.Effect<Body> =>
    Effect.fromResult(decodeBody(body, nodeRequestCodec.decode)).pipe(
      Effect.flatMap(handle),
      Effect.match({
        onSuccess: (value) => jsonBody({ value }),
        onFailure: ({ code, message }) => jsonBody({ error: { code, message } })
      })
    )
})
