import { binaryDataOf } from "../blobs/binaryContent.ts"
import { isJsonObject, type JsonObject, parseJson } from "../json.ts"
import { isKnownContentBlock } from "../model/ToolResult.ts"
import { formatBytes, formatCount } from "../text/format.ts"
import { singleLine } from "../tools/singleLine.ts"
import { encodeUtf8 } from "../utf8.ts"

/** The size of a value as JSON in UTF-8, in bytes. */
export const jsonSize = (value: unknown): number => encodeUtf8(JSON.stringify(value) ?? "").length

const shortEscapes = /["\\\b\t\n\f\r]/

/** The bytes of a character within JSON text: `JSON.stringify` escapes control characters and unpaired surrogates. */
const characterSize = (character: string): number => {
  const code = character.codePointAt(0) ?? 0
  if (shortEscapes.test(character)) return 2
  if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) return 6
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code < 0x10000 ? 3 : 4
}

/**
 * Gives the end of the page that begins at `start`: its text needs at most `maxBytes` within JSON, and splits no
 * character. A page has at least one character.
 */
export const pageEnd = (text: string, start: number, maxBytes: number): number => {
  let end = start
  let left = maxBytes
  while (end < text.length) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0)
    left -= characterSize(character)
    if (left < 0 && end > start) break
    end += character.length
  }
  return end
}

/** Moves an offset within a character to its start. */
export const toCharacterStart = (text: string, offset: number): number =>
  offset > 0 && offset < text.length && (text.codePointAt(offset - 1) ?? 0) > 0xffff ? offset - 1 : offset

interface BinaryPart {
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
  const structured = JSON.stringify(result["structuredContent"])
  const isRepeated = structured === undefined || texts.some((text) => JSON.stringify(parseJson(text)) === structured)
  return { text: (isRepeated ? texts : [...texts, structured]).join("\n"), binaries }
}

/** What a summary shows at most of names and parts, so that it fits the smallest budget. */
const shown = { members: 8, nameLength: 30, kinds: 5, binaries: 3 }

const listFirst = (all: ReadonlyArray<string>, count: number): string =>
  [...all.slice(0, count), ...(all.length > count ? [`${all.length - count} more`] : [])].join(", ")

const shapeOf = (value: unknown): string => {
  if (Array.isArray(value)) return `array of ${value.length}`
  return value === null ? "null" : typeof value
}

const membersOf = (value: JsonObject): string =>
  listFirst(
    Object.entries(value).map(([name, member]) => `${singleLine(name, shown.nameLength)} (${shapeOf(member)})`),
    shown.members
  )

/** Describes the top level of JSON text; `undefined` for other text. */
const describeJson = (text: string): string | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined
  const value = parseJson(text)
  if (isJsonObject(value)) return `JSON object with ${membersOf(value)}`
  if (!Array.isArray(value)) return undefined
  const first: unknown = value[0]
  const item = isJsonObject(first) ? `an object with ${membersOf(first)}` : shapeOf(first)
  return `JSON array of ${formatCount(value.length)}${value.length === 0 ? "" : `; the first item is ${item}`}`
}

const countLines = (text: string): number => {
  let count = 1
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1
  return count
}

const describeBlocks = (result: JsonObject): string => {
  const kindOf = (block: unknown) =>
    singleLine(isJsonObject(block) ? String(block["type"]) : "unknown", shown.nameLength)
  const kinds = [...Map.groupBy(blocksOf(result), kindOf)].map(
    ([kind, blocks]) => `${formatCount(blocks.length)} ${kind}`
  )
  return listFirst(result["structuredContent"] === undefined ? kinds : [...kinds, "1 structured content"], shown.kinds)
}

/** Describes a whole result: its size, blocks, lines, binary parts, and the top level of JSON. */
export const summarize = (result: JsonObject, { binaries, text }: ResultContent, size: number): string => {
  const json = describeJson(text)
  return [
    `Whole result: ${formatBytes(size)}; blocks: ${describeBlocks(result)}.`,
    `Text: ${formatCount(text.length)} characters in ${formatCount(countLines(text))} lines.`,
    ...(json === undefined ? [] : [`${json}.`]),
    ...(binaries.length === 0 ? [] : [`Binary: ${listFirst(binaries.map(formatBinary), shown.binaries)}.`])
  ].join(" ")
}
