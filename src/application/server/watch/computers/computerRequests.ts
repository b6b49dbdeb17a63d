import { Duration, Effect, Option, Schema } from "effect"
import {
  badRequest,
  computerNotFound,
  errorCodes,
  notFound,
  ProtocolError,
  unavailable
} from "../../../../domain/model/ProtocolError.ts"
import { type Codec, formatSchemaError } from "../../../../domain/validation.ts"
import { completeFields, type MethodName } from "../../../../domain/wire/calls.ts"
import type { CallDefinition } from "../../../../domain/wire/defineCall.ts"
import type { ProtocolLine } from "../../../../domain/wire/ProtocolLine.ts"
import { decodeBody, jsonBody } from "../../../ports/Body.ts"
import { type Reply, requestUsing, toLinkError } from "../../../ports/Transport.ts"
import { makeRequestId } from "../../../shared/tracing.ts"
import { type WatchedServer } from "../WatchedServer.ts"
import { type Operator, operatorNameOf } from "../../../shared/page/PageSource.ts"
import type { ComputerName, RequestId } from "../../../../domain/model/ids.ts"

/** Timeout of an operator's request to a Computer. */
export const requestTimeout = Duration.seconds(10)

/** The line with a name, if the Server serves it. */
export const findLine = ({ servedLines }: WatchedServer, name: string): Effect.Effect<ProtocolLine, ProtocolError> => {
  const line = servedLines.find((one) => one.name === name)
  return line === undefined ? Effect.fail(notFound(`The Server does not serve the line ${name}`)) : Effect.succeed(line)
}

/** Decodes a reply, or the error in its place. */
export const decodeReply = Effect.fnUntraced(function* <A>(
  { decodeProtocolError }: ProtocolLine,
  codec: Codec<A>,
  [body]: Reply
): Effect.fn.Return<A, ProtocolError> {
  if (body === undefined) return yield* badReply("The reply is empty")
  const value = yield* Effect.fromResult(body.value())
  const error = decodeProtocolError(value)
  if (error !== undefined) return yield* error
  return yield* Effect.mapError(Effect.fromResult(decodeBody(body, codec.decode)), ({ message }) => badReply(message))
})

const badReply = (message: string) =>
  new ProtocolError({ code: errorCodes.internalError, message: `The reply of the Computer is invalid: ${message}` })

/** The fields of a request to a Computer. */
interface RequestBase {
  readonly agent: string
  readonly reqId: RequestId
  readonly computer: ComputerName
}

/** Sends a request of an operator to a Computer, over its link or its node. The office need not have an Agent. */
export const requestComputer = Effect.fnUntraced(function* <Request extends RequestBase, A>(
  server: WatchedServer,
  operator: Operator,
  address: { readonly line: string; readonly office: string; readonly computer: ComputerName },
  select: (line: ProtocolLine) => CallDefinition<Request, A>,
  makePayload: (base: RequestBase) => Request
): Effect.fn.Return<A, ProtocolError> {
  const { connections, nodes, registry } = server
  const { computer, office } = address
  const line = yield* findLine(server, address.line)
  const member = Option.getOrUndefined(registry.findComputer(line.officeKey(office), computer))
  if (member === undefined) return yield* computerNotFound(computer)
  const definition = select(line)
  const base = { agent: operatorNameOf(operator), reqId: yield* makeRequestId, computer }
  const body = yield* Effect.try({
    try: () => jsonBody(definition.request.encode(makePayload(base))),
    catch: (error) => badRequest(Schema.isSchemaError(error) ? formatSchemaError(error) : String(error))
  })
  const connection = connections.get(member.sid)
  const request =
    member.node === registry.node
      ? connection?.link.request
      : requestUsing((...args) => nodes.startRequest(member, ...args))
  if (request === undefined) return yield* unavailable(`Computer '${computer}' has just disconnected`)
  const reply = yield* Effect.mapError(
    request(definition.event, body, requestTimeout),
    toLinkError(computerNotFound(computer))
  )
  return yield* decodeReply(line, definition.reply, reply)
})

/** Sends a request of the table for an operator, and gives its reply. */
export const requestMethod = (
  server: WatchedServer,
  operator: Operator,
  address: { readonly line: string; readonly office: string; readonly computer: ComputerName },
  name: MethodName,
  fields: object
): Effect.Effect<object, ProtocolError> =>
  Effect.flatMap(Effect.fromResult(completeFields(name, fields)), (complete) =>
    Effect.map(
      requestComputer(
        server,
        operator,
        address,
        // A line has the codecs of the row, for the fields of this row.
        ({ calls }) =>
          calls[name] as unknown as CallDefinition<
            RequestBase,
            { readonly reqId?: unknown; readonly omitted?: unknown }
          >,
        (base) => ({ ...complete, ...base })
      ),
      ({ omitted: _, reqId: __, ...reply }) => reply
    )
  )
