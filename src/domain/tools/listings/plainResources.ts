import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { type JsonObject, stringOrEmpty } from "../../json.ts"
import { computeOnce } from "../../objects.ts"
import { encodeUtf8 } from "../../utf8.ts"

const otherParts = /^(window|dpe|skill|ui):\/\//i

/** The listed resources that are neither windows, documents, skills nor apps, each URI once. */
export const plainResources = (resources: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const byUri = new Map(resources.map((item) => [stringOrEmpty(item["uri"]), item]))
  return [...byUri].flatMap(([uri, item]) => (uri === "" || otherParts.test(uri) ? [] : [item]))
}

/** Identifies the plain resources of a listing; empty without any. */
export const plainResourcesHash = computeOnce((resources: ReadonlyArray<JsonObject>) => {
  const plain = plainResources(resources)
  return plain.length === 0 ? "" : bytesToHex(sha256(encodeUtf8(JSON.stringify(plain))).subarray(0, 8))
})
