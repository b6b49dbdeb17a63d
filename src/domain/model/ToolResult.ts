import { Effect, Result, Schema, SchemaGetter, SchemaIssue } from "effect"
import { findRoundedIntegers, isJsonObject, type JsonObject } from "../json.ts"
import { type ContentBlock, contentBlockProblem, isContentBlock } from "./ContentBlock.ts"

/** An MCP `CallToolResult` with all its members; its metadata is sent as `meta` or `_meta` (spec §6.4). */
export interface ToolResult extends JsonObject {
  readonly content: ReadonlyArray<ContentBlock>
  readonly isError: boolean
  readonly structuredContent?: unknown
  readonly meta?: JsonObject
}

const parseContent = (value: unknown): Result.Result<ReadonlyArray<ContentBlock>, string> => {
  if (!Array.isArray(value)) return Result.fail("content: expected an array")
  if (value.every(isContentBlock)) return Result.succeed(value)
  const index = value.findIndex((block) => !isContentBlock(block))
  return Result.fail(`content[${index}]: ${contentBlockProblem(value[index])}`)
}

/** Metadata of a result: JSON pointers to its integers beyond ±(2^53 − 1), which may be rounded. */
const roundedIntegersKey = "a2c_rounded_integers"

/** Marks integers that may be rounded: the receiver must not take them for exact. */
const markRoundedIntegers = (result: ToolResult): ToolResult => {
  const pointers = findRoundedIntegers(result)
  return pointers.length === 0 ? result : { ...result, meta: { ...result.meta, [roundedIntegersKey]: pointers } }
}

const isToolResult = (value: unknown): value is ToolResult =>
  isJsonObject(value) && Result.isSuccess(parseContent(value["content"])) && typeof value["isError"] === "boolean"

export const parseToolResult = (value: unknown): Result.Result<ToolResult, string> => {
  if (!isJsonObject(value)) return Result.fail("a tool result must be an object")
  const { _meta, content: blocks = [], isError, meta, ...rest } = value
  const content = parseContent(blocks)
  if (Result.isFailure(content)) return Result.fail(content.failure)
  if (isError !== undefined && isError !== null && typeof isError !== "boolean") {
    return Result.fail("isError: expected a boolean")
  }
  const metadata = isJsonObject(meta) ? meta : isJsonObject(_meta) ? _meta : undefined
  return Result.succeed(
    markRoundedIntegers({
      ...rest,
      content: content.success,
      isError: isError === true,
      ...(metadata !== undefined && { meta: metadata })
    })
  )
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
