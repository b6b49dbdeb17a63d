import { isJsonObject, parseJson } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import type { Line } from "../client/stdio/LineSplitter.ts"
import { findMessageId, type JsonRpcMessage, repairMessage } from "../jsonRpcMessages.ts"

/** Makes an error response, whose id may be null or a fraction. */
export const rejectionOf = (id: unknown, code: keyof typeof jsonRpcCodes, message: string) => ({
  jsonrpc: "2.0" as const,
  id: typeof id === "string" || typeof id === "number" ? id : null,
  error: { code: jsonRpcCodes[code], message }
})

type ClientMessage = { readonly message: JsonRpcMessage } | { readonly rejection: ReturnType<typeof rejectionOf> }

/** Repairs a decoded message of a client. An invalid one that wants a response gets a rejection. */
const repairClientMessage = (value: unknown): ClientMessage | undefined => {
  const message = repairMessage(value)
  if (message === undefined || !isJsonObject(value)) return undefined
  const { id } = value
  const isResponse = "result" in value || "error" in value
  if ("method" in message && message.id === undefined && id !== undefined && id !== null) {
    return { rejection: rejectionOf(id, "invalidRequest", "The id must be a text or an integer") }
  }
  if (!("method" in message) && !isResponse) {
    return { rejection: rejectionOf(id, "invalidRequest", "The method must be a text") }
  }
  return { message }
}

/** Repairs the messages of a body. What cannot be repaired stays as it is, for the error of the SDK. */
export const repairClientBody = (body: unknown) => {
  const repair = (value: unknown) => {
    const repaired = repairClientMessage(value) ?? { message: value }
    return "rejection" in repaired ? repaired : { body: repaired.message }
  }
  if (!Array.isArray(body)) return repair(body)
  return { body: body.map((value: unknown) => ({ body: value, ...repair(value) }).body) }
}

/** Decodes a line of a client: a message, or a batch of messages. Other lines give nothing. */
export const decodeClientLine = (line: Line): ReadonlyArray<ClientMessage> => {
  const isWhole = line._tag === "Line"
  const bytes = isWhole ? line.bytes : line.edges
  const value = isWhole ? parseJson(new TextDecoder().decode(bytes)) : undefined
  if (value !== undefined) return [value].flat().flatMap((item: unknown) => repairClientMessage(item) ?? [])
  const id = findMessageId(bytes)
  if (id === undefined) return []
  return isWhole
    ? [{ rejection: rejectionOf(id, "parseError", "The message is not JSON") }]
    : [{ rejection: rejectionOf(id, "invalidRequest", "The message is too long") }]
}
