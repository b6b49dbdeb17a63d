import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { asObject, parseJson } from "../../../../domain/json.ts"
import { decodeMessages, type JsonRpcMessage } from "../../jsonRpcMessages.ts"
import { unreadableResponse } from "../../unreadableMessages.ts"

/** Rewrites the messages of a response body where the SDKs would reject them. Other bytes pass unchanged. */
export interface BodyRepair {
  /** Gives what is complete, if anything. */
  readonly push: (chunk: Uint8Array) => Uint8Array | undefined
  /** Gives the rest of a body that ended. */
  readonly end: () => Uint8Array | undefined
  /** The response to a request whose stream ended after an event that is not a message; else undefined. */
  readonly unreadable: () => JsonRpcMessage | undefined
  /** True after an event with an id, from which the server may resume its stream. */
  readonly hasEventId: () => boolean
}

type RequestId = string | number | undefined

const notJson = "The response cannot be decoded: not a JSON message"

const toText = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")

const isResponse = (message: JsonRpcMessage) => !("method" in message)

const errorResponse = (id: string | number, message: string): JsonRpcMessage => ({
  jsonrpc: "2.0",
  id,
  error: { code: jsonRpcCodes.internalError, message }
})

/** The only response to a request belongs to it under any id, since both share an HTTP exchange. */
const withResponse = (messages: ReadonlyArray<JsonRpcMessage>, requestId: RequestId): ReadonlyArray<JsonRpcMessage> => {
  const responses = messages.filter(isResponse)
  if (requestId === undefined || responses.some(({ id }) => id === requestId)) return messages
  return responses.length === 1
    ? messages.map((message) => (isResponse(message) ? { ...message, id: requestId } : message))
    : [...messages, errorResponse(requestId, "The response does not answer the request")]
}

const problemOf = (text: string, contentType: string | undefined): string => {
  if (text === "") return "The response cannot be decoded: it is empty"
  return /json/i.test(contentType ?? "") ? notJson : `${notJson}, with the content type ${contentType ?? "unknown"}`
}

const repairDocument = (bytes: Uint8Array, requestId: RequestId, contentType: string | undefined): Uint8Array => {
  const text = toText(bytes)
  const decoded = decodeMessages(text, requestId)
  if (decoded === undefined) {
    if (requestId === undefined) return bytes
    return Buffer.from(JSON.stringify(errorResponse(requestId, problemOf(text, contentType))))
  }
  const messages = withResponse(decoded.messages, requestId)
  if (decoded.isUnchanged && messages === decoded.messages) return bytes
  return Buffer.from(JSON.stringify(messages.length === 1 ? messages[0] : messages))
}

/** Collects a JSON document. */
const makeDocumentRepair = (requestId: RequestId, contentType: string | undefined): BodyRepair => {
  const chunks: Array<Uint8Array> = []
  return {
    push: (chunk) => {
      chunks.push(chunk)
      return undefined
    },
    end: () => repairDocument(Buffer.concat(chunks), requestId, contentType),
    unreadable: () => undefined,
    hasEventId: () => false
  }
}

/** The ends of lines that end an event. A rest of `\n` before the next event is an empty line. */
const eventEnds = ["\n\n", "\r\r", "\n\r", "\r\n\r\n"]

const longestEnd = 4

const fieldOf = (line: string): readonly [name: string, value: string] => {
  const colon = line.indexOf(":")
  if (colon < 0) return [line, ""]
  return [line.slice(0, colon), line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)]
}

/** No other request has an id of another type, so such a response belongs to the request of the stream. */
const belongsToStream = (message: JsonRpcMessage, requestId: RequestId) =>
  requestId !== undefined && isResponse(message) && typeof message.id !== typeof requestId

/** Gives the messages of an event; undefined when it can stay as it is, none when it is not a message. */
const repairData = (data: string, requestId: RequestId, isCut: boolean): ReadonlyArray<JsonRpcMessage> | undefined => {
  const decoded = decodeMessages(data, requestId)
  if (decoded === undefined) {
    const response = isCut ? undefined : unreadableResponse(Buffer.from(data), notJson)
    return response === undefined ? [] : [response]
  }
  const { isUnchanged, messages } = decoded
  if (requestId !== undefined && messages.some((message) => belongsToStream(message, requestId))) {
    return messages.map((message) => (belongsToStream(message, requestId) ? { ...message, id: requestId } : message))
  }
  const isSingle = messages.length === 1 && !data.trimStart().startsWith("[")
  return isUnchanged && isSingle ? undefined : messages
}

interface EventContext {
  readonly requestId: RequestId
  /** The body ended within the event. */
  readonly isCut: boolean
  readonly onUnreadable: () => void
  readonly onEventId: () => void
}

/** The address in an `endpoint` event whose data is JSON instead of a plain URL. */
const repairEndpoint = (data: string): string | undefined => {
  const value = parseJson(data)
  const { endpoint, uri, url } = asObject(value)
  const found = [value, uri, url, endpoint].find((address) => typeof address === "string")
  return found === undefined ? undefined : `event: endpoint\ndata: ${found.replace(/\s/g, "")}\n\n`
}

/** The SDKs read only messages without an event type, or with this one. */
const messageType = "message"

/** Rewrites one event, with one event for each message of a batch. */
const repairEvent = (lines: ReadonlyArray<string>, context: EventContext): string | undefined => {
  const fields = lines.map(fieldOf)
  // As the SDKs do: an event without data has no effect, and its id is the last one without NUL.
  const id = fields.findLast(([name, value]) => name === "id" && !value.includes("\0"))?.[1] ?? ""
  if (!context.isCut && id !== "" && fields.some(([name]) => name === "data")) context.onEventId()
  const data = fields.flatMap(([name, value]) => (name === "data" ? [value] : [])).join("\n")
  const type = fields.findLast(([name]) => name === "event")?.[1] ?? ""
  if (data.trim() === "") return undefined
  if (type === "endpoint") return context.isCut ? undefined : repairEndpoint(data)
  const isMessageType = type === "" || type === messageType
  // Events of other types can have any data.
  if (!isMessageType && !data.includes('"jsonrpc"')) return undefined
  const repaired = repairData(data, context.requestId, context.isCut)
  const messages = isMessageType ? repaired : (repaired ?? decodeMessages(data, context.requestId)?.messages)
  if (messages === undefined) return undefined
  if (messages.length === 0) {
    if (!context.isCut) context.onUnreadable()
    return undefined
  }
  const dropped = isMessageType ? ["data"] : ["data", "event"]
  const others = lines.filter((_, index) => !dropped.includes(fields[index]?.[0] ?? "")).map((line) => `${line}\n`)
  const events = messages.map((message) => `data: ${JSON.stringify(message)}\n\n`)
  // The id counts once all messages have arrived.
  return [...events.slice(0, -1), ...others, ...events.slice(-1)].join("")
}

const carriageReturn = 0x0d

/** Rewrites events that are complete, or cut at the end of the body. */
const repairEvents = (bytes: Uint8Array, context: EventContext): Uint8Array => {
  const lines = toText(bytes)
    .replace(/^\u{feff}/u, "")
    .split(/\r\n|\n|\r/)
  const rest = lines.pop() ?? ""
  if (rest !== "") lines.push(rest)
  if (context.isCut) lines.push("")
  let event: Array<string> = []
  // Parsers wait for the byte after a last carriage return.
  let isChanged = bytes.at(-1) === carriageReturn
  let text = ""
  for (const line of lines) {
    if (line !== "") {
      event.push(line)
      continue
    }
    const repaired = repairEvent(event, context)
    isChanged ||= repaired !== undefined
    text += repaired ?? `${event.map((unchanged) => `${unchanged}\n`).join("")}\n`
    event = []
  }
  return isChanged ? Buffer.from(text) : bytes
}

/** The events of a JSON document instead of a stream. */
const documentEvents = (bytes: Uint8Array, requestId: RequestId): Uint8Array | undefined => {
  const text = toText(bytes)
  const messages = /^\s*[[{]/.test(text) ? decodeMessages(text, requestId)?.messages : undefined
  return messages && Buffer.from(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(""))
}

/** Passes on whole events. */
const makeEventRepair = (requestId: RequestId): BodyRepair => {
  let pending: Array<Uint8Array> = []
  let tail: Uint8Array = new Uint8Array()
  let hasUnreadable = false
  let hasEventId = false
  const keep = (rest: Uint8Array, before: Uint8Array) => {
    pending.push(rest)
    tail = Buffer.concat([before, rest]).subarray(1 - longestEnd)
  }
  const repair = (bytes: Uint8Array, isCut: boolean): Uint8Array => {
    try {
      return repairEvents(bytes, {
        requestId,
        isCut,
        onUnreadable: () => void (hasUnreadable = true),
        onEventId: () => void (hasEventId = true)
      })
    } catch {
      // Excessive nesting, which cannot be encoded.
      return bytes
    }
  }
  return {
    push: (chunk) => {
      const searched = Buffer.concat([tail, chunk])
      const ends = eventEnds.flatMap((end) => {
        const at = searched.lastIndexOf(end)
        return at < 0 ? [] : [at + end.length - tail.length]
      })
      const end = Math.max(0, ...ends)
      if (end === 0) {
        keep(chunk, tail)
        return undefined
      }
      const complete = Buffer.concat([...pending, chunk.subarray(0, end)])
      pending = []
      keep(chunk.subarray(end), new Uint8Array())
      return repair(complete, false)
    },
    end: () => {
      const rest = Buffer.concat(pending)
      return documentEvents(rest, requestId) ?? repair(rest, true)
    },
    unreadable: () => (hasUnreadable && requestId !== undefined ? errorResponse(requestId, notJson) : undefined),
    hasEventId: () => hasEventId
  }
}

/** Repairs the body that answers a request, or one without. */
export const makeBodyRepair = (isEventStream: boolean, requestId: RequestId, contentType?: string): BodyRepair =>
  isEventStream ? makeEventRepair(requestId) : makeDocumentRepair(requestId, contentType)
