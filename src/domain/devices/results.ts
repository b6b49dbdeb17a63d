import { isJsonObject, type JsonObject } from "../json.ts"
import type { Outcome } from "./messages.ts"

const text = (value: string): JsonObject => ({ type: "text", text: value })

/** Blocks of MCP that hold binary data in base64, and their form inside the data of a result. */
const binary = ["image", "audio"]

/** A block of MCP in the data of a result: `{type, mimeType, base64}`. */
const blockOf = (value: unknown): JsonObject | undefined => {
  if (!isJsonObject(value)) return undefined
  const { base64, mimeType, text: said, type } = value
  if (type === "text" && typeof said === "string") return text(said)
  const isBinary = typeof type === "string" && binary.includes(type)
  return isBinary && typeof mimeType === "string" && typeof base64 === "string"
    ? { type, mimeType, data: base64 }
    : undefined
}

/** Data that consists of nothing but blocks, one or many. */
const blocksOf = (data: unknown): ReadonlyArray<JsonObject> | undefined => {
  const parts: ReadonlyArray<unknown> = Array.isArray(data) ? data : [data]
  const blocks = parts.map(blockOf).filter((block) => block !== undefined)
  return parts.length > 0 && blocks.length === parts.length ? blocks : undefined
}

/** What a service gave, as MCP has it. Data that is no text is there for programs and, written out, for models. */
export const toMcpResult = (outcome: Outcome): JsonObject => {
  if (!outcome.success) return { content: [text(outcome.error)], isError: true }
  const { data } = outcome
  if (typeof data === "string") return { content: [text(data)], isError: false }
  if (data === undefined || data === null) return { content: [], isError: false }
  const blocks = blocksOf(data)
  if (blocks !== undefined) return { content: blocks, isError: false }
  return {
    content: [text(JSON.stringify(data))],
    ...(isJsonObject(data) && { structuredContent: data }),
    isError: false
  }
}

const isText = (block: JsonObject): block is JsonObject & { readonly text: string } =>
  block["type"] === "text" && typeof block["text"] === "string"

/** A block of MCP as it goes into data; what devices have no form for stays as it is. */
const dataOf = (block: JsonObject): unknown => {
  const { data, mimeType, type } = block
  return typeof type === "string" && binary.includes(type) ? { type, mimeType, base64: data } : block
}

/** What an MCP tool gave, as a device tells it: texts joined, or its structured content, or its blocks. */
export const fromMcpResult = ({ content, isError, structuredContent }: JsonObject): Outcome => {
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
  const said = blocks.filter(isText).map((block) => block.text)
  if (isError === true) {
    return { success: false, error: said.join("\n") || "the tool failed and did not say why" }
  }
  if (said.length < blocks.length) {
    return { success: true, data: blocks.length === 1 ? dataOf(blocks[0] ?? {}) : blocks.map(dataOf) }
  }
  if (isJsonObject(structuredContent)) return { success: true, data: structuredContent }
  return { success: true, data: said.join("\n") }
}
