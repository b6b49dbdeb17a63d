import { isJsonObject, parseJson } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import type { Line } from "../client/stdio/LineSplitter.ts"
import { type JsonRpcMessage, repairMessage } from "../jsonRpcMessages.ts"
import { findMessageId } from "../unreadableMessages.ts"

/** An error response, whose id may be null or a fraction. */
export interface MessageRejection {
  readonly jsonrpc: "2.0"
  readonly id: string | number | null
  readonly error: { readonly code: number; readonly message: string }
}

const reject = (id: unknown, code: keyof typeof jsonRpcCodes, message: string): MessageRejection => ({
  jsonrpc: "2.0",
  id: typeof id === "string" || typeof id === "number" ? id : null,
  error: { code: jsonRpcCodes[code], message }
})

/** Repairs a decoded message of a client. An invalid one that wants a response gets a rejection. */
const repairClientMessage = (
  value: unknown
): { readonly message: JsonRpcMessage } | { readonly rejection: MessageRejection } | undefined => {
  const message = repairMessage(value)
  if (message === undefined || !isJsonObject(value)) return undefined
  const { id } = value
  const isResponse = "result" in value || "error" in value
  if ("method" in message && message.id === undefined && id !== undefined && id !== null) {
    return { rejection: reject(id, "invalidRequest", "The id must be a text or an integer") }
  }
  if (!("method" in message) && !isResponse) {
    return { rejection: reject(id, "invalidRequest", "The method must be a text") }
  }
  return { message }
}

/** Repairs the messages of a body. What cannot be repaired stays as it is, for the error of the SDK. */
export const repairClientBody = (
  body: unknown
): { readonly body: unknown } | { readonly rejection: MessageRejection } => {
  const repair = (value: unknown) => {
    const repaired = repairClientMessage(value) ?? { message: value }
    return "rejection" in repaired ? repaired : { body: repaired.message }
  }
  if (!Array.isArray(body)) return repair(body)
  return { body: body.map((value: unknown) => ({ body: value, ...repair(value) }).body) }
}

type ClientMessage = NonNullable<ReturnType<typeof repairClientMessage>>

/** Decodes a line of a client: a message, or a batch of messages. Other lines give nothing. */
export const decodeClientLine = (line: Line): ReadonlyArray<ClientMessage> => {
  const bytes = line._tag === "Line" ? line.bytes : line.edges
  const value =
    line._tag === "Line"
      ? parseJson(
          Buffer.from(bytes)
            .toString("utf8")
            .replace(/^\u{feff}/u, "")
        )
      : undefined
  if (value === undefined) {
    const id = findMessageId(bytes)
    if (id === undefined) return []
    return [
      {
        rejection:
          line._tag === "Line"
            ? reject(id, "parseError", "The message is not JSON")
            : reject(id, "invalidRequest", "The message is too long")
      }
    ]
  }
  const values: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  return values.map(repairClientMessage).filter((message) => message !== undefined)
}
