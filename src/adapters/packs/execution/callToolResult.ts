import { Result } from "effect"
import { isJsonObject, type JsonObject, parseJsonOrThrow } from "../../../domain/json.ts"
import { isKnownContentBlock } from "../../../domain/model/ContentBlock.ts"
import { thrownMessage } from "./thrown.ts"

const isText = (value: unknown): value is string => typeof value === "string"

const isContentBlockList = (value: unknown): value is ReadonlyArray<unknown> =>
  Array.isArray(value) && value.every(isKnownContentBlock)

const toJson = (value: unknown): Result.Result<unknown, string> =>
  Result.try({
    try: (): unknown => {
      const text: string | undefined = JSON.stringify(value)
      if (text === undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`)
      return parseJsonOrThrow(text)
    },
    catch: thrownMessage
  })

const toResult = (value: unknown): JsonObject => {
  if (isText(value)) return { content: [{ type: "text", text: value }] }
  if (isKnownContentBlock(value)) return { content: [value] }
  if (isContentBlockList(value)) return { content: value }
  if (isJsonObject(value) && isContentBlockList(value["content"])) return value
  // Structured content must be an object.
  const structuredContent = isJsonObject(value) ? value : { result: value }
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent }
}

/**
 * Converts the return value of a tool to an MCP tool result. A text, a block, a list of blocks and a whole result stay
 * as they are; undefined becomes an empty result; any other JSON value becomes structured content and text. Fails when
 * the value is not JSON.
 */
export const toCallToolResult = (value: unknown): Result.Result<JsonObject, string> =>
  value === undefined ? Result.succeed({ content: [] }) : Result.map(toJson(value), toResult)
