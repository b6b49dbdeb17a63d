import type { IncomingMessage } from "node:http"
import { maxMessageBytes } from "./reading.ts"

/** How a response's body ended when it was not we who stopped reading. */
export interface BodyEnd {
  /** Why, as the end of a sentence. */
  readonly reason: string
  /** It was given up because nothing came for too long, or too much; otherwise the peer or the network ended it. */
  readonly givenUp: boolean
  /** An event of the stream carried an id, so that the server may offer to resume it; of too much, nobody wants more. */
  readonly resumable: boolean
}

/** What is done about a body. */
export interface BodyOptions {
  /** How long it may be silent, in milliseconds; 0 means for ever. */
  readonly silence: number
  /** It is a stream of server-sent events. */
  readonly streams: boolean
  /** Aborted when it is we who stop reading. */
  readonly signal?: AbortSignal | null | undefined
  /** Hears the end. What it gives is read as the body's last words, and the body then ends well, however it ended. */
  readonly onEnd: (end: BodyEnd) => string | undefined
}

const encoder = new TextEncoder()
const decoder = new TextDecoder("latin1")

/** Sees whether a stream of server-sent events has carried an id, however it is cut into pieces. */
const makeIdFinder = () => {
  let found = false
  let tail = "\n"
  return {
    read: (chunk: Uint8Array): void => {
      if (found) return
      const text = tail + decoder.decode(chunk)
      found = /[\r\n]id:/.test(text)
      tail = text.slice(-3)
    },
    found: () => found
  }
}

/** The ways in which events end. */
const blankLines = ["\n\n", "\r\r", "\r\n\r\n"]

/** Sees how many bytes have come of the message that is coming: of the event of a stream, else of the whole body. */
const makeMeter = (streams: boolean) => {
  let size = 0
  let tail = Buffer.alloc(0)
  return (chunk: Uint8Array): number => {
    size += chunk.length
    if (!streams) return size
    const text = Buffer.concat([tail, chunk])
    const end = Math.max(...blankLines.map((blank) => text.lastIndexOf(blank)))
    if (end >= 0) size = text.length - end
    tail = text.subarray(-3)
    return size
  }
}

/**
 * The body of a response as fetch gives it. Unlike fetch's own, it has no limit but the given one on how long it may
 * be silent, it has one on how large a message may be, and it can have last words. Time in which nobody reads is not
 * silence.
 */
export const readBody = (
  incoming: IncomingMessage,
  { onEnd, signal, silence, streams }: BodyOptions
): ReadableStream => {
  const ids = makeIdFinder()
  let timer: NodeJS.Timeout | undefined
  let over = false
  let givenUp = false
  let tooLarge = false
  const meter = makeMeter(streams)

  const rest = (): void => clearTimeout(timer)
  const giveUp = (reason: string): void => {
    givenUp = true
    incoming.destroy(new Error(reason))
  }
  const listen = (): void => {
    rest()
    if (silence === 0 || over) return
    timer = setTimeout(() => {
      giveUp(`nothing was heard for ${silence / 1000} seconds`)
    }, silence)
  }

  return new ReadableStream({
    start: (controller) => {
      const finish = (error?: Error): void => {
        if (over) return
        over = true
        rest()
        if (error !== undefined && signal?.aborted === true) return controller.error(error)
        const reason = error === undefined ? "the response ended" : error.message
        const lastWords = onEnd({ reason, givenUp, resumable: ids.found() && !tooLarge })
        if (lastWords !== undefined) controller.enqueue(encoder.encode(lastWords))
        if (lastWords === undefined && error !== undefined) return controller.error(error)
        controller.close()
      }
      incoming.on("data", (chunk: Uint8Array) => {
        if (tooLarge) return
        tooLarge = meter(chunk) > maxMessageBytes
        if (tooLarge) return giveUp(`it is larger than ${maxMessageBytes} bytes`)
        ids.read(chunk)
        controller.enqueue(chunk)
        if ((controller.desiredSize ?? 0) > 0) return listen()
        incoming.pause()
        rest()
      })
      incoming.on("end", () => finish())
      incoming.on("error", (error) =>
        finish(error.message === "aborted" ? new Error("the connection was cut") : error)
      )
      listen()
    },
    pull: () => {
      incoming.resume()
      listen()
    },
    cancel: () => {
      over = true
      rest()
      incoming.destroy()
    }
  })
}
