import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { encodeUtf8 } from "../utf8.ts"

/**
 * The query parameter by which a member tells before its join which office it will join: a Server with several processes,
 * or a proxy before several nodes, can bring an office together.
 */
export const officeQueryParameter = "a2c_office"

/** The value of the parameter, 8 hexadecimal digits. Proxies log it, so it does not show the name. */
export const officeKeyOf = (office: string): string => bytesToHex(sha256(encodeUtf8(office)).subarray(0, 4))
