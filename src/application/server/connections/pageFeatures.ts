import { isJsonObject } from "../../../domain/json.ts"
import type { PageFeatures } from "../../../domain/page/PageEvent.ts"

export const noPageFeatures: PageFeatures = { inspection: false, operatorCalls: false }

/** All combinations, shared by all connections. */
const combinations: ReadonlyArray<PageFeatures> = [
  noPageFeatures,
  { inspection: true, operatorCalls: false },
  { inspection: false, operatorCalls: true },
  { inspection: true, operatorCalls: true }
]

/** The features in `auth.a2c_features` of a handshake, an array of words. Any other value means none. */
export const parsePageFeatures = (auth: unknown): PageFeatures => {
  const words: unknown = isJsonObject(auth) ? auth["a2c_features"] : undefined
  if (!Array.isArray(words)) return noPageFeatures
  const inspection = words.includes("inspection")
  const operatorCalls = words.includes("operator_calls")
  const features = combinations.find((one) => one.inspection === inspection && one.operatorCalls === operatorCalls)
  return features ?? noPageFeatures
}
