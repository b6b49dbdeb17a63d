import { Schema } from "effect"
import { AnswerFields, ApprovalView } from "../approvals/ApprovalView.ts"
import { JsonObject } from "../json.ts"
import { BoundedText, Identifier } from "../model/fields.ts"
import type { OperatorFeatures } from "../office/memberFeatures.ts"
import { ExplanationView } from "../policy/CallExplanation.ts"
import { makeCodec } from "../validation.ts"
import { Count, Inspection } from "./Inspection.ts"

type IsPermitted = (features: OperatorFeatures) => boolean

/** Defines a request. `isPermitted` tells whether a Computer with some features serves it. */
const defineRequest = <Request, Reply>(
  event: string,
  request: Schema.Codec<Request, unknown>,
  reply: Schema.Codec<Reply, unknown>,
  isPermitted: IsPermitted
) => ({ event, request: makeCodec(request), reply: makeCodec(reply), isPermitted })

/** A request of a Server to a Computer for its operators. */
export type OperatorRequest<Request, Reply> = ReturnType<typeof defineRequest<Request, Reply>>

/** The longest time that a Computer waits for a change before it replies, in milliseconds. */
const maxInspectWait = 20_000

const InspectRequest = Schema.Struct({
  revision: Schema.optionalKey(Count),
  waitMillis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxInspectWait }))
})
const InspectReply = Schema.Struct({ revision: Count, inspection: Inspection })
const Decision = Schema.Struct({ id: BoundedText, by: BoundedText, ...AnswerFields })
const ExplainedCall = Schema.Struct({ tool: Identifier, params: JsonObject, subject: Identifier })

const decides: IsPermitted = ({ approvals }) => approvals

/** The requests of a Server to the Computers of this project, for its operators. No line of the protocol has them. */
export const operatorRequests = {
  /** Asks for the inspection once its revision differs from `revision`, or `waitMillis` have passed. */
  inspect: defineRequest("a2c:inspect", InspectRequest, InspectReply, ({ inspection }) => inspection),
  getApproval: defineRequest("a2c:get_approval", Schema.Struct({ id: BoundedText }), ApprovalView, decides),
  /** Decides about a call in the name of an operator. */
  decideApproval: defineRequest("a2c:decide_approval", Decision, ApprovalView, decides),
  explainCall: defineRequest(
    "a2c:explain_call",
    ExplainedCall,
    ExplanationView,
    ({ approvals, operatorCalls }) => approvals || operatorCalls
  )
}
export type OperatorRequests = typeof operatorRequests
