import { isJsonObject, type JsonObject, objectsIn } from "../json.ts"
import type { ServiceOutcome } from "./deviceMessages.ts"

export const failedOutcome = (error: string): ServiceOutcome => ({ success: false, error })

const textBlock = (value: string): JsonObject => ({ type: "text", text: value })

const binaryTypes = ["image", "audio"]

/** Converts `{type, mimeType, base64}` from the data of an outcome to an MCP content block. */
const toContentBlock = (value: unknown): JsonObject | undefined => {
  if (!isJsonObject(value)) return undefined
  const { base64, mimeType, text, type } = value
  if (type === "text" && typeof text === "string") return textBlock(text)
  const isBinary = typeof type === "string" && binaryTypes.includes(type)
  return isBinary && typeof mimeType === "string" && typeof base64 === "string"
    ? { type, mimeType, data: base64 }
    : undefined
}

/** Converts an outcome to an MCP tool result. Structured data becomes structured content and, for models, JSON text. */
export const outcomeToToolResult = (outcome: ServiceOutcome): JsonObject => {
  if (!outcome.success) return { content: [textBlock(outcome.error)], isError: true }
  const { data } = outcome
  if (typeof data === "string") return { content: [textBlock(data)], isError: false }
  if (data === undefined || data === null) return { content: [], isError: false }
  const blocks = [data].flat().map(toContentBlock)
  if (blocks.length > 0 && blocks.every((block) => block !== undefined)) return { content: blocks, isError: false }
  return {
    content: [textBlock(JSON.stringify(data))],
    ...(isJsonObject(data) && { structuredContent: data }),
    isError: false
  }
}

/** Converts an MCP content block to data; a block without a device form stays as it is. */
const blockToData = (block: JsonObject): unknown => {
  const { data, mimeType, type } = block
  return typeof type === "string" && binaryTypes.includes(type) ? { type, mimeType, base64: data } : block
}

/** Converts an MCP tool result to an outcome: other blocks win over structured content, and that over joined texts. */
export const toolResultToOutcome = ({ content, isError, structuredContent }: JsonObject): ServiceOutcome => {
  const blocks = objectsIn(content)
  const texts = blocks.flatMap(({ text, type }) => (type === "text" && typeof text === "string" ? [text] : []))
  if (isError === true) return failedOutcome(texts.join("\n") || "the tool failed without a message")
  if (texts.length < blocks.length) {
    return { success: true, data: blocks.length === 1 ? blockToData(blocks[0] ?? {}) : blocks.map(blockToData) }
  }
  if (isJsonObject(structuredContent)) return { success: true, data: structuredContent }
  return { success: true, data: texts.join("\n") }
}
