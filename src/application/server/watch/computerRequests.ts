import { Duration, Effect, Option, Schema } from "effect"
import { type ApprovalView, toAnswer } from "../../../domain/approvals/ApprovalView.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"
import { mcpFeature } from "../../../domain/model/messages/mcp.ts"
import type { TargetRequest } from "../../../domain/model/messages/requests.ts"
import {
  badRequest,
  computerNotFound,
  errorCodes,
  forbidden,
  notFound,
  payloadTooLarge,
  ProtocolError,
  unavailable
} from "../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type OperatorRequest, operatorRequests } from "../../../domain/page/operatorRequests.ts"
import { toExactTools } from "../../../domain/tools/listings/mcpListings.ts"
import { type Codec, formatSchemaError } from "../../../domain/validation.ts"
import { type CallRequest, completeFields, type MethodName, type ReplyFields } from "../../../domain/wire/calls.ts"
import type { CallDefinition } from "../../../domain/wire/defineCall.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import { decodeBody, jsonBody } from "../../ports/Body.ts"
import type { DocumentReader } from "../../ports/files/DocumentReader.ts"
import { type Link, type Reply, requestUsing, toLinkError } from "../../ports/Transport.ts"
import { makeListingReport } from "../../shared/listings/serverListings.ts"
import { maxDocumentBytes, toPreview } from "../../shared/page/documentPreview.ts"
import { handleRequests, type Operator, operatorNameOf, type PageHandlers } from "../../shared/page/PageSource.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import type { RecordAction } from "../observability/auditing.ts"
import type { WatchedServer } from "./WatchedServer.ts"

/** Timeout of an operator's request to a Computer. */
const requestTimeout = Duration.seconds(10)

const transferTimeout = Duration.seconds(10)

export interface ComputerAddress {
  readonly line: string
  readonly office: string
  readonly computer: ComputerName
}

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
  const error = decodeProtocolError(yield* Effect.fromResult(body.value()))
  if (error !== undefined) return yield* error
  return yield* Effect.mapError(Effect.fromResult(decodeBody(body, codec.decode)), ({ message }) => badReply(message))
})

const badReply = (message: string) =>
  new ProtocolError({ code: errorCodes.internalError, message: `The reply of the Computer is invalid: ${message}` })

/** The rows of the table that operators send. */
type RequestName = MethodName | "getTools" | "mcp"

type RequestFields<K extends RequestName> = Omit<CallRequest<K>, keyof TargetRequest>

/** Makes the functions that send requests of operators to Computers. An office need not have an Agent. */
const makeRequests = (server: WatchedServer) => {
  const { connections, nodes, registry } = server

  const find = Effect.fnUntraced(function* ({ computer, line: name, office }: ComputerAddress) {
    const line = yield* findLine(server, name)
    const member = Option.getOrUndefined(registry.findComputer(line.officeKey(office), computer))
    if (member === undefined) return yield* computerNotFound(computer)
    const send = <A>(request: Link["request"], event: string, payload: unknown, codec: Codec<A>) =>
      request(event, jsonBody(payload), requestTimeout).pipe(
        Effect.mapError(toLinkError(computerNotFound(computer))),
        Effect.flatMap((reply) => decodeReply(line, codec, reply))
      )
    return { line, member, connection: connections.get(member.sid), send }
  })

  /** Sends a request of the table, over the link of the Computer or its node. */
  const request = Effect.fnUntraced(function* <K extends RequestName>(
    operator: Operator,
    address: ComputerAddress,
    name: K,
    fields: RequestFields<K>
  ): Effect.fn.Return<ReplyFields<K>, ProtocolError> {
    const { computer } = address
    const { connection, line, member, send } = yield* find(address)
    // A line has the codecs of the row, for the fields of this row.
    const { event, reply, request } = line.calls[name] as unknown as CallDefinition<
      TargetRequest,
      ReplyFields<K> & { readonly reqId?: unknown; readonly omitted?: unknown }
    >
    const target = { agent: operatorNameOf(operator), reqId: yield* makeRequestId, computer }
    const payload = yield* Effect.try({
      try: () => request.encode({ ...fields, ...target }),
      catch: (error) => badRequest(Schema.isSchemaError(error) ? formatSchemaError(error) : String(error))
    })
    const requestMember =
      member.node === registry.node
        ? connection?.link.request
        : requestUsing((...args) => nodes.startRequest(member, ...args))
    if (requestMember === undefined) return yield* unavailable(`Computer '${computer}' has just disconnected`)
    const { omitted: _, reqId: __, ...replied } = yield* send(requestMember, event, payload, reply)
    return replied as ReplyFields<K>
  })

  /** Sends a request to a Computer of this node whose owner lets operators do this. Other peers never see it. */
  const requestPermitted = Effect.fnUntraced(function* <Request, A>(
    address: ComputerAddress,
    { event, isPermitted, reply, request }: OperatorRequest<Request, A>,
    payload: Request,
    refusal: string
  ): Effect.fn.Return<A, ProtocolError> {
    const { connection, send } = yield* find(address)
    if (connection === undefined) return yield* computerNotFound(address.computer)
    if (!isPermitted(connection.features)) return yield* forbidden(`Computer '${address.computer}' ${refusal}`)
    return yield* send(connection.link.request, event, request.encode(payload), reply)
  })

  return { request, requestPermitted }
}

type Requests = ReturnType<typeof makeRequests>

/** What a Computer does not permit, after its name. */
const decidesNot = "does not let operators decide about calls (--approvers page)"
const explainsNot = "does not explain its decisions to operators (--approvers page, --operators)"

/** Asks as a caller, which may answer the questions of its calls, where the Computer does not let operators decide. */
const orAsCaller = (
  asked: Effect.Effect<ApprovalView, ProtocolError>,
  asCaller: Effect.Effect<ApprovalView | undefined, ProtocolError>
): Effect.Effect<ApprovalView, ProtocolError> =>
  Effect.catchIf(
    asked,
    ({ code }) => code === errorCodes.forbidden,
    (refusal) =>
      Effect.flatMap(asCaller, (found) => (found === undefined ? Effect.fail(refusal) : Effect.succeed(found))).pipe(
        Effect.mapError((error) => (error.code === errorCodes.forbidden ? refusal : error))
      )
  )

type DecisionHandlers = Pick<PageHandlers, "GetApproval" | "DecideApproval" | "ExplainCall">

const makeDecisionHandlers = ({ request, requestPermitted }: Requests, recorded: RecordAction): DecisionHandlers => ({
  GetApproval: (command, operator) => {
    const { id } = command
    return orAsCaller(
      requestPermitted(command, operatorRequests.getApproval, { id }, decidesNot),
      Effect.map(request(operator, command, "getApprovals", { approvalId: id }), ({ approvals }) =>
        approvals.find((one) => one.id === id)
      )
    )
  },
  DecideApproval: (command, operator) => {
    const { _tag, computer, line, office, ...answer } = command
    const { action, id, scope, until } = answer
    const target = { line, office, computer, approval: id, action, ...definedOnly({ scope, until }) }
    const payload = { ...answer, by: operatorNameOf(operator) }
    const deciding = orAsCaller(
      requestPermitted(command, operatorRequests.decideApproval, payload, decidesNot),
      Effect.map(
        request(operator, command, "decideApproval", { approvalId: id, ...toAnswer(answer) }),
        ({ approval }) => approval
      )
    )
    return recorded("decide_approval", operator, target, deciding)
  },
  ExplainCall: (command, operator) => {
    const { params, subject = operatorNameOf(operator), tool } = command
    return requestPermitted(command, operatorRequests.explainCall, { tool, params, subject }, explainsNot)
  }
})

export interface ComputerHandlerOptions {
  /** Decides which locations of documents it reads. */
  readonly documents: Option.Option<DocumentReader["Service"]>
  /** Records a command that changes the Server, or decides about a call. */
  readonly recorded: RecordAction
}

/** Makes the handlers of the commands to Computers, which reply within ten seconds. */
export const makeComputerHandlers = (server: WatchedServer, { documents, recorded }: ComputerHandlerOptions) => {
  const requests = makeRequests(server)
  const { request } = requests
  const report = makeListingReport({})

  /** Fetches the tools of a Computer, and whether it serves requests to its MCP servers. */
  const getTools = (operator: Operator, address: ComputerAddress) =>
    request(operator, address, "getTools", { features: [mcpFeature] })

  const handlers: Pick<PageHandlers, "GetTools" | "GetDocument" | "SendMcpRequest"> = {
    GetTools: Effect.fnUntraced(function* (command, operator) {
      const { startingServers = [], tools } = yield* getTools(operator, command)
      const { rounded, tools: exact } = toExactTools(`${command.office}/${command.computer}`, tools)
      yield* report("tools", { items: [], omitted: [], rounded })
      return { tools: exact, startingServers }
    }),
    // As an Agent does: the Computer tells the location.
    GetDocument: Effect.fnUntraced(function* (command, operator) {
      const { uri } = command
      if (Option.isNone(documents)) return yield* unavailable("This Server does not fetch documents")
      const location = yield* request(operator, command, "getDpe", { uri })
      if (location.size !== undefined && location.size > maxDocumentBytes)
        return yield* payloadTooLarge(maxDocumentBytes)
      const { bytes, mimeType } = yield* documents.value.read(location.uri, maxDocumentBytes).pipe(
        Effect.mapError(({ message }) => unavailable(message)),
        Effect.timeoutOrElse({
          duration: transferTimeout,
          orElse: () => Effect.fail(unavailable("The document was not transferred in time"))
        })
      )
      return toPreview(uri, { mimeType: location.mimeType ?? mimeType, bytes })
    }),
    // The list is asked for only where the Computer announces these requests: others tell of no servers.
    SendMcpRequest: Effect.fnUntraced(function* (command, operator) {
      const { method, params, server: id } = command
      if (method === "servers/list") {
        const { features = [] } = yield* getTools(operator, command)
        if (!features.includes(mcpFeature)) return { result: { servers: [] } }
      }
      const fields = { method, params, ...definedOnly({ server: id }) }
      const { failure, result = {} } = yield* request(operator, command, "mcp", fields)
      return failure === undefined ? { result } : yield* badRequest(failure.message)
    })
  }
  return {
    ...handlers,
    ...makeDecisionHandlers(requests, recorded),
    ...handleRequests((name, fields, command, operator) =>
      Effect.flatMap(Effect.fromResult(completeFields(name, fields)), (complete) =>
        request(operator, command, name, complete as RequestFields<typeof name>)
      )
    )
  }
}
