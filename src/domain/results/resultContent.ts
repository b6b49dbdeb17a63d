import { binaryDataOf } from "../blobs/binaryContent.ts"
import { type JsonObject, parseJson } from "../json.ts"
import { isKnownContentBlock } from "../model/ContentBlock.ts"
import { formatBytes } from "../text/format.ts"
import { singleLine } from "../tools/singleLine.ts"

/** Binary content of a result. */
export interface BinaryPart {
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** The whole content of a result: one text, with a line for each binary part in its place. */
export interface ResultContent {
  readonly text: string
  readonly binaries: ReadonlyArray<BinaryPart>
}

/** Characters of a MIME type, which a peer states. */
const maxMimeTypeLength = 60

/** Formats a binary part for the summary and for its place in the text: `image/png, 40 KiB`. */
export const formatBinary = ({ bytes, mimeType }: BinaryPart): string =>
  `${singleLine(mimeType, maxMimeTypeLength)}, ${formatBytes(bytes.length)}`

interface ContentOptions {
  /** Decodes base64; `undefined` for other text, which then is part of the text of its block. */
  readonly decode: (base64: string) => Uint8Array | undefined
  /** Gives the URI of a binary part by its number from 1. */
  readonly uriOf: (binary: number) => string
}

/** The blocks of a result in MCP's form. */
export const blocksOf = ({ content }: JsonObject): ReadonlyArray<unknown> => (Array.isArray(content) ? content : [])

const isRepeated = (structured: string, texts: ReadonlyArray<string>): boolean =>
  texts.some((text) => JSON.stringify(parseJson(text)) === structured)

/**
 * Collects the content of a result. Text blocks and text resources are text; other blocks are their JSON. Structured
 * content follows as JSON unless a block repeats it.
 */
export const collectContent = (result: JsonObject, { decode, uriOf }: ContentOptions): ResultContent => {
  const binaries: Array<BinaryPart> = []
  const textOf = (block: unknown): string => {
    if (!isKnownContentBlock(block)) return JSON.stringify(block)
    if (block.type === "text") return block.text
    if (block.type === "resource" && typeof block.resource["text"] === "string") return block.resource["text"]
    const data = binaryDataOf(block)
    const bytes = data && decode(data.base64)
    if (data === undefined || bytes === undefined) return JSON.stringify(block)
    const part = { mimeType: data.mimeType, bytes }
    const number = binaries.push(part)
    return `[${formatBinary(part)}: ${uriOf(number)}]`
  }
  const texts = blocksOf(result).map(textOf)
  const { structuredContent } = result
  const structured = structuredContent === undefined ? undefined : JSON.stringify(structuredContent)
  const all = structured === undefined || isRepeated(structured, texts) ? texts : [...texts, structured]
  return { text: all.join("\n"), binaries }
}
