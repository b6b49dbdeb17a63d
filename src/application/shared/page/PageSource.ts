import { Effect, Queue, type Scope, Stream } from "effect"
import type { OfficeAddress } from "../../../domain/page/PageEvent.ts"
import { operatorName as nameOfOperator } from "../../../domain/approvals/Caller.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import type { Identity } from "../../../domain/model/Identity.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import {
  type PageCallMessage,
  type PageCallRequest,
  type PageCommand,
  type PageCommandOf,
  type PageCommandTag,
  type PageReplies,
  requestTag
} from "../../../domain/page/PageCommand.ts"
import { type MethodFields, type PageMethodName, pageMethodNames } from "../../../domain/wire/calls.ts"
import type { PageStream } from "./openPageStream.ts"

/** An operator whom the adapter of the page has authenticated. */
export interface Operator {
  /** The object that the Authenticator gave. */
  readonly identity: Identity
  readonly remoteAddress: string
}

/** The name of an operator among the members of an office. */
export const operatorNameOf = ({ identity }: Pick<Operator, "identity">): string => nameOfOperator(identity.subject)

export type PageReply = PageReplies[PageCommandTag]

export type ExecuteCommand = (command: PageCommand, operator: Operator) => Effect.Effect<PageReply, ProtocolError>

export type PageHandlers = {
  readonly [Tag in PageCommandTag]: (
    command: PageCommandOf<Tag>,
    operator: Operator
  ) => Effect.Effect<PageReplies[Tag], ProtocolError>
}

/** Sends a request of the table for an operator, and gives its reply. */
type SendRequest = (
  name: PageMethodName,
  fields: MethodFields<PageMethodName>,
  command: PageCommandOf<Capitalize<PageMethodName>>,
  operator: Operator
) => Effect.Effect<object, ProtocolError>

/** Makes the handlers of the commands that send requests of the table. */
export const handleRequests = (send: SendRequest) =>
  Object.fromEntries(
    pageMethodNames.map((name) => [
      requestTag(name),
      (command: PageCommandOf<Capitalize<PageMethodName>>, operator: Operator) => {
        const { _tag, line: _, office: __, ...fields } = command
        return send(name, fields, command, operator)
      }
    ])
  ) as unknown as Pick<PageHandlers, Capitalize<PageMethodName>>

export const executeBy =
  (handlers: PageHandlers): ExecuteCommand =>
  (command, operator) =>
    // The handler of a tag takes the command of this tag.
    Effect.suspend(() => (handlers[command._tag] as ExecuteCommand)(command, operator))

/** Starts a call. The call runs while the stream is consumed; its last message is the result or an error. */
export type CallAsOperator = (
  request: PageCallRequest,
  operator: Operator
) => Effect.Effect<Stream.Stream<PageCallMessage>, ProtocolError, Scope.Scope>

/** Messages of a call that wait for a slow reader. The oldest ones are dropped. */
const maxQueuedMessages = 64

/** The messages of a call of an operator: that it starts, its statuses, and its result or error. */
export const streamCall = (
  as: "agent" | "operator",
  name: string,
  call: (onStatus: (status: CallStatus) => void) => Effect.Effect<ToolResult, Pick<ProtocolError, "code" | "message">>
): Stream.Stream<PageCallMessage> =>
  Stream.callback<PageCallMessage>(
    Effect.fnUntraced(function* (queue) {
      const calling = call((status) => void Queue.offerUnsafe(queue, { _tag: "Status", status }))
      const last = yield* Effect.match(calling, {
        onSuccess: (result): PageCallMessage => ({ _tag: "Result", result }),
        onFailure: ({ code, message }): PageCallMessage => ({ _tag: "Failed", error: { code, message } })
      })
      yield* Queue.offer(queue, last)
      yield* Queue.end(queue)
    }),
    { bufferSize: maxQueuedMessages, strategy: "sliding" }
  ).pipe(Stream.prepend<PageCallMessage>([{ _tag: "Started", as, name }]))

/** What the office page shows and does, at a Server or at an Agent. */
export interface PageSource {
  /** True when arguments and results of calls are captured. */
  readonly hasBodies: boolean
  /** The only office of the page; missing for all offices of a Server. */
  readonly office?: OfficeAddress
  /** Opens a stream for as long as the scope. Fails with 429 when too many are open. */
  readonly open: Effect.Effect<PageStream, ProtocolError, Scope.Scope>
  readonly execute: ExecuteCommand
  /** Calls a tool as the operator. The call ends with the scope or when the stream is not consumed any more. */
  readonly call: CallAsOperator
}
