import { isJsonObject, type JsonObject } from "../../json.ts"
import { withoutReservedMeta } from "../listings/mcpListings.ts"

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
