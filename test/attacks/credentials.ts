import { hashApiKey, type ApiKeyEntry } from "../../src/adapters/auth/apiKeyEntries.ts"
import { allGrants } from "../../src/domain/model/Identity.ts"

/** The key of all admitted members. */
export const goodKey = "a good key of thirty-two characters."

/** A key that one attack revokes. */
export const revocableKey = "a doomed key of thirty-two character"

/** An expired key. */
export const staleKey = "a stale key of thirty-two characters"

/** A key for a Computer in one office. */
export const narrowKey = "a narrow key of thirty-two character"

/** An invalid key. */
export const wrongKey = "a wrong key of thirty-two characters"

const entry = (subject: string, key: string, more: Partial<ApiKeyEntry> = {}): ApiKeyEntry => ({
  subject,
  hash: hashApiKey(key),
  grants: allGrants,
  expiresAt: undefined,
  ...more
})

/** The keys of the Server, without and with the doomed one. */
export const lastingKeys: ReadonlyArray<ApiKeyEntry> = [
  entry("good", goodKey),
  entry("stale", staleKey, { expiresAt: 1000 }),
  entry("narrow", narrowKey, { grants: { rights: ["computer"], offices: ["narrow"], names: ["*"] } })
]
export const allKeys: ReadonlyArray<ApiKeyEntry> = [...lastingKeys, entry("doomed", revocableKey)]
