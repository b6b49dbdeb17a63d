import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import { jsonRpcCodes } from "../../jsonRpcCodes.ts"

/** How much of either end of an unreadable message is searched for the request it answers, in bytes. */
const searchedBytes = 512

/**
 * Where a message says which request it answers, at its start or at its end; one with a method is no answer. An id is
 * whole JSON: a number, or a text without escapes and control characters.
 */
const responseIdPatterns = {
  atStart:
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\\p{Cc}]{1,100}"|[1-9]\d{0,14}|0)\s*,/u,
  atEnd: /"id"\s*:\s*("[^"\\\p{Cc}]{1,100}"|[1-9]\d{0,14}|0)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/u,
  notAResponse: /^\s*\{(?:\s*"(?:id|jsonrpc)"\s*:\s*(?:"[^"\\]{1,100}"|\d{1,15})\s*,)*\s*"(?:method|params)"/u
}

/** The ASCII in a text, whatever its encoding. */
const asciiIn = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1").replaceAll("\0", "")

/** An error in place of an answer that cannot be read, if its edges show whose it was. */
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
