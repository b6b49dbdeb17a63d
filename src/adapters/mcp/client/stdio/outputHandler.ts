import { Effect, Result } from "effect"
import { type DecodedMessages, decodeMessages, type JsonRpcMessage, unreadableResponse } from "../../jsonRpcMessages.ts"
import { maxMessageBytes } from "../mcpMessages.ts"
import type { LineCodec } from "./LineCodec.ts"
import { type Line, makeLineSplitter, newline } from "./LineSplitter.ts"
import { makeMessageLines, makeUnendedLine } from "./messageLines.ts"

/** Characters of lines beyond the limit that are searched for the request id. */
const maxReportedStart = 512

interface OutputOptions {
  readonly server: string
  readonly codec: LineCodec
  readonly deliver: (message: JsonRpcMessage) => Effect.Effect<void>
  /** Logs that output is no message. */
  readonly ignoreOutput: (reason: string) => Effect.Effect<void>
}

/**
 * Handles the chunks of an MCP server's stdout: delivers the messages in them, and an error for each response that cannot be
 * decoded.
 */
export const makeOutputHandler = ({ codec, deliver, ignoreOutput, server }: OutputOptions) => {
  const split = makeLineSplitter(maxMessageBytes, codec.codeUnitBytes)
  const ignoreText = (bytes: Uint8Array, reason: string) => {
    const message = unreadableResponse(bytes, `The response cannot be decoded: ${reason}`)
    return message === undefined ? ignoreOutput(reason) : deliver(message)
  }
  const ignoreTooLong = (edges: Uint8Array) => {
    const message = unreadableResponse(edges, `The response exceeds ${maxMessageBytes} bytes`)
    return Effect.andThen(
      Effect.logWarning("stdout message exceeds limit", { server, maxBytes: maxMessageBytes }),
      message === undefined ? Effect.void : deliver(message)
    )
  }
  const deliverAll = ({ messages, skipped }: DecodedMessages) => {
    const delivered = Effect.forEach(messages, deliver, { discard: true })
    return skipped === 0 ? delivered : Effect.andThen(delivered, ignoreOutput("not a JSON-RPC message"))
  }
  const handleMessages = (text: string) => {
    const decoded = decodeMessages(text)
    return decoded === undefined ? ignoreText(Buffer.from(text), "not JSON") : deliverAll(decoded)
  }
  const messageLines = makeMessageLines(maxMessageBytes)
  /** Ends lines that did not become a message. */
  const ignoreOpenLines = Effect.suspend(() =>
    messageLines.isOpen() ? ignoreText(Buffer.from(messageLines.take()), "not JSON") : Effect.void
  )
  /** A line that is a message is never taken for a part of another. */
  const handleText = (text: string): Effect.Effect<void> => {
    const decoded = decodeMessages(text)
    const wasOpen = messageLines.isOpen()
    const isPart = wasOpen && decoded?.messages.length === 0
    if (decoded !== undefined && !isPart) return Effect.andThen(ignoreOpenLines, deliverAll(decoded))
    switch (messageLines.push(text)) {
      case "open":
        return Effect.void
      case "last":
        return handleMessages(messageLines.take())
      case "too_long":
        return ignoreTooLong(Buffer.from(messageLines.take().slice(0, maxReportedStart)))
      case "other": {
        if (!wasOpen) return ignoreText(Buffer.from(text), "not JSON")
        // The line may begin a message.
        const again = Effect.suspend(() => handleText(text))
        return Effect.andThen(ignoreOpenLines, again)
      }
    }
  }
  const handleLine = (line: Line): Effect.Effect<void> => {
    if (line._tag === "TooLong") return Effect.andThen(ignoreOpenLines, ignoreTooLong(line.edges))
    const text = codec.decode(line.bytes)
    if (Result.isFailure(text)) return Effect.andThen(ignoreOpenLines, ignoreText(line.bytes, text.failure))
    return text.success.trim() === "" ? Effect.void : handleText(text.success)
  }
  /** A defect costs one line and does not stop the reader. */
  const handleLineSafely = (line: Line) =>
    Effect.catchDefect(
      Effect.suspend(() => handleLine(line)),
      (defect) => Effect.logError("stdout line handler failed", { server }, defect)
    )
  const unendedLine = makeUnendedLine(maxMessageBytes, messageLines.nesting)
  const isMessage = (bytes: Uint8Array): boolean => {
    const text = codec.decode(bytes)
    return Result.isSuccess(text) && (decodeMessages(text.success)?.messages.length ?? 0) > 0
  }
  const handleLines = (chunk: Uint8Array) => Effect.forEach(split(chunk), handleLineSafely, { discard: true })
  /** Some servers write no newline after a message. */
  const handleUnendedLine = (chunk: Uint8Array) =>
    Effect.suspend(() => {
      const bytes = codec.codeUnitBytes === 1 ? unendedLine(Buffer.from(chunk)) : undefined
      const isComplete = bytes !== undefined && (messageLines.isOpen() || isMessage(bytes))
      if (!isComplete) return Effect.void
      const end = Buffer.of(newline)
      unendedLine(end)
      return handleLines(end)
    })
  return (chunk: Uint8Array): Effect.Effect<void> => Effect.andThen(handleLines(chunk), handleUnendedLine(chunk))
}
