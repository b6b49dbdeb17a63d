import { Effect, Result } from "effect"
import { Base64 } from "effect/encoding"
import { isJsonObject, type JsonObject, parseJsonOrThrow } from "../../domain/json.ts"
import { isKnownContentBlock } from "../../domain/model/ToolResult.ts"
import { thrownMessage } from "./runPackCode.ts"

/** A file, such as an image, or the address of one. */
type Attachment = Blob | URL

const isAttachment = (value: unknown): value is Attachment => value instanceof Blob || value instanceof URL

const textBlock = (text: string) => ({ type: "text", text })

const nameOf = (file: Blob): string => ("name" in file && typeof file.name === "string" ? file.name : "file")

const toBlock = async (attachment: Attachment): Promise<JsonObject> => {
  if (attachment instanceof URL) {
    const { host, href, pathname } = attachment
    return { type: "resource_link", uri: href, name: pathname.split("/").at(-1) || host || href }
  }
  // Without the parameters of a media type, such as `charset`.
  const [mimeType = ""] = attachment.type.split(";")
  const [, kind] = /^(image|audio|text)\//.exec(mimeType) ?? []
  const uri = `attachment:///${encodeURIComponent(nameOf(attachment))}`
  if (kind === "text") return { type: "resource", resource: { uri, mimeType, text: await attachment.text() } }
  const data = Base64.encode(new Uint8Array(await attachment.arrayBuffer()))
  return kind === undefined
    ? { type: "resource", resource: { uri, mimeType: mimeType || "application/octet-stream", blob: data } }
    : { type: kind, data, mimeType }
}

/** Replaces attachments by content blocks, and the texts beside them. */
const embedAttachments = async (value: unknown): Promise<unknown> => {
  if (isAttachment(value)) return toBlock(value)
  if (!Array.isArray(value) || !value.some(isAttachment)) return value
  return Promise.all(
    value.map((part: unknown) => {
      if (isAttachment(part)) return toBlock(part)
      return typeof part === "string" ? textBlock(part) : part
    })
  )
}

const isContentBlockList = (value: unknown): value is ReadonlyArray<unknown> =>
  Array.isArray(value) && value.every(isKnownContentBlock)

const fromJson = (value: unknown): JsonObject => {
  if (typeof value === "string") return { content: [textBlock(value)] }
  if (isKnownContentBlock(value)) return { content: [value] }
  if (isContentBlockList(value)) return { content: value }
  if (isJsonObject(value) && isContentBlockList(value["content"])) return value
  // Structured content must be an object.
  const structuredContent = isJsonObject(value) ? value : { result: value }
  return { content: [textBlock(JSON.stringify(value))], structuredContent }
}

/**
 * Converts the return value of a tool to an MCP tool result. A text, a block, a list of blocks and a whole result stay
 * as they are. A `Blob` becomes an image, a sound or a file, a `URL` a link, also in a list beside texts and blocks.
 * `undefined` becomes an empty result; any other JSON value becomes structured content and text. Fails when the value is
 * not JSON.
 */
export const toCallToolResult = Effect.fnUntraced(function* (value: unknown): Effect.fn.Return<JsonObject, string> {
  if (value === undefined) return { content: [] }
  const embedded = yield* Effect.tryPromise({ try: () => embedAttachments(value), catch: thrownMessage })
  return yield* Effect.fromResult(
    Result.try({
      try: () => {
        const text: string | undefined = JSON.stringify(embedded)
        if (text === undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`)
        return fromJson(parseJsonOrThrow(text))
      },
      catch: thrownMessage
    })
  )
})
