import { Duration, Effect, Match, Record, Result, Schema } from "effect"
import { badRequest, forbidden, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { formatSchemaError, type Lenient } from "../../domain/validation.ts"
import {
  type ReplyFields,
  completeFields,
  type MethodArguments,
  type MethodFields,
  type MethodName,
  methodNamed,
  methodNames,
  type MethodResult
} from "../../domain/wire/calls.ts"
import type { CallDefinition } from "../../domain/wire/defineCall.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import { jsonBody } from "../ports/Body.ts"
import type { ExtendTimeout } from "../ports/Transport.ts"
import { makeListingReport } from "../shared/listings/serverListings.ts"
import { withNewRequestId } from "../shared/tracing.ts"
import { type AgentError, BadReply, checkReply, Disconnected, ServerTimeout } from "./AgentErrors.ts"
import type { ComputerName, RequestId } from "../../domain/model/ids.ts"

/** Timeout of requests without a `timeout` field: longer than the Server's, whose error then arrives first. */
const defaultTimeout = Duration.seconds(35)

/** Time in seconds that the Agent waits longer than the Computer may take. */
const marginSeconds = 10

/** Maps an encoding failure: the caller passed a value that the protocol does not allow. */
const toBadRequest = (error: unknown): ProtocolError =>
  badRequest(Schema.isSchemaError(error) ? formatSchemaError(error) : String(error))

const toAgentError = (error: Effect.Error<ReturnType<OfficeMember["request"]>>): AgentError =>
  Match.valueTags(error, {
    LinkClosed: ({ message }) => new Disconnected({ message }),
    RequestTimeout: ({ timeout }) =>
      new ServerTimeout({ message: `No reply within ${Duration.toSeconds(timeout)} seconds` }),
    SendFailed: ({ error: own }) => own,
    NotPermitted: ({ message }) => forbidden(message)
  })

type Definition<Request, Reply> = Pick<CallDefinition<Request, Reply>, "event" | "request" | "reply">

/** What every request names: its Agent and its id. */
export interface RequestBase {
  readonly agent: string
  readonly reqId: RequestId
}

/** The methods of the rows in the table of requests. */
export type RequestMethods = {
  readonly [K in MethodName]: (...args: MethodArguments<K>) => Effect.Effect<MethodResult<K>, AgentError>
}

/** Sends the request of a method by its fields, and gives the whole reply. */
export type RequestMethod = <K extends MethodName>(
  method: K,
  fields: MethodFields<K>
) => Effect.Effect<ReplyFields<K>, AgentError>

export type OfficeRequests = ReturnType<typeof makeOfficeRequests>

/** Makes the functions that send requests of an Agent to its office, and the methods of the table of requests. */
export const makeOfficeRequests = (
  member: OfficeMember,
  { name: agent, office }: { readonly name: string; readonly office: string }
) => {
  const { calls, decodeProtocolError } = member.line
  const report = makeListingReport({ office })

  /** Sends a request and decodes its reply, or the protocol error instead of the reply. */
  const send = Effect.fnUntraced(function* <Request extends { readonly reqId: RequestId }, Reply>(
    { event, reply, request: { encode } }: Definition<Request, Reply>,
    payload: Request,
    timeout: Duration.Duration,
    extend?: ExtendTimeout
  ): Effect.fn.Return<Reply, AgentError> {
    const body = yield* Effect.try({ try: () => jsonBody(encode(payload)), catch: toBadRequest })
    const [acknowledged] = yield* Effect.mapError(member.request(event, body, timeout, extend), toAgentError)
    if (acknowledged === undefined) return yield* new BadReply({ message: "The reply is empty" })
    const received = yield* Effect.fromResult(acknowledged.value())
    const error = decodeProtocolError(received)
    if (error !== undefined) return yield* error
    const decoded = yield* checkReply(reply.decode(received))
    const { omitted, reqId, ...rest } = decoded as Lenient<{ readonly reqId?: unknown }>
    if (reqId !== undefined && reqId !== payload.reqId) {
      return yield* new BadReply({ message: "The reply has another req_id" })
    }
    if (omitted === undefined) return decoded
    const { computer } = payload as { readonly computer?: ComputerName }
    yield* report(event, { items: [], omitted: omitted.map((reason) => ({ name: String(computer), reason })) })
    return { ...rest, reqId } as Reply
  })

  const request = <Request extends RequestBase, Reply>(
    definition: Definition<Request, Reply>,
    makePayload: (base: RequestBase) => Request,
    timeout = defaultTimeout
  ) =>
    withNewRequestId(definition.event, { "a2c.office": office }, (reqId) =>
      send(definition, makePayload({ agent, reqId }), timeout)
    )

  const requestRow = (name: MethodName, fields: object): Effect.Effect<object, AgentError> => {
    const completed = completeFields(name, fields)
    if (Result.isFailure(completed)) return Effect.fail(completed.failure)
    // A line has the codecs of the row, for the fields of this row.
    const row = calls[name] as unknown as CallDefinition<RequestBase, { readonly reqId?: unknown }>
    const seconds = row.timeoutSeconds({ ...completed.success, agent: "", reqId: "" })
    const timeout = seconds === undefined ? undefined : Duration.seconds(seconds + marginSeconds)
    return Effect.map(
      request(row, (base) => ({ ...completed.success, ...base }), timeout),
      ({ reqId: _, ...reply }) => reply
    )
  }
  const runMethod =
    (name: MethodName) =>
    (...args: ReadonlyArray<unknown>) => {
      const { toFields, toResult } = methodNamed(name)
      const options = args[toFields.length]
      const fields = { ...toFields(...args), ...(typeof options === "object" ? options : {}) }
      return Effect.map(requestRow(name, fields), toResult)
    }
  return {
    send,
    request,
    report,
    methods: Record.fromIterableWith(methodNames, (name) => [name, runMethod(name)]) as unknown as RequestMethods,
    requestMethod: requestRow as unknown as RequestMethod
  }
}
