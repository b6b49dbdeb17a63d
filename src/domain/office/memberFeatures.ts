import { asObject, isJsonObject } from "../json.ts"

/**
 * The words by which a member announces in `auth.a2c_features` what it offers beyond the protocol: a Computer its reports,
 * calls and approvals for operators, an Agent that it handles the statuses of its calls. A Computer that announces
 * `operator_names` learns from the acknowledgement of its join whether the Server keeps names of operators for them.
 */
const memberFeatures = ["inspection", "operator_calls", "approvals", "call_status", "operator_names"] as const
export type MemberFeature = (typeof memberFeatures)[number]

/** The third value of the acknowledgement of a join, by a Server that lets no member take the name of an operator. */
export const operatorNamesKept = { a2c_features: ["operator_names" satisfies MemberFeature] }

/** True for an acknowledgement of a join with {@link operatorNamesKept}. */
export const keepsOperatorNames = ([, , announced]: ReadonlyArray<unknown>): boolean => {
  const words = asObject(announced)["a2c_features"]
  return Array.isArray(words) && words.includes("operator_names" satisfies MemberFeature)
}

/** What a Computer of this project offers to operators beyond the protocol. Members of other implementations offer none. */
export interface OperatorFeatures {
  /** It reports the states of its MCP servers. */
  readonly inspection: boolean
  /** It runs calls of operators while the office has an Agent. */
  readonly operatorCalls: boolean
  /** Operators may decide about its calls that wait for an approval. */
  readonly approvals: boolean
}

/** What a member offers or knows beyond the protocol. Members of other implementations announce nothing. */
export interface MemberFeatures extends OperatorFeatures {
  /** An Agent that handles the statuses of its calls, and waits on while one waits for an approval. */
  readonly callStatus: boolean
  /** A Computer that learns whether names of operators are kept for them. */
  readonly operatorNames: boolean
}

const toFeatures = (has: (feature: MemberFeature) => boolean): MemberFeatures => ({
  inspection: has("inspection"),
  operatorCalls: has("operator_calls"),
  approvals: has("approvals"),
  callStatus: has("call_status"),
  operatorNames: has("operator_names")
})

/** All combinations, shared by all connections; the bits of the index are the features. */
const combinations: ReadonlyArray<MemberFeatures> = Array.from({ length: 2 ** memberFeatures.length }, (_, bits) =>
  toFeatures((feature) => (bits & (1 << memberFeatures.indexOf(feature))) !== 0)
)

export const noMemberFeatures: MemberFeatures = toFeatures(() => false)

/** The features in `auth.a2c_features` of a handshake, an array of words. Any other value means none. */
export const parseMemberFeatures = (auth: unknown): MemberFeatures => {
  const words: unknown = isJsonObject(auth) ? auth["a2c_features"] : undefined
  if (!Array.isArray(words)) return noMemberFeatures
  const bits = memberFeatures.reduce((sum, feature, index) => (words.includes(feature) ? sum | (1 << index) : sum), 0)
  return combinations[bits] ?? noMemberFeatures
}
