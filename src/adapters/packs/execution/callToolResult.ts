import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { thrownMessage } from "./thrown.ts"

const isText = (value: unknown): value is string => typeof value === "string"

/** Is it a content block of MCP? Something else may have a `type`, too, so what the type asks for must be there. */
const isContentBlock = (value: unknown): boolean => {
  if (!isJsonObject(value)) return false
  switch (value["type"]) {
    case "text":
      return isText(value["text"])
    case "image":
    case "audio":
      return isText(value["data"]) && isText(value["mimeType"])
    case "resource":
      return isJsonObject(value["resource"]) && isText(value["resource"]["uri"])
    case "resource_link":
      return isText(value["uri"]) && isText(value["name"])
    default:
      return false
  }
}

const isContentBlockList = (value: unknown): value is ReadonlyArray<unknown> =>
  Array.isArray(value) && value.every(isContentBlock)

/** The value as JSON carries it, or why it cannot. */
const toJson = (value: unknown): Result.Result<unknown, string> =>
  Result.try({
    try: (): unknown => {
      const text: string | undefined = JSON.stringify(value)
      if (text === undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`)
      return JSON.parse(text)
    },
    catch: thrownMessage
  })

const toResult = (value: unknown): JsonObject => {
  if (isText(value)) return { content: [{ type: "text", text: value }] }
  if (isContentBlock(value)) return { content: [value] }
  if (isContentBlockList(value)) return { content: value }
  if (isJsonObject(value) && isContentBlockList(value["content"])) return value
  // Structured content is an object.
  const structuredContent = isJsonObject(value) ? value : { result: value }
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent }
}

/**
 * What a tool gave back as a result of MCP: a text, a block, a list of blocks or a whole result stay what they are,
 * nothing is an empty result, and any other value of JSON becomes structured content and its text. Fails with why a
 * value is none of these.
 */
export const toCallToolResult = (value: unknown): Result.Result<JsonObject, string> =>
  value === undefined ? Result.succeed({ content: [] }) : Result.map(toJson(value), toResult)
