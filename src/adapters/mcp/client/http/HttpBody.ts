import type { Readable } from "node:stream"
import { maxMessageBytes } from "../mcpMessages.ts"
import { asObject, parseJson } from "../../../../domain/json.ts"
import { decodeMessages, errorResponse, type JsonRpcMessage, unreadableResponse } from "../../jsonRpcMessages.ts"

/** How a response body ended, unless the client canceled it. */
export interface BodyEnd {
  readonly reason: string
  /** The server ended the body. */
  readonly isComplete: boolean
  /** The client closed the connection because of a timeout or the size limit. */
  readonly limitExceeded: boolean
  /** An event carried an id, so the server may offer to resume the stream. False after the size limit. */
  readonly resumable: boolean
  /** An event was not a message. */
  readonly isUnreadable: boolean
}

export interface BodyOptions {
  /** Milliseconds without data; 0 disables the timeout. */
  readonly idleTimeout: number
  readonly signal?: AbortSignal | null | undefined
  /** Missing for a body without messages. */
  readonly repair?: BodyRepair | undefined
  /** Runs at the end of the body. A returned event is appended, and the body then ends without an error. */
  readonly onEnd: (end: BodyEnd) => string | undefined
}

/** Wraps a response body as a web stream. The idle timer stops while the reader applies backpressure. */
export const readBody = (incoming: Readable, { onEnd, signal, idleTimeout, repair }: BodyOptions) => {
  const chunks: AsyncIterator<Buffer, undefined> = incoming[Symbol.asyncIterator]()
  let size = 0
  let isTooLarge = false
  let limitExceeded = false
  let isCanceled = false

  const stop = (reason: string): void => {
    limitExceeded = true
    incoming.destroy(new Error(reason))
  }
  const readChunk = async (): Promise<Buffer | undefined> => {
    const reason = `idle timeout after ${idleTimeout / 1000} seconds`
    const timer = idleTimeout === 0 ? undefined : setTimeout(stop, idleTimeout, reason)
    try {
      return (await chunks.next()).value
    } finally {
      clearTimeout(timer)
    }
  }
  /** Gives the next bytes that are complete; undefined at the end. */
  const readReady = async (): Promise<Uint8Array | undefined> => {
    for (let chunk = await readChunk(); chunk !== undefined; chunk = await readChunk()) {
      const ready = repair === undefined ? chunk : repair.push(chunk)
      size = repair?.size?.() ?? size + chunk.length
      isTooLarge = size > maxMessageBytes
      if (isTooLarge) stop(`message exceeds ${maxMessageBytes} bytes`)
      else if (ready !== undefined) return ready
    }
    return undefined
  }
  const finish = (controller: ReadableStreamDefaultController<Uint8Array>, error?: Error): void => {
    if (isCanceled) return
    if (error !== undefined && signal?.aborted === true) return controller.error(error)
    const finalEvent = onEnd({
      reason: error?.message.replace(/^aborted$/, "connection reset") ?? "the response ended",
      isComplete: error === undefined,
      limitExceeded,
      resumable: repair?.hasEventId?.() === true && !isTooLarge,
      isUnreadable: repair?.isUnreadable?.() === true
    })
    if (finalEvent === undefined && error !== undefined) return controller.error(error)
    const rest = Buffer.concat([repair?.end() ?? Buffer.of(), Buffer.from(finalEvent ?? "")])
    if (rest.length > 0) controller.enqueue(rest)
    controller.close()
  }

  // The iterator reports errors while it reads, and an aborted request fails later.
  incoming.on("error", () => undefined)
  return new ReadableStream({
    pull: (controller) =>
      readReady().then(
        (ready) => (ready === undefined ? finish(controller) : controller.enqueue(ready)),
        (error: Error) => finish(controller, error)
      ),
    cancel: () => {
      isCanceled = true
      incoming.destroy()
    }
  })
}

/** Rewrites the messages of a response body where the SDKs would reject them. The rest keeps its meaning. */
export interface BodyRepair {
  /** Gives what is complete, if anything. */
  readonly push: (chunk: Buffer) => Uint8Array | undefined
  /** Gives the rest of a body that ended. */
  readonly end: () => Uint8Array
  /** Bytes of the largest event with bytes in the last chunk. Missing for a document, where all bytes count. */
  readonly size?: () => number
  /** True for a request whose stream has had an event that is not a message. */
  readonly isUnreadable?: () => boolean
  /** True after an event with an id, from which the server may resume its stream. */
  readonly hasEventId?: () => boolean
}

type RequestId = string | number | undefined

export const notJson = "The response cannot be decoded: not a JSON message"

const isResponse = (message: JsonRpcMessage) => !("method" in message)

/** The only response to a request belongs to it under any id, since both share an HTTP exchange. */
const withResponse = (messages: ReadonlyArray<JsonRpcMessage>, requestId: RequestId): ReadonlyArray<JsonRpcMessage> => {
  const responses = messages.filter(isResponse)
  if (requestId === undefined || responses.some(({ id }) => id === requestId)) return messages
  return responses.length === 1
    ? messages.map((message) => (isResponse(message) ? { ...message, id: requestId } : message))
    : [...messages, errorResponse(requestId, "The response does not answer the request")]
}

const problemOf = (text: string, contentType = "unknown"): string => {
  if (text === "") return "The response cannot be decoded: it is empty"
  return /json/i.test(contentType) ? notJson : `${notJson}, with the content type ${contentType}`
}

/** Collects a JSON document. */
const makeDocumentRepair = (requestId: RequestId, contentType: string | undefined): BodyRepair => {
  const chunks: Array<Buffer> = []
  return {
    push: (chunk) => {
      chunks.push(chunk)
      return undefined
    },
    end: () => {
      const bytes = Buffer.concat(chunks)
      const text = bytes.toString("utf8")
      const decoded = decodeMessages(text, requestId)
      if (decoded === undefined) {
        if (requestId === undefined) return bytes
        return Buffer.from(JSON.stringify(errorResponse(requestId, problemOf(text, contentType))))
      }
      const messages = withResponse(decoded.messages, requestId)
      if (decoded.isUnchanged && messages === decoded.messages) return bytes
      return Buffer.from(JSON.stringify(messages.length === 1 ? messages[0] : messages))
    }
  }
}

const fieldOf = (line: string): readonly [name: string, value: string] => {
  const colon = line.indexOf(":")
  if (colon < 0) return [line, ""]
  return [line.slice(0, colon), line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)]
}

/** Gives the messages of an event; undefined when it can stay as it is, none when it is not a message. */
const repairData = (data: string, requestId: RequestId, isCut: boolean): ReadonlyArray<JsonRpcMessage> | undefined => {
  const decoded = decodeMessages(data, requestId)
  if (decoded === undefined)
    return (isCut ? undefined : [unreadableResponse(Buffer.from(data), notJson) ?? []].flat()) ?? []
  // No other request has an id of another type, so such a response belongs to the request of the stream.
  const messages = decoded.messages.map((message) =>
    requestId !== undefined && isResponse(message) && typeof message.id !== typeof requestId
      ? { ...message, id: requestId }
      : message
  )
  const isSame = decoded.isUnchanged && messages.length === 1 && messages[0] === decoded.messages[0]
  return isSame && !data.trimStart().startsWith("[") ? undefined : messages
}

const formatEvent = (message: JsonRpcMessage): string => `data: ${JSON.stringify(message)}\n\n`

/** The address in an `endpoint` event whose data is JSON instead of a plain URL. */
const repairEndpoint = (data: string): string | undefined => {
  const value = parseJson(data)
  const { endpoint, uri, url } = asObject(value)
  const found = [value, uri, url, endpoint].find((address) => typeof address === "string")
  return found === undefined ? undefined : `event: endpoint\ndata: ${found.replace(/\s/g, "")}\n\n`
}

const fromLatin1 = (bytes: string) => Buffer.from(bytes, "latin1").toString("utf8")

/** Passes on whole events, whose lines end with line feeds. */
const makeEventRepair = (requestId: RequestId): BodyRepair => {
  /** The bytes of the event that has not ended, as Latin-1. Appending to it does not copy it. */
  let pending = ""
  let last = ""
  let size = 0
  let isAfterReturn = false
  let isUnreadable = false
  let hasEventId = false

  /** Rewrites one event, with one event for each message of a batch; undefined when it can stay as it is. */
  const repairEvent = (event: string, isCut: boolean): string | undefined => {
    const lines = event.split("\n")
    const fields = lines.map(fieldOf)
    const valuesOf = (field: string) => fields.flatMap(([name, value]) => (name === field ? [value] : []))
    const data = valuesOf("data").join("\n")
    // As the SDKs do: an event without data has no effect, and its id is the last one without NUL.
    const id = valuesOf("id").findLast((value) => !value.includes("\0")) ?? ""
    hasEventId ||= !isCut && id !== "" && fields.some(([name]) => name === "data")
    const type = valuesOf("event").at(-1) ?? ""
    if (data.trim() === "") return undefined
    if (type === "endpoint") return isCut ? undefined : repairEndpoint(data)
    // The SDKs read only messages without an event type, or with this one. Events of other types can have any data.
    const isMessageType = type === "" || type === "message"
    if (!isMessageType && !data.includes('"jsonrpc"')) return undefined
    const repaired = repairData(data, requestId, isCut)
    const messages = isMessageType ? repaired : (repaired ?? decodeMessages(data, requestId)?.messages)
    isUnreadable ||= messages?.length === 0 && !isCut
    if (messages === undefined || messages.length === 0) return undefined
    const dropped = isMessageType ? ["data"] : ["data", "event"]
    const others = lines.filter((line) => line !== "" && !dropped.includes(fieldOf(line)[0])).map((line) => `${line}\n`)
    const events = messages.map(formatEvent)
    // The id counts once all messages have arrived.
    return [...events.slice(0, -1), ...others, ...events.slice(-1)].join("")
  }
  const repair = (bytes: string, isCut: boolean): string => {
    const event = fromLatin1(bytes).replace(/^\u{feff}/u, "")
    const unchanged = isCut ? event : `${event}\n\n`
    try {
      return repairEvent(event, isCut) ?? unchanged
    } catch {
      // Excessive nesting, which cannot be encoded.
      return unchanged
    }
  }
  return {
    push: (chunk) => {
      const bytes = chunk.toString("latin1")
      const text = (isAfterReturn ? bytes.replace(/^\n/, "") : bytes).replaceAll(/\r\n?/g, "\n")
      isAfterReturn = bytes.endsWith("\r")
      const isEnded = `${last}${text}`.includes("\n\n")
      pending += text
      size = pending.length
      last = text.at(-1) ?? last
      if (!isEnded) return undefined
      const events = pending.split("\n\n")
      pending = events.pop() ?? ""
      last = pending.at(-1) ?? ""
      size = Math.max(pending.length, ...events.map(({ length }) => length))
      return Buffer.from(events.map((event) => repair(event, false)).join(""))
    },
    end: () => {
      // A JSON document instead of a stream.
      const text = fromLatin1(pending)
      const messages = /^\s*[[{]/.test(text) ? decodeMessages(text, requestId)?.messages : undefined
      return Buffer.from(messages?.map(formatEvent).join("") ?? repair(pending, true))
    },
    size: () => size,
    isUnreadable: () => isUnreadable && requestId !== undefined,
    hasEventId: () => hasEventId
  }
}

/** Repairs the body that answers a request, or one without. */
export const makeBodyRepair = (isEventStream: boolean, requestId: RequestId, contentType?: string): BodyRepair =>
  isEventStream ? makeEventRepair(requestId) : makeDocumentRepair(requestId, contentType)
