import { Predicate } from "effect"
import { asObject, isJsonObject, type JsonObject, parseJson, toSafeJson } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import {
  type Fields,
  objectOf,
  repairDescription,
  repairMembers,
  text,
  unlessEqual,
  valueIf
} from "../../domain/tools/listings/mcpListings.ts"

type RequestId = string | number

interface MessageError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** A JSON-RPC message that the MCP SDKs accept. */
export type JsonRpcMessage = { readonly jsonrpc: "2.0" } & (
  | { readonly id?: RequestId; readonly method: string; readonly params?: JsonObject }
  | { readonly id: RequestId; readonly result: JsonObject }
  | { readonly id?: RequestId; readonly error: MessageError }
)

const internalError = (message: string): MessageError => ({ code: jsonRpcCodes.internalError, message })

/** Makes an error response of this client instead of one that the server did not send, or not as MCP has it. */
export const errorResponse = (id: RequestId, message: string) =>
  ({ jsonrpc: "2.0", id, error: internalError(message) }) satisfies JsonRpcMessage

/** The error of a response whose result is not an object. */
export const invalidResult = internalError("the response is not an MCP result")

const emptyResponse = internalError("the response has neither a result nor an error")

const isRequestId = (id: unknown): id is RequestId => typeof id === "string" || Number.isSafeInteger(id)

/** Our ids are numbers, or texts that are no numbers. A response without a usable id belongs to `requestId`. */
const responseIdOf = (id: unknown, requestId: RequestId | undefined): RequestId | undefined => {
  if (!isRequestId(id)) return requestId
  const number = typeof id === "string" && id.trim() !== "" ? Number(id) : Number.NaN
  return id !== requestId && Number.isSafeInteger(number) ? number : id
}

const metadata = objectOf({
  progressToken: valueIf(isRequestId),
  "io.modelcontextprotocol/related-task": valueIf((value) => typeof asObject(value)["taskId"] === "string")
})

/** Drops an unusable `_meta`, and its unusable members. */
export const repairMeta = (holder: JsonObject): JsonObject => repairMembers({ _meta: metadata }, holder)

const progress: Fields = { total: valueIf(Predicate.isNumber), message: text }

const repairParams = (method: string, params: unknown): JsonObject | undefined => {
  if (!isJsonObject(params)) return undefined
  // The data of a log message may be null.
  const given = Object.fromEntries(Object.entries(params).filter(([name, value]) => value !== null || name === "data"))
  const fields = method === "notifications/progress" ? progress : {}
  return unlessEqual(params, repairMembers({ ...fields, _meta: metadata }, given))
}

/** True for the result of a handshake of either era. */
const isDescription = (result: JsonObject): boolean =>
  "protocolVersion" in result || "supportedVersions" in result || ("capabilities" in result && "serverInfo" in result)

/** The SDKs refuse a server whose description has odd members, and the office what is unsafe. */
const repairResult = (result: JsonObject): JsonObject => {
  const repaired = repairMeta(result)
  return isDescription(repaired) ? repairDescription(toSafeJson(repaired)) : repaired
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

const repairError = (error: unknown): MessageError => {
  if (!isJsonObject(error)) return internalError(isText(error) ? error : "the error has no message")
  const { code: given, data, message } = error
  const code = typeof given === "string" && given.trim() !== "" ? Number(given) : given
  const repaired = {
    code: Number.isSafeInteger(code) ? (code as number) : jsonRpcCodes.internalError,
    message:
      [message, data, asObject(data)["message"], asObject(data)["detail"]].find(isText) ?? "the error has no message",
    ...(data !== undefined && { data })
  }
  return unlessEqual(error, repaired)
}

/** False for members that some implementations send beside a result. */
const isReason = (error: unknown): boolean => (isJsonObject(error) ? Object.keys(error).length > 0 : isText(error))

/**
 * True for an object that states the version of JSON-RPC, also by a misspelt name. Another one without a result and an error
 * can be the keepalive of an event stream, or an entry of a log.
 */
const statesVersion = (value: JsonObject): boolean => "jsonrpc" in value || Object.values(value).includes("2.0")

/**
 * Repairs a decoded message where its meaning is plain: it drops what is null or unknown, and a response that is neither a
 * result nor an error becomes an error. Gives the same object for a valid message, and `undefined` for a value that is not a
 * message.
 */
export const repairMessage = (value: unknown, requestId?: RequestId): JsonRpcMessage | undefined => {
  if (!isJsonObject(value)) return undefined
  const { error = null, id: givenId, method, params, result = null } = value
  const jsonrpc = "2.0" as const
  // Without an id it answers nothing: other members beside its method mean nothing.
  const isOutcome = (error !== null || result !== null) && givenId !== undefined && givenId !== null
  if (typeof method === "string" && method !== "" && !isOutcome) {
    const repaired = repairParams(method, params)
    return unlessEqual(value, {
      jsonrpc,
      method,
      ...(isRequestId(givenId) && { id: givenId }),
      ...(repaired !== undefined && { params: repaired })
    })
  }
  const id = responseIdOf(givenId, requestId)
  if (isJsonObject(result) && !isReason(error)) {
    return id === undefined ? undefined : unlessEqual(value, { jsonrpc, id, result: repairResult(result) })
  }
  const isResponse = error !== null || "result" in value || (isRequestId(givenId) && statesVersion(value))
  if (!isResponse || (id === undefined && error === null)) return undefined
  const reason = error === null ? ("result" in value ? invalidResult : emptyResponse) : repairError(error)
  return unlessEqual(value, { jsonrpc, ...(id !== undefined && { id }), error: reason })
}

/** Adds a request that is sent, and removes one that is cancelled. */
export const recordSent = (pendingIds: Set<unknown>, message: object): void => {
  const { id, method, params } = asObject(message)
  if (method === undefined) return
  if (id !== undefined) pendingIds.add(id)
  if (method === "notifications/cancelled") pendingIds.delete(asObject(params)["requestId"])
}

/** Gives an error without an id that of the only request that waits: its server could not read the id. */
export const withRequestId = <M extends object>(message: M, pendingIds: ReadonlySet<unknown>): M => {
  const isOwn = "error" in message && asObject(message)["id"] === undefined && pendingIds.size === 1
  return isOwn ? { ...message, id: [...pendingIds][0] } : message
}

const byteOrderMark = "\u{feff}"

/** The messages of a text, and the number of other values in it. */
export interface DecodedMessages {
  readonly messages: ReadonlyArray<JsonRpcMessage>
  readonly skipped: number
  /** The text holds these messages exactly. */
  readonly isUnchanged: boolean
}

/** The beginning of an object that may be a message. */
const messageStart = /\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:/g

/** The index after the object that begins at `start`; undefined when it does not end. A pattern would overflow the stack. */
const endOfObject = (text: string, start: number): number | undefined => {
  let depth = 0
  let isInString = false
  for (let index = start; index < text.length; index++) {
    const character = text[index]
    if (character === '"') isInString = !isInString
    else if (isInString) index += character === "\\" ? 1 : 0
    else if (character === "{") depth++
    else if (character === "}" && --depth === 0) return index + 1
  }
  return undefined
}

/**
 * Finds the responses and notifications in a text that is not JSON: some servers write logs, colours or several messages on
 * one line. A request there is
 * more likely a log entry about a request of this client.
 */
const findMessages = (text: string, requestId?: RequestId): ReadonlyArray<JsonRpcMessage> => {
  const messages: Array<JsonRpcMessage> = []
  messageStart.lastIndex = 0
  for (let found = messageStart.exec(text); found !== null; found = messageStart.exec(text)) {
    const end = endOfObject(text, found.index)
    if (end === undefined) break
    messageStart.lastIndex = end
    const value = parseJson(text.slice(found.index, end))
    const message = "jsonrpc" in asObject(value) ? repairMessage(value, requestId) : undefined
    if (message !== undefined && !("method" in message && "id" in message)) messages.push(message)
  }
  return messages
}

/** Decodes a message, a batch of messages, or the messages in another text; `undefined` for a text without any. */
export const decodeMessages = (text: string, requestId?: RequestId): DecodedMessages | undefined => {
  const hasMark = text.startsWith(byteOrderMark)
  const value = parseJson(hasMark ? text.slice(byteOrderMark.length) : text)
  if (value === undefined) {
    const messages = findMessages(text, requestId)
    return messages.length === 0 ? undefined : { messages, skipped: 1, isUnchanged: false }
  }
  const values: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  const repaired = values.map((item) => repairMessage(item, requestId))
  const messages = repaired.filter((message) => message !== undefined)
  return {
    messages,
    skipped: values.length - messages.length,
    isUnchanged: !hasMark && repaired.every((message, index) => message === values[index])
  }
}

/** Bytes searched for the request id at each end of a message. */
const searchedBytes = 512

const openingBrace = 0x7b

/** An id is a number, or a string without escapes and control characters. */
const idPattern = String.raw`("[^"\\\p{Cc}]{1,100}"|[1-9]\d{0,14}|0)`
const versionPattern = String.raw`"jsonrpc"\s*:\s*"2\.0"`
const methodPattern = String.raw`"method"\s*:\s*"[^"\\]{1,100}"`

const patterns = {
  atStart: new RegExp(
    String.raw`^\s*\{\s*(?:(?:${versionPattern}|${methodPattern})\s*,\s*){0,2}"id"\s*:\s*${idPattern}\s*,`,
    "u"
  ),
  atEnd: new RegExp(String.raw`"id"\s*:\s*${idPattern}\s*(?:,\s*${versionPattern}\s*)?\}\s*$`, "u"),
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
  return id === undefined ? undefined : errorResponse(id, message)
}
