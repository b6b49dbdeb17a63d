import { Record } from "effect"
import { asObject } from "../json.ts"

/** What a member offers beyond the protocol, by the words of `auth.a2c_features`. Others announce nothing. */
const featureWords = {
  /** A Computer that reports the states of its MCP servers to operators. */
  inspection: "inspection",
  /** A Computer that runs calls of operators while the office has an Agent. */
  operatorCalls: "operator_calls",
  /** A Computer that lets operators decide about its calls that wait for an approval. */
  approvals: "approvals",
  /** An Agent that handles the statuses of its calls, and waits on while one waits for an approval. */
  callStatus: "call_status",
  /** A Computer that learns from the acknowledgement of its join whether the Server keeps names of operators for them. */
  operatorNames: "operator_names"
} as const
export type MemberFeature = (typeof featureWords)[keyof typeof featureWords]

export type MemberFeatures = { readonly [F in keyof typeof featureWords]: boolean }

/** What a Computer offers to operators. */
export type OperatorFeatures = Pick<MemberFeatures, "inspection" | "operatorCalls" | "approvals">

/** The third value of the acknowledgement of a join, by a Server that lets no member take the name of an operator. */
export const operatorNamesKept = { a2c_features: [featureWords.operatorNames] }

/** True for an acknowledgement of a join with {@link operatorNamesKept}. */
export const keepsOperatorNames = ([, , announced]: ReadonlyArray<unknown>): boolean =>
  parseMemberFeatures(announced).operatorNames

export const noMemberFeatures: MemberFeatures = Record.map(featureWords, () => false)

/** The features in `auth.a2c_features` of a handshake, an array of words. Any other value means none. */
export const parseMemberFeatures = (auth: unknown): MemberFeatures => {
  const words = asObject(auth)["a2c_features"]
  return Array.isArray(words) ? Record.map(featureWords, (word) => words.includes(word)) : noMemberFeatures
}
