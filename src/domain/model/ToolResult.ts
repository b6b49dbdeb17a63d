import { Effect, Result, Schema, SchemaGetter, SchemaIssue } from "effect"
import { isJsonObject, type JsonObject } from "../json.ts"

/** An MCP `CallToolResult` with all its members; its metadata is sent as `meta` or `_meta` (spec §6.4). */
export interface ToolResult extends JsonObject {
  readonly content: ReadonlyArray<JsonObject>
  readonly isError: boolean
  readonly structuredContent?: unknown
  readonly meta?: JsonObject
}

const isContent = (value: unknown): value is ReadonlyArray<JsonObject> =>
  Array.isArray(value) && value.every(isJsonObject)

const isToolResult = (value: unknown): value is ToolResult =>
  isJsonObject(value) && isContent(value["content"]) && typeof value["isError"] === "boolean"

export const parseToolResult = (value: unknown): Result.Result<ToolResult, string> => {
  if (!isJsonObject(value)) return Result.fail("a tool result must be an object")
  const { _meta, content = [], isError, meta, ...rest } = value
  if (!isContent(content)) return Result.fail("content: expected an array of objects")
  if (isError !== undefined && isError !== null && typeof isError !== "boolean") {
    return Result.fail("isError: expected a boolean")
  }
  const metadata = isJsonObject(meta) ? meta : isJsonObject(_meta) ? _meta : undefined
  return Result.succeed({
    ...rest,
    content,
    isError: isError === true,
    ...(metadata !== undefined && { meta: metadata })
  })
}

/** {@link parseToolResult} as a schema; encoding leaves the result unchanged. */
export const ToolResult = Schema.Unknown.pipe(
  Schema.decodeTo(Schema.declare<ToolResult>(isToolResult, { expected: "a tool result" }), {
    decode: SchemaGetter.transformEffect((value, options) =>
      Effect.mapError(
        Effect.fromResult(parseToolResult(value)),
        (message) => new SchemaIssue.InvalidValue({ message }, value, options)
      )
    ),
    encode: SchemaGetter.passthroughSupertype()
  })
)
