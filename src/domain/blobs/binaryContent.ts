import { Struct } from "effect"
import { asObject, asString } from "../json.ts"
import type { AudioContent, ContentBlock, EmbeddedResource, ImageContent } from "../model/ToolResult.ts"

/** The keys of a block's `_meta` that stand for its data (spec 0.2.1, binary content in tool results). */
const referenceKeys = { handle: "a2c_blob_handle", totalSize: "a2c_total_size", sha256: "a2c_sha256" } as const

/** Binary data up to this size in bytes stays in its block, on lines whose Agents read blobs. */
export const smallInlineBytes = 32 * 1024

type BinaryBlock = ImageContent | AudioContent | EmbeddedResource

/** True for a block that can carry binary data. */
const isBinaryBlock = (block: ContentBlock): block is BinaryBlock =>
  block.type === "image" || block.type === "audio" || block.type === "resource"

/** The binary data of a block in base64, and its MIME type; `undefined` without any. */
export const binaryDataOf = (block: ContentBlock) => {
  if (!isBinaryBlock(block)) return undefined
  if (block.type !== "resource") return { base64: block.data, mimeType: block.mimeType }
  const base64 = asString(block.resource["blob"])
  return base64 === undefined
    ? undefined
    : { base64, mimeType: asString(block.resource["mimeType"]) ?? "application/octet-stream" }
}

/** The size of base64 data in bytes, without decoding it. Line breaks count as data. */
export const decodedSize = (base64: string): number => {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding)
}

const withData = (block: BinaryBlock, base64: string): BinaryBlock =>
  block.type === "resource" ? { ...block, resource: { ...block.resource, blob: base64 } } : { ...block, data: base64 }

/** Replaces the data of a block by its handle, size in bytes, and SHA-256 in hexadecimal. Other members stay. */
export const toReference = (
  block: ContentBlock,
  content: { readonly handle: string; readonly totalSize: number; readonly sha256: string }
): ContentBlock => {
  if (!isBinaryBlock(block)) return block
  const reference = Struct.renameKeys(Struct.pick(content, Struct.keys(referenceKeys)), referenceKeys)
  return { ...withData(block, ""), _meta: { ...asObject(block["_meta"]), ...reference } }
}

/** The reference instead of a block's data, as its Computer states it; `undefined` without one. */
export const referenceOf = (
  block: ContentBlock
): { readonly handle: string; readonly sha256: string | undefined } | undefined => {
  const meta = asObject(block["_meta"])
  const handle = isBinaryBlock(block) ? asString(meta[referenceKeys.handle]) : undefined
  return handle === undefined ? undefined : { handle, sha256: asString(meta[referenceKeys.sha256])?.toLowerCase() }
}

/** Removes the keys of a reference from the `_meta` of a block, and an empty `_meta`. */
const withoutReference = <Block extends ContentBlock>({ _meta, ...rest }: Block): Block => {
  const meta = Struct.omit(asObject(_meta), Object.values(referenceKeys))
  return { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) } as unknown as Block
}

/** Restores the data of a block with a reference. */
export const restoreData = (block: ContentBlock, base64: string): ContentBlock =>
  isBinaryBlock(block) ? withData(withoutReference(block), base64) : block
