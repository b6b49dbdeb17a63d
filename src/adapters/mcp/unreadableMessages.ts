import { parseJson } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import type { JsonRpcMessage } from "./jsonRpcMessages.ts"

/** Bytes searched for the request id at each end of a message. */
const searchedBytes = 512

const openingBrace = 0x7b

/** An id is a number, or a string without escapes and control characters. */
const id = String.raw`("[^"\\\p{Cc}]{1,100}"|[1-9]\d{0,14}|0)`
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"`
const method = String.raw`"method"\s*:\s*"[^"\\]{1,100}"`

const patterns = {
  atStart: new RegExp(String.raw`^\s*\{\s*(?:(?:${version}|${method})\s*,\s*){0,2}"id"\s*:\s*${id}\s*,`, "u"),
  atEnd: new RegExp(String.raw`"id"\s*:\s*${id}\s*(?:,\s*${version}\s*)?\}\s*$`, "u"),
  notAResponse: /^\s*\{(?:\s*"(?:id|jsonrpc)"\s*:\s*(?:"[^"\\]{1,100}"|\d{1,15})\s*,)*\s*"(?:method|params)"/u
}

const asciiIn = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1").replaceAll("\0", "")

/** Finds the id of a message that cannot be decoded, if its edges contain it. */
export const findMessageId = (bytes: Uint8Array): string | number | undefined => {
  const head = asciiIn(bytes.subarray(0, searchedBytes))
  const found = patterns.atStart.exec(head) ?? patterns.atEnd.exec(asciiIn(bytes.subarray(-searchedBytes)))
  return found?.[1] === undefined ? undefined : (parseJson(found[1]) as string | number)
}

/** Makes an error response for one that cannot be decoded, if its edges contain the request id. */
export const unreadableResponse = (text: Uint8Array, message: string): JsonRpcMessage | undefined => {
  // Logs may stand before it.
  const bytes = text.subarray(Math.max(0, text.indexOf(openingBrace)))
  if (patterns.notAResponse.test(asciiIn(bytes.subarray(0, searchedBytes)))) return undefined
  const id = findMessageId(bytes)
  return id === undefined ? undefined : { jsonrpc: "2.0", id, error: { code: jsonRpcCodes.internalError, message } }
}
