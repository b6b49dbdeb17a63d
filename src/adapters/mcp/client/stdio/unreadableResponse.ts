import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"

/** Bytes searched for the request id at each end of a message. */
const searchedBytes = 512

/** An id is a number, or a string without escapes and control characters. */
const responseIdPatterns = {
  atStart: /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\\p{Cc}]{1,100}"|[1-9]\d{0,14}|0)\s*,/u,
  atEnd: /"id"\s*:\s*("[^"\\\p{Cc}]{1,100}"|[1-9]\d{0,14}|0)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/u,
  notAResponse: /^\s*\{(?:\s*"(?:id|jsonrpc)"\s*:\s*(?:"[^"\\]{1,100}"|\d{1,15})\s*,)*\s*"(?:method|params)"/u
}

const asciiIn = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1").replaceAll("\0", "")

/** Makes an error response for an unreadable one, if its edges contain the request id. */
export const unreadableResponse = (bytes: Uint8Array, message: string): JSONRPCMessage | undefined => {
  const head = asciiIn(bytes.subarray(0, searchedBytes))
  if (responseIdPatterns.notAResponse.test(head)) return undefined
  const id = (responseIdPatterns.atStart.exec(head) ??
    responseIdPatterns.atEnd.exec(asciiIn(bytes.subarray(-searchedBytes))))?.[1]
  return id === undefined
    ? undefined
    : {
        jsonrpc: "2.0",
        id: JSON.parse(id) as string | number,
        error: { code: jsonRpcCodes.internalError, message }
      }
}
