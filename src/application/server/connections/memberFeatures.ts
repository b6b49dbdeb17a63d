import { isJsonObject } from "../../../domain/json.ts"
import { type MemberFeature, memberFeatures } from "../../../domain/page/Inspection.ts"
import type { PageFeatures } from "../../../domain/page/PageEvent.ts"

/** What a member offers or knows beyond the protocol. Members of other implementations announce nothing. */
export interface MemberFeatures extends PageFeatures {
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
