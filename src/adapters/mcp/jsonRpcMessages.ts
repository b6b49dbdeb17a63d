import { asObject, isJsonObject, type JsonObject, parseJson, toSafeJson } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import { repairDescription } from "../../domain/tools/listings/mcpListings.ts"

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

/** The error of a response whose result is not an object. */
export const invalidResult: MessageError = {
  code: jsonRpcCodes.internalError,
  message: "the response is not an MCP result"
}

const emptyResponse: MessageError = {
  code: jsonRpcCodes.internalError,
  message: "the response has neither a result nor an error"
}

const relatedTaskKey = "io.modelcontextprotocol/related-task"

const isRequestId = (id: unknown): id is RequestId => typeof id === "string" || Number.isSafeInteger(id)

/** Our ids are numbers, or texts that are no numbers. A response without a usable id belongs to `requestId`. */
const responseIdOf = (id: unknown, requestId: RequestId | undefined): RequestId | undefined => {
  if (!isRequestId(id)) return requestId
  const number = typeof id === "string" && id.trim() !== "" ? Number(id) : Number.NaN
  return id !== requestId && Number.isSafeInteger(number) ? number : id
}

/** Gives the same object when it has the same members. */
const unlessEqual = <A extends JsonObject>(original: JsonObject, repaired: A): A => {
  const names = Object.keys(original)
  return names.length === Object.keys(repaired).length && names.every((name) => original[name] === repaired[name])
    ? (original as A)
    : repaired
}

const pickMembers = (object: JsonObject, isKept: (value: unknown, name: string) => boolean): JsonObject =>
  Object.entries(object).every(([name, value]) => isKept(value, name))
    ? object
    : Object.fromEntries(Object.entries(object).filter(([name, value]) => isKept(value, name)))

const isMetaMember = (value: unknown, name: string): boolean => {
  if (name === "progressToken") return isRequestId(value)
  return name !== relatedTaskKey || (isJsonObject(value) && typeof value["taskId"] === "string")
}

/** Drops an unusable `_meta`, and its unusable members. */
export const repairMeta = (holder: JsonObject): JsonObject => {
  const { _meta: meta, ...others } = holder
  if (meta === undefined) return holder
  return isJsonObject(meta) ? unlessEqual(holder, { ...holder, _meta: pickMembers(meta, isMetaMember) }) : others
}

/** The data of a log message may be null. */
const isParameter = (value: unknown, name: string): boolean => value !== null || name === "data"

const isProgressMember = (value: unknown, name: string): boolean => {
  if (name === "total") return typeof value === "number"
  return name !== "message" || typeof value === "string"
}

const repairParams = (method: string, params: unknown): JsonObject | undefined => {
  if (!isJsonObject(params)) return undefined
  const repaired = repairMeta(pickMembers(params, isParameter))
  return method === "notifications/progress" ? pickMembers(repaired, isProgressMember) : repaired
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
  if (!isJsonObject(error)) {
    return { code: jsonRpcCodes.internalError, message: isText(error) ? error : "the error has no message" }
  }
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
