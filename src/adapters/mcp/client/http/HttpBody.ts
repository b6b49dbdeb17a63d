import type { IncomingMessage } from "node:http"
import { maxMessageBytes } from "../mcpMessages.ts"

/** How a response's body ended when it was not we who stopped reading. */
export interface BodyEnd {
  /** Why, as the end of a sentence. */
  readonly reason: string
  /** It was given up because nothing came for too long, or too much; otherwise the peer or the network ended it. */
  readonly limitExceeded: boolean
  /** An event of the stream carried an id, so that the server may offer to resume it; of too much, nobody wants more. */
  readonly resumable: boolean
}

/** What is done about a body. */
export interface BodyOptions {
  /** How long it may be silent, in milliseconds; 0 means for ever. */
  readonly idleTimeout: number
  /** It is a stream of server-sent events. */
  readonly isEventStream: boolean
  /** Aborted when it is we who stop reading. */
  readonly signal?: AbortSignal | null | undefined
  /** Hears the end. What it gives is read as the body's last words, and the body then ends well, however it ended. */
  readonly onEnd: (end: BodyEnd) => string | undefined
}

const encoder = new TextEncoder()

/** The ways in which events end. */
const eventSeparators = ["\n\n", "\r\r", "\r\n\r\n"]

/** Follows a body that arrives in pieces. */
const makeBodyScanner = (isEventStream: boolean) => {
  let size = 0
  let hasEventId = false
  let tail: Uint8Array = Buffer.from("\n")
  return {
    /** Gives how many bytes have come of the message that is coming: of the event of a stream, else of the whole body. */
    scan: (chunk: Uint8Array): number => {
      size += chunk.length
      if (!isEventStream) return size
      const text = Buffer.concat([tail, chunk])
      hasEventId ||= /[\r\n]id:/.test(text.toString("latin1"))
      const end = Math.max(...eventSeparators.map((separator) => text.lastIndexOf(separator)))
      if (end >= 0) size = text.length - end
      tail = text.subarray(-3)
      return size
    },
    hasEventId: () => hasEventId
  }
}

/**
 * The body of a response as fetch gives it. Unlike fetch's own, it has no limit but the given one on how long it may
 * be silent, it has one on how large a message may be, and it can have last words. Time in which nobody reads is not
 * silence.
 */
export const readBody = (
  incoming: IncomingMessage,
  { onEnd, signal, idleTimeout, isEventStream }: BodyOptions
): ReadableStream => {
  const scanner = makeBodyScanner(isEventStream)
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
    timer = setTimeout(() => {
      abort(`idle timeout after ${idleTimeout / 1000} seconds`)
    }, idleTimeout)
  }

  return new ReadableStream({
    start: (controller) => {
      const finish = (error?: Error): void => {
        if (closed) return
        closed = true
        stopTimer()
        if (error !== undefined && signal?.aborted === true) return controller.error(error)
        const reason = error === undefined ? "the response ended" : error.message
        const finalEvent = onEnd({ reason, limitExceeded, resumable: scanner.hasEventId() && !tooLarge })
        if (finalEvent !== undefined) controller.enqueue(encoder.encode(finalEvent))
        if (finalEvent === undefined && error !== undefined) return controller.error(error)
        controller.close()
      }
      incoming.on("data", (chunk: Uint8Array) => {
        if (tooLarge) return
        tooLarge = scanner.scan(chunk) > maxMessageBytes
        if (tooLarge) return abort(`message exceeds ${maxMessageBytes} bytes`)
        controller.enqueue(chunk)
        if ((controller.desiredSize ?? 0) > 0) return restartTimer()
        incoming.pause()
        stopTimer()
      })
      incoming.on("end", () => finish())
      incoming.on("error", (error) =>
        finish(error.message === "aborted" ? new Error("connection reset") : error)
      )
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
