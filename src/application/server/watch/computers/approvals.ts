import { Effect, Option } from "effect"
import {
  approvalCodecs,
  type ApprovalView,
  decideApprovalEvent,
  getApprovalEvent
} from "../../../../domain/approvals/ApprovalView.ts"
import { computerNotFound, forbidden, type ProtocolError } from "../../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import type { PageCommand } from "../../../../domain/page/PageCommand.ts"
import { jsonBody } from "../../../ports/Body.ts"
import { type Operator, operatorName } from "../../../shared/page/PageSource.ts"
import { decodeReply, findLine, requestTimeout, toProtocolError } from "./computerRequests.ts"
import type { RecordAction } from "../recordAction.ts"
import type { WatchedServer } from "../WatchedServer.ts"

type GetApproval = Extract<PageCommand, { readonly _tag: "GetApproval" }>
type DecideApproval = Extract<PageCommand, { readonly _tag: "DecideApproval" }>

/** Sends a request to a Computer of this node whose owner lets operators decide. Other peers never see it. */
const requestApproval = Effect.fnUntraced(function* (
  server: WatchedServer,
  { computer, line: lineName, office }: GetApproval | DecideApproval,
  event: string,
  payload: unknown
): Effect.fn.Return<ApprovalView, ProtocolError> {
  const line = yield* findLine(server, lineName)
  const member = Option.getOrUndefined(server.context.registry.findComputer(line.officeKey(office), computer))
  const connection = member && server.connections.get(member.sid)
  if (connection === undefined) return yield* computerNotFound(computer)
  if (!connection.features.approvals) {
    return yield* forbidden(`Computer '${computer}' does not let operators decide about calls (--approvers page)`)
  }
  const requested = connection.link.request(event, jsonBody(payload), requestTimeout)
  const reply = yield* Effect.mapError(requested, toProtocolError(computer))
  return yield* decodeReply(line, approvalCodecs.view, reply)
})

/** Fetches an approval with all arguments. */
export const getApproval = (server: WatchedServer, command: GetApproval): Effect.Effect<ApprovalView, ProtocolError> =>
  requestApproval(server, command, getApprovalEvent, approvalCodecs.get.encode({ id: command.id }))

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
  const payload = approvalCodecs.decide.encode({ ...answer, by: operatorName(operator) })
  return recorded("decide_approval", operator, target, requestApproval(server, command, decideApprovalEvent, payload))
}
