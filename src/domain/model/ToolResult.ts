import { Effect, Result, Schema, SchemaGetter, SchemaIssue } from "effect"
import { isJsonObject, type JsonObject, findRoundedIntegers } from "../json.ts"

/** A text. */
export interface TextContent extends JsonObject {
  readonly type: "text"
  readonly text: string
}

/** An image; `data` is base64. */
export interface ImageContent extends JsonObject {
  readonly type: "image"
  readonly data: string
  readonly mimeType: string
}

/** A sound; `data` is base64. */
export interface AudioContent extends JsonObject {
  readonly type: "audio"
  readonly data: string
  readonly mimeType: string
}

/** A reference to a resource of the MCP server. */
export interface ResourceLink extends JsonObject {
  readonly type: "resource_link"
  readonly uri: string
  readonly name: string
}

/** A resource with its contents: `text`, or `blob` in base64. */
export interface EmbeddedResource extends JsonObject {
  readonly type: "resource"
  readonly resource: JsonObject & { readonly uri: string }
}

declare const unknownType: unique symbol

/** The type of a block from a newer peer: a text at run time, opaque here so that `switch (block.type)` narrows. */
interface UnknownContentType {
  readonly [unknownType]: true
  readonly toString: () => string
}

/** A block of a type that this version does not know. */
export interface UnknownContent extends JsonObject {
  readonly type: UnknownContentType
}

/** A block of a tool result, as in MCP. Members beside the declared ones are kept unchecked. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | UnknownContent

type KnownType = Extract<ContentBlock["type"], string>

/** The members of each known type that must be texts. */
const requiredTexts: { readonly [T in KnownType]: ReadonlyArray<string> } = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
  resource: []
}

const isKnownType = (type: string): type is KnownType => Object.hasOwn(requiredTexts, type)

/** The reason why a value is no content block; `undefined` for a block. */
export const contentBlockProblem = (value: unknown): string | undefined => {
  if (!isJsonObject(value)) return "expected an object"
  const { resource, type } = value
  if (typeof type !== "string") return "type: expected a string"
  if (!isKnownType(type)) return undefined
  const missing = requiredTexts[type].find((member) => typeof value[member] !== "string")
  if (missing !== undefined) return `${missing}: expected a string`
  const isComplete = type !== "resource" || (isJsonObject(resource) && typeof resource["uri"] === "string")
  return isComplete ? undefined : "resource: expected an object with a uri"
}

/** True for a content block of any type. */
export const isContentBlock = (value: unknown): value is ContentBlock => contentBlockProblem(value) === undefined

/** True for a content block of a type that this version knows. */
export const isKnownContentBlock = (value: unknown): value is Exclude<ContentBlock, UnknownContent> =>
  isContentBlock(value) && isKnownType(String(value.type))

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
