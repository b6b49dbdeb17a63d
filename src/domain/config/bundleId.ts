import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { asObject, asString, type JsonObject } from "../json.ts"
import { byCodePoints, encodeUtf8 } from "../utf8.ts"

/** The characters of a bundle id. Two underscores separate it from the name of a tool. */
const bundleIdPattern = /^(?!.*__)[A-Za-z0-9_-]+$/

/** Gives the reason why a text cannot be a bundle id; `undefined` for a valid one. */
export const checkBundleId = (text: string): string | undefined =>
  bundleIdPattern.test(text) ? undefined : "expected letters, digits, - and single _"

type Frame = ReadonlyArray<Uint8Array>

const countFrame = (count: number): Uint8Array => {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, count)
  return bytes
}

const textFrame = (value: unknown): Frame => {
  const bytes = encodeUtf8(String(value))
  return [countFrame(bytes.length), bytes]
}

const listFrame = (value: unknown): Frame => {
  const items: ReadonlyArray<unknown> = Array.isArray(value) ? value : []
  return [countFrame(items.length), ...items.flatMap(textFrame)]
}

const mapFrame = (value: unknown): Frame => {
  const entries = Object.entries(asObject(value)).toSorted(([one], [other]) => byCodePoints(one, other))
  return [countFrame(entries.length), ...entries.flat().flatMap(textFrame)]
}

const endpointFrame = (type: string, { args, command, env, headers, url }: JsonObject): Frame => [
  ...textFrame(type),
  ...(type === "stdio"
    ? [...textFrame(asString(command) ?? ""), ...listFrame(args), ...mapFrame(env)]
    : [...textFrame(asString(url) ?? ""), ...mapFrame(headers)])
]

/**
 * Derives the bundle id of an MCP server from its name, or from its endpoint when the name has no usable character.
 * `parameters` are those of the configuration: placeholders count as written. All implementations of the protocol derive
 * the same id.
 */
export const deriveBundleId = (name: string, type: string, parameters: JsonObject): string => {
  const normalized = name
    .replaceAll(/[^A-Za-z0-9_-]/gu, "_")
    .replaceAll(/_+/g, "_")
    .replaceAll(/^[_-]+|[_-]+$/g, "")
  if (normalized !== "") return normalized
  const hash = sha256.create()
  for (const part of endpointFrame(type, parameters)) hash.update(part)
  return `bundle_${bytesToHex(hash.digest().subarray(0, 8))}`
}
