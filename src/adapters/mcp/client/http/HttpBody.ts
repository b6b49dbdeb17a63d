import type { Readable } from "node:stream"
import { maxMessageBytes } from "../mcpMessages.ts"
import type { BodyRepair } from "./bodyRepair.ts"

/** How a response body ended, unless the client canceled it. */
export interface BodyEnd {
  readonly reason: string
  /** The server ended the body. */
  readonly isComplete: boolean
  /** The client closed the connection because of a timeout or the size limit. */
  readonly limitExceeded: boolean
  /** An event carried an id, so the server may offer to resume the stream. False after the size limit. */
  readonly resumable: boolean
}

export interface BodyOptions {
  /** Milliseconds without data; 0 disables the timeout. */
  readonly idleTimeout: number
  readonly isEventStream: boolean
  readonly signal?: AbortSignal | null | undefined
  /** Missing for a body without messages. */
  readonly repair?: BodyRepair | undefined
  /** Runs at the end of the body. A returned event is appended, and the body then ends without an error. */
  readonly onEnd: (end: BodyEnd) => string | undefined
}

const eventSeparators = ["\n\n", "\r\r", "\r\n\r\n"]

const makeSizeScanner = (isEventStream: boolean) => {
  let size = 0
  let tail: Uint8Array = Buffer.from("\n")
  /** Returns the size in bytes of the largest message with bytes in this chunk: of an event, else of the whole body. */
  return (chunk: Uint8Array): number => {
    const before = size
    size += chunk.length
    if (!isEventStream) return size
    const text = Buffer.concat([tail, chunk])
    const ends = eventSeparators.map((separator) => text.indexOf(separator)).filter((end) => end >= 0)
    if (ends.length === 0) {
      tail = text.subarray(-3)
      return size
    }
    // Events that begin in the chunk are smaller than it.
    const ended = before + Math.min(...ends) - tail.length
    size = text.length - Math.max(...eventSeparators.map((separator) => text.lastIndexOf(separator)))
    tail = text.subarray(-3)
    return Math.max(ended, size)
  }
}

/** Wraps a response body as a web stream. The idle timer stops while the reader applies backpressure. */
export const readBody = (
  incoming: Readable,
  { onEnd, signal, idleTimeout, isEventStream, repair }: BodyOptions
): ReadableStream => {
  const scan = makeSizeScanner(isEventStream)
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let limitExceeded = false
  let tooLarge = false

  const stopTimer = (): void => clearTimeout(timer)
  const abort = (reason: string): void => {
    limitExceeded = true
    incoming.destroy(new Error(reason))
  }
  const restartTimer = (): void => {
    stopTimer()
    if (idleTimeout === 0 || closed) return
    timer = setTimeout(() => abort(`idle timeout after ${idleTimeout / 1000} seconds`), idleTimeout)
  }

  return new ReadableStream({
    start: (controller) => {
      const finish = (error?: Error): void => {
        if (closed) return
        closed = true
        stopTimer()
        if (error !== undefined && signal?.aborted === true) return controller.error(error)
        const reason = error === undefined ? "the response ended" : error.message
        const finalEvent = onEnd({
          reason,
          isComplete: error === undefined,
          limitExceeded,
          resumable: repair?.hasEventId() === true && !tooLarge
        })
        const rest = error === undefined || finalEvent !== undefined ? repair?.end() : undefined
        if (rest !== undefined && rest.length > 0) controller.enqueue(rest)
        if (finalEvent !== undefined) controller.enqueue(Buffer.from(finalEvent))
        if (finalEvent === undefined && error !== undefined) return controller.error(error)
        controller.close()
      }
      incoming.on("data", (chunk: Uint8Array) => {
        if (tooLarge) return
        tooLarge = scan(chunk) > maxMessageBytes
        if (tooLarge) return abort(`message exceeds ${maxMessageBytes} bytes`)
        const ready = repair === undefined ? chunk : repair.push(chunk)
        if (ready !== undefined) controller.enqueue(ready)
        if ((controller.desiredSize ?? 0) > 0) return restartTimer()
        incoming.pause()
        stopTimer()
      })
      incoming.on("end", () => finish())
      incoming.on("error", (error) => finish(error.message === "aborted" ? new Error("connection reset") : error))
      restartTimer()
    },
    pull: () => {
      incoming.resume()
      restartTimer()
    },
    cancel: () => {
      closed = true
      stopTimer()
      incoming.destroy()
    }
  })
}
