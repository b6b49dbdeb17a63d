import { Effect, Option } from "effect"
import { type ApprovalView, toAnswer } from "../../../../domain/approvals/ApprovalView.ts"
import { computerNotFound, errorCodes, forbidden, type ProtocolError } from "../../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import type { PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import { type OperatorRequest, operatorRequests } from "../../../../domain/page/operatorRequests.ts"
import type { ExplanationView } from "../../../../domain/policy/CallExplanation.ts"
import { jsonBody } from "../../../ports/Body.ts"
import { toLinkError } from "../../../ports/Transport.ts"
import { type Operator, operatorNameOf } from "../../../shared/page/PageSource.ts"
import { decodeReply, findLine, requestComputer, requestTimeout } from "./computerRequests.ts"
import type { RecordAction } from "../recordAction.ts"
import type { WatchedServer } from "../WatchedServer.ts"

type GetApproval = PageCommandOf<"GetApproval">
type DecideApproval = PageCommandOf<"DecideApproval">
type ExplainCall = PageCommandOf<"ExplainCall">

/** What a Computer does not permit, after its name. */
const decidesNot = "does not let operators decide about calls (--approvers page)"
const explainsNot = "does not explain its decisions to operators (--approvers page, --operators)"

/** Sends a request to a Computer of this node whose owner lets operators do this. Other peers never see it. */
const requestPermitted = Effect.fnUntraced(function* <Request, Reply>(
  server: WatchedServer,
  { computer, line: lineName, office }: GetApproval | DecideApproval | ExplainCall,
  { event, isPermitted, reply: codec, request }: OperatorRequest<Request, Reply>,
  payload: Request,
  refusal: string
): Effect.fn.Return<Reply, ProtocolError> {
  const line = yield* findLine(server, lineName)
  const member = Option.getOrUndefined(server.registry.findComputer(line.officeKey(office), computer))
  const connection = member && server.connections.get(member.sid)
  if (connection === undefined) return yield* computerNotFound(computer)
  if (!isPermitted(connection.features)) return yield* forbidden(`Computer '${computer}' ${refusal}`)
  const requested = connection.link.request(event, jsonBody(request.encode(payload)), requestTimeout)
  const reply = yield* Effect.mapError(requested, toLinkError(computerNotFound(computer)))
  return yield* decodeReply(line, codec, reply)
})

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

/** Fetches an approval with all arguments. */
export const getApproval = (
  server: WatchedServer,
  operator: Operator,
  command: GetApproval
): Effect.Effect<ApprovalView, ProtocolError> => {
  const { id } = command
  return orAsCaller(
    requestPermitted(server, command, operatorRequests.getApproval, { id }, decidesNot),
    requestComputer(
      server,
      operator,
      command,
      ({ calls }) => calls.getApprovals,
      (base) => ({ ...base, approvalId: id })
    ).pipe(Effect.map(({ approvals }) => approvals.find((one) => one.id === id)))
  )
}

/** Decides about a call in the name of an operator. */
export const decideApproval = (
  server: WatchedServer,
  operator: Operator,
  command: DecideApproval,
  recorded: RecordAction
): Effect.Effect<ApprovalView, ProtocolError> => {
  const { _tag, computer, line, office, ...answer } = command
  const { action, id, scope, until } = answer
  const target = { line, office, computer, approval: id, action, ...definedOnly({ scope, until }) }
  const payload = { ...answer, by: operatorNameOf(operator) }
  const deciding = orAsCaller(
    requestPermitted(server, command, operatorRequests.decideApproval, payload, decidesNot),
    requestComputer(
      server,
      operator,
      command,
      ({ calls }) => calls.decideApproval,
      (base) => ({ ...base, approvalId: id, ...toAnswer(answer) })
    ).pipe(Effect.map(({ approval }) => approval))
  )
  return recorded("decide_approval", operator, target, deciding)
}

/** Asks a Computer how it would decide a call: of the operator, unless the command names another caller. */
export const explainCall = (
  server: WatchedServer,
  operator: Operator,
  command: ExplainCall
): Effect.Effect<ExplanationView, ProtocolError> => {
  const { params, subject = operatorNameOf(operator), tool } = command
  return requestPermitted(server, command, operatorRequests.explainCall, { tool, params, subject }, explainsNot)
}
