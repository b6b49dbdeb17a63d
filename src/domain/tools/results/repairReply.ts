import { Result } from "effect"
import { asString, isJsonObject, type JsonObject, toSafeJson } from "../../json.ts"
import { booleanValue, listOf, objectOf, text, valueIf } from "../listings/mcpListings.ts"
import { publishBlocks, repairContents } from "./repairResult.ts"

/** A reply in the form that every MCP client accepts, or the reason why it has no meaning. */
export type RepairedReply<A = JsonObject> = Result.Result<A, string>

/** The messages of an item, each with one block. */
const toMessages = (item: unknown): ReadonlyArray<JsonObject> => {
  const { content, role, ...rest } = isJsonObject(item) ? item : { content: item }
  const hasContent = content !== undefined
  return publishBlocks(hasContent ? content : rest).map((block) => ({
    ...(hasContent && rest),
    role: role === "assistant" ? role : "user",
    content: block
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
