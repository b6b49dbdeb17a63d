import { Result } from "effect"
import { asObject, asString, isJsonObject, type JsonObject, stringOrEmpty, toSafeJson } from "../../json.ts"
import { type ContentBlock, contentBlockProblem, isContentBlock, isKnownContentBlock } from "../../model/ToolResult.ts"
import { definedOnly } from "../../objects.ts"
import {
  repairAnnotations,
  repairListed,
  withoutReservedMeta,
  booleanValue,
  listOf,
  objectOf,
  text,
  valueIf
} from "../listings/mcpListings.ts"

const textBlock = (text: string): ContentBlock => ({ type: "text", text })

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/** The type of data that states none. */
const unknownMimeType = "application/octet-stream"

/** Gives base64 as clients decode it, also from a data URL or with the alphabet of URLs. */
const repairBase64 = (data: unknown): string | undefined => {
  if (typeof data !== "string") return undefined
  const plain = /^data:/i.test(data) ? data.slice(data.indexOf(",") + 1) : data
  const base64 = /[-_]/.test(plain) ? plain.replaceAll("-", "+").replaceAll("_", "/") : plain
  if (/[^A-Za-z0-9+/=\t\n\f\r ]/.test(base64)) return undefined
  const digits = /[\t\n\f\r ]/.test(base64) ? base64.replaceAll(/[\t\n\f\r ]/g, "") : base64
  const padding = digits.indexOf("=")
  const isComplete = padding === -1 ? digits.length % 4 !== 1 : digits.length % 4 === 0 && digits.length - padding <= 2
  return isComplete ? base64 : undefined
}

/** The type of a block that states none. */
const typeOf = ({ data, mimeType, resource, text, uri }: JsonObject): string | undefined => {
  if (typeof text === "string") return "text"
  if (typeof data === "string") return String(mimeType).startsWith("audio/") ? "audio" : "image"
  if (isJsonObject(resource)) return "resource"
  return typeof uri === "string" ? "resource_link" : undefined
}

const repairMedia = ({ data, mimeType, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  mimeType: asString(mimeType) ?? /^data:([^;,]+)/i.exec(stringOrEmpty(data))?.[1] ?? unknownMimeType,
  ...definedOnly({ data: repairBase64(data) })
})

/** Repairs the contents of a resource: `text`, or `blob` in base64. Without both, `undefined`. */
const repairContents = (contents: JsonObject): JsonObject | undefined => {
  const { _meta, blob, mimeType, text, uri, ...rest } = contents
  const base64 = repairBase64(blob)
  const content = text === undefined || text === null ? base64 && { blob: base64 } : { text: asText(text) }
  return content && typeof uri === "string"
    ? {
        ...rest,
        uri,
        ...definedOnly({ mimeType: asString(mimeType), _meta: isJsonObject(_meta) ? _meta : undefined }),
        ...content
      }
    : undefined
}

/** Repairs what the type of a block requires. */
const repairs: { readonly [type: string]: (block: JsonObject) => JsonObject } = {
  text: ({ text = "", ...rest }) => ({ ...rest, text: asText(text) }),
  image: repairMedia,
  audio: repairMedia,
  resource_link: (block) => ({ name: block["uri"], ...Result.getOrElse(repairListed("resources", block), () => ({})) }),
  resource: ({ resource, ...rest }) => ({ ...rest, resource: repairContents(asObject(resource)) })
}

const repairBlock = (value: unknown): ReadonlyArray<ContentBlock> => {
  if (value === null || value === undefined) return []
  if (!isJsonObject(value)) return [textBlock(asText(value))]
  const members = Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
  const { _meta, annotations, type = typeOf(members), ...rest } = members
  const repair = typeof type === "string" && Object.hasOwn(repairs, type) ? repairs[type] : undefined
  if (repair === undefined && isContentBlock(value)) return [value]
  const block: JsonObject = {
    type,
    ...repair?.({ type, ...rest }),
    ...definedOnly({ annotations: repairAnnotations(annotations), _meta: isJsonObject(_meta) ? _meta : undefined })
  }
  return [isContentBlock(block) ? block : textBlock(`(content omitted: ${contentBlockProblem(block)})`)]
}

const falseWords: ReadonlyArray<unknown> = [false, "false", 0]

/** The content of a result that has none, from members that MCP does not know. */
const unknownContent = ({ _meta, ...others }: JsonObject): ReadonlyArray<ContentBlock> => {
  const values = Object.values(others)
  if (values.length === 0) return []
  return [textBlock(asText(values.length === 1 && typeof values[0] === "string" ? values[0] : others))]
}

/** Newer clients reject an unknown `resultType`, which says nothing beside a result. */
const repairMembers = ({ content, isError, resultType: _, structuredContent, ...rest }: JsonObject): JsonObject => {
  const blocks = [content ?? []].flat().flatMap(repairBlock)
  const structured = definedOnly({ structuredContent: structuredContent ?? undefined })
  return {
    ...rest,
    content: blocks.length === 0 && !("structuredContent" in structured) ? unknownContent(rest) : blocks,
    ...((isError ?? undefined) !== undefined && { isError: !falseWords.includes(isError) }),
    ...structured
  }
}

/**
 * Gives the result of an MCP server in the form that MCP requires. A block without a plain meaning becomes a text that says so;
 * members that are null are left out. Blocks of unknown types stay. A mark of errors that is not plainly false marks one.
 */
export const repairResult = (result: JsonObject): JsonObject => repairMembers(toSafeJson(result))

/** Shows a block of a type that MCP clients reject as text. */
const toKnownBlock = (block: ContentBlock): ContentBlock =>
  isKnownContentBlock(block) ? block : textBlock(JSON.stringify(block))

/**
 * Gives a result as every MCP client accepts it. Clients also check the structured content of an error against the schema
 * of the tool, and would hide the error: for a tool with a schema it becomes text. A schema of another type than `object` may
 * allow null.
 */
export const withoutRejectedParts = (result: JsonObject, outputSchema: JsonObject | undefined): JsonObject => {
  const isNull = result["structuredContent"] === null && outputSchema !== undefined && outputSchema["type"] !== "object"
  const { structuredContent = isNull ? null : undefined, ...repaired } = repairResult(result)
  const known = (repaired["content"] as ReadonlyArray<ContentBlock>).map(toKnownBlock)
  if (structuredContent === undefined) return { ...repaired, content: known }
  const isHidden = outputSchema !== undefined && repaired["isError"] === true
  if (!isHidden) return { ...repaired, content: known, structuredContent }
  return { ...repaired, content: known.length === 0 ? [textBlock(asText(structuredContent))] : known }
}

const inBlock = (block: unknown): unknown => {
  if (!isJsonObject(block)) return block
  const { resource } = block
  return withoutReservedMeta(isJsonObject(resource) ? { ...block, resource: withoutReservedMeta(resource) } : block)
}

const inBlocks = (blocks: unknown): unknown => (Array.isArray(blocks) ? blocks.map(inBlock) : inBlock(blocks))

const inMessage = (message: unknown): unknown =>
  isJsonObject(message) ? { ...withoutReservedMeta(message), content: inBlocks(message["content"]) } : message

/** Drops the keys that only this project sets from the metadata of a reply of an MCP server, and of its content or messages. */
export const withoutReservedParts = (reply: JsonObject): JsonObject => {
  const { content, messages } = reply
  return withoutReservedMeta({
    ...reply,
    ...(content !== undefined && { content: inBlocks(content) }),
    ...(Array.isArray(messages) && { messages: messages.map(inMessage) })
  })
}

/** A reply in the form that every MCP client accepts, or the reason why it has no meaning. */
export type RepairedReply<A = JsonObject> = Result.Result<A, string>

/** The messages of an item, each with one block, as every MCP client accepts it. */
const toMessages = (item: unknown): ReadonlyArray<JsonObject> => {
  const { content, role, ...rest } = isJsonObject(item) ? item : { content: item }
  const hasContent = content !== undefined
  const blocks = [hasContent ? content : rest].flat().flatMap(repairBlock)
  return blocks.map((block) => ({
    ...(hasContent && rest),
    role: role === "assistant" ? role : "user",
    content: toKnownBlock(block)
  }))
}

/** Repairs a prompt. A message of an unknown role is one of the user. */
export const repairPrompt = (result: JsonObject): RepairedReply => {
  const { description, messages, resultType: _, ...rest } = toSafeJson(result)
  const items = Array.isArray(messages) || isJsonObject(messages) ? [messages].flat() : [null]
  const repaired = items.flatMap(toMessages)
  return items.length > 0 && repaired.length === 0
    ? Result.fail("the response has no messages")
    : Result.succeed({ ...rest, ...(typeof description === "string" && { description }), messages: repaired })
}

/** The number of values that MCP allows. */
const maxValues = 100

const completionOf = objectOf(
  { values: listOf(text), total: valueIf(Number.isSafeInteger), hasMore: booleanValue },
  "values"
)

/** Repairs the values that complete an argument. */
export const repairCompletion = (result: JsonObject): RepairedReply => {
  const { completion, resultType: _, ...rest } = toSafeJson(result)
  const repaired = completionOf(completion)
  if (!isJsonObject(repaired) || !Array.isArray(repaired["values"])) return Result.fail("the response has no values")
  const { values } = repaired
  const first = values.length > maxValues ? { values: values.slice(0, maxValues), hasMore: true } : {}
  return Result.succeed({ ...rest, completion: { ...repaired, ...first } })
}

const unusable = "neither a text nor base64"

/** Repairs the contents of the resource of a URI. A part without a meaning becomes a text that says so. */
export const repairRead = (uri: string, contents: ReadonlyArray<unknown>): RepairedReply<ReadonlyArray<JsonObject>> => {
  const repaired = contents
    .filter((item) => item !== null && item !== undefined)
    .map((item) => toSafeJson(isJsonObject(item) ? item : { text: item }))
    .map((item) => [asString(item["uri"]) ?? uri, item] as const)
    .map(([own, item]) => [own, repairContents({ ...item, uri: own })] as const)
  if (contents.length > 0 && repaired.every(([, item]) => item === undefined)) {
    return Result.fail(`the contents have ${unusable}`)
  }
  return Result.succeed(repaired.map(([own, item]) => item ?? { uri: own, text: `(content omitted: ${unusable})` }))
}
