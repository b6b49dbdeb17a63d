import { isJsonObject } from "../../../domain/json.ts"

/** Longest secret of a member that counts, in UTF-16 units; ours have 32. */
const maxInstanceLength = 128

/**
 * What proves that a member is the same as before: who it is by the word of the authenticator, and the secret that it
 * made up for itself (`auth.instance`). Empty, which proves nothing, without such a secret. It is a secret, too.
 */
export const reconnectKeyOf = (subject: string, auth: unknown): string => {
  const instance = isJsonObject(auth) ? auth["instance"] : undefined
  return typeof instance === "string" && instance !== "" && instance.length <= maxInstanceLength
    ? `${subject}\u0000${instance}`
    : ""
}
