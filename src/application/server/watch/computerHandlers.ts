import { Duration, Effect, Option, Schema } from "effect"
import { type ApprovalView, toAnswer } from "../../../domain/approvals/ApprovalView.ts"
import type { ComputerName, RequestId } from "../../../domain/model/ids.ts"
import { mcpFeature } from "../../../domain/model/messages/mcp.ts"
import * as Errors from "../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type OperatorRequest, operatorRequests } from "../../../domain/page/operatorRequests.ts"
import type { PageCommandOf, TagsWithTarget } from "../../../domain/page/PageCommand.ts"
import { toExactTools } from "../../../domain/tools/listings/exactTools.ts"
import { type Codec, formatSchemaError } from "../../../domain/validation.ts"
import { type CallReply, type CallRequest, type calls, completeFields } from "../../../domain/wire/calls.ts"
import type { CallDefinition } from "../../../domain/wire/defineCall.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import { decodeBody, jsonBody } from "../../ports/Body.ts"
import type { DocumentReader } from "../../ports/files/DocumentReader.ts"
import { type Reply, requestUsing, toLinkError } from "../../ports/Transport.ts"
import { makeListingReport } from "../../shared/listings/listingReport.ts"
import { maxDocumentBytes, toPreview } from "../../shared/page/documentPreview.ts"
import { handleRequests, type Operator, operatorNameOf, type PageHandlers } from "../../shared/page/PageSource.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import type { RecordAction } from "./recordAction.ts"
import type { WatchedServer } from "./WatchedServer.ts"

type ProtocolError = Errors.ProtocolError

/** Timeout of an operator's request to a Computer. */
const requestTimeout = Duration.seconds(10)

/** Timeout of the transfer of a document. */
const transferTimeout = Duration.seconds(10)

/** The line with a name, if the Server serves it. */
export const findLine = ({ servedLines }: WatchedServer, name: string): Effect.Effect<ProtocolLine, ProtocolError> => {
  const line = servedLines.find((one) => one.name === name)
  return line ? Effect.succeed(line) : Effect.fail(Errors.notFound(`The Server does not serve the line ${name}`))
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

const badReply = (message: string) => {
  const { internalError: code } = Errors.errorCodes
  return new Errors.ProtocolError({ code, message: `The reply of the Computer is invalid: ${message}` })
}

export interface ComputerAddress {
  readonly line: string
  readonly office: string
  readonly computer: ComputerName
}

/** The fields of every request to a Computer. */
interface RequestBase {
  readonly agent: string
  readonly reqId: RequestId
  readonly computer: ComputerName
}

type CallName = keyof typeof calls

/** Makes the function that sends a request of the table to a Computer, over its link or its node. The office need not have an Agent. */
const makeRequestComputer = (server: WatchedServer) =>
  Effect.fnUntraced(function* <K extends CallName>(
    name: K,
    { computer, line: lineName, office }: ComputerAddress,
    operator: Operator,
    fields: Omit<CallRequest<K>, keyof RequestBase>
  ): Effect.fn.Return<CallReply<K>, ProtocolError> {
    const { connections, nodes, registry } = server
    const line = yield* findLine(server, lineName)
    const member = Option.getOrUndefined(registry.findComputer(line.officeKey(office), computer))
    if (member === undefined) return yield* Errors.computerNotFound(computer)
    // The row of a name has the codecs of its request and its reply.
    const definition = line.calls[name] as unknown as CallDefinition<object, CallReply<K>>
    const base: RequestBase = { agent: operatorNameOf(operator), reqId: yield* makeRequestId, computer }
    const body = yield* Effect.try({
      try: () => jsonBody(definition.request.encode({ ...fields, ...base })),
      catch: (error) => Errors.badRequest(Schema.isSchemaError(error) ? formatSchemaError(error) : String(error))
    })
    const request =
      member.node === registry.node
        ? connections.get(member.sid)?.link.request
        : requestUsing((...args) => nodes.startRequest(member, ...args))
    if (request === undefined) return yield* Errors.unavailable(`Computer '${computer}' has just disconnected`)
    const requested = request(definition.event, body, requestTimeout)
    const reply = yield* Effect.mapError(requested, toLinkError(Errors.computerNotFound(computer)))
    return yield* decodeReply(line, definition.reply, reply)
  })

/** What a Computer does not permit, after its name. */
const decidesNot = "does not let operators decide about calls (--approvers page)"
const explainsNot = "does not explain its decisions to operators (--approvers page, --operators)"

/** Sends a request to a Computer of this node whose owner lets operators do this. Other peers never see it. */
const requestPermitted = Effect.fnUntraced(function* <Request, A>(
  server: WatchedServer,
  { computer, line: lineName, office }: ComputerAddress,
  { event, isPermitted, reply: codec, request }: OperatorRequest<Request, A>,
  payload: Request,
  refusal: string
): Effect.fn.Return<A, ProtocolError> {
  const line = yield* findLine(server, lineName)
  const member = Option.getOrUndefined(server.registry.findComputer(line.officeKey(office), computer))
  const connection = member && server.connections.get(member.sid)
  if (connection === undefined) return yield* Errors.computerNotFound(computer)
  if (!isPermitted(connection.features)) return yield* Errors.forbidden(`Computer '${computer}' ${refusal}`)
  const requested = connection.link.request(event, jsonBody(request.encode(payload)), requestTimeout)
  const reply = yield* Effect.mapError(requested, toLinkError(Errors.computerNotFound(computer)))
  return yield* decodeReply(line, codec, reply)
})

const isForbidden = ({ code }: ProtocolError): boolean => code === Errors.errorCodes.forbidden

/** Asks as a caller, which may answer the questions of its calls, where the Computer does not let operators decide. */
const orAsCaller = (
  asked: Effect.Effect<ApprovalView, ProtocolError>,
  asCaller: Effect.Effect<ApprovalView | undefined, ProtocolError>
): Effect.Effect<ApprovalView, ProtocolError> =>
  Effect.catchIf(asked, isForbidden, (refusal) =>
    Effect.flatMap(asCaller, (found) => (found === undefined ? Effect.fail(refusal) : Effect.succeed(found))).pipe(
      Effect.mapError((error) => (isForbidden(error) ? refusal : error))
    )
  )

export interface HandlerParts {
  readonly server: WatchedServer
  readonly recorded: RecordAction
  /** Decides which locations of documents are read. Without one the Server fetches no documents. */
  readonly reader: Option.Option<DocumentReader["Service"]>
}

type ComputerHandlers = Pick<PageHandlers, TagsWithTarget<"computer">>

/** Makes the handlers of the commands to Computers, which reply within ten seconds. */
export const makeComputerHandlers = ({ reader, recorded, server }: HandlerParts): ComputerHandlers => {
  const requestComputer = makeRequestComputer(server)
  const report = makeListingReport({})

  /** Fetches the tools of a Computer, and whether it serves requests to its MCP servers. */
  const getTools = (command: ComputerAddress, operator: Operator) =>
    requestComputer("getTools", command, operator, { features: [mcpFeature] })

  /** Fetches the beginning of a document as an Agent does: the Computer tells its location. Others than text are empty. */
  const previewDocument = Effect.fnUntraced(function* (command: PageCommandOf<"GetDocument">, operator: Operator) {
    const { uri } = command
    if (Option.isNone(reader)) return yield* Errors.unavailable("This Server does not fetch documents")
    const { mimeType, size = 0, uri: location } = yield* requestComputer("getDpe", command, operator, { uri })
    if (size > maxDocumentBytes) return yield* Errors.payloadTooLarge(maxDocumentBytes)
    const content = yield* reader.value.read(location, maxDocumentBytes).pipe(
      Effect.mapError(({ message }) => Errors.unavailable(message)),
      Effect.timeoutOrElse({
        duration: transferTimeout,
        orElse: () => Effect.fail(Errors.unavailable("The document was not transferred in time"))
      })
    )
    return toPreview(uri, { mimeType: mimeType ?? content.mimeType, bytes: content.bytes })
  })

  /** The list is asked for only where the Computer announces it, so the page knows no server of another implementation. */
  const sendMcpRequest = Effect.fnUntraced(function* (command: PageCommandOf<"SendMcpRequest">, operator: Operator) {
    const { method, params, server: id } = command
    if (method === "servers/list") {
      const { features = [] } = yield* getTools(command, operator)
      if (!features.includes(mcpFeature)) return { result: { servers: [] } }
    }
    const fields = { method, params, ...definedOnly({ server: id }) }
    const { failure, result = {} } = yield* requestComputer("mcp", command, operator, fields)
    return failure === undefined ? { result } : yield* Errors.badRequest(failure.message)
  })

  /** Decides about a call in the name of an operator. */
  const decideApproval = (command: PageCommandOf<"DecideApproval">, operator: Operator) => {
    const { _tag, computer, line, office, ...answer } = command
    const { action, id, scope, until } = answer
    const target = { line, office, computer, approval: id, action, ...definedOnly({ scope, until }) }
    const payload = { ...answer, by: operatorNameOf(operator) }
    const asCaller = requestComputer("decideApproval", command, operator, { approvalId: id, ...toAnswer(answer) })
    const deciding = orAsCaller(
      requestPermitted(server, command, operatorRequests.decideApproval, payload, decidesNot),
      Effect.map(asCaller, ({ approval }) => approval)
    )
    return recorded("decide_approval", operator, target, deciding)
  }

  return {
    ...handleRequests((name, fields, command, operator) =>
      Effect.flatMap(Effect.fromResult(completeFields(name, fields)), (complete) =>
        Effect.map(
          requestComputer(name, command, operator, complete),
          ({ omitted: _, reqId: __, ...reply }: { readonly omitted?: unknown; readonly reqId?: unknown }) => reply
        )
      )
    ),
    GetTools: (command, operator) =>
      Effect.flatMap(getTools(command, operator), ({ startingServers = [], tools }) => {
        const { rounded, tools: exact } = toExactTools(`${command.office}/${command.computer}`, tools)
        return Effect.as(report("tools", { items: [], omitted: [], rounded }), { tools: exact, startingServers })
      }),
    GetDocument: previewDocument,
    SendMcpRequest: sendMcpRequest,
    GetApproval: (command, operator) => {
      const { id } = command
      return orAsCaller(
        requestPermitted(server, command, operatorRequests.getApproval, { id }, decidesNot),
        Effect.map(requestComputer("getApprovals", command, operator, { approvalId: id }), ({ approvals }) =>
          approvals.find((one) => one.id === id)
        )
      )
    },
    DecideApproval: decideApproval,
    ExplainCall: (command, operator) => {
      const { params, subject = operatorNameOf(operator), tool } = command
      return requestPermitted(server, command, operatorRequests.explainCall, { tool, params, subject }, explainsNot)
    }
  }
}
