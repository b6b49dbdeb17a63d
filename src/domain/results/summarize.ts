import { isJsonObject, type JsonObject, parseJson } from "../json.ts"
import { formatBytes, formatCount } from "../text/format.ts"
import { singleLine } from "../tools/singleLine.ts"
import { blocksOf, formatBinary, type ResultContent } from "./resultContent.ts"

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
  const counts = new Map<string, number>()
  for (const block of blocksOf(result)) {
    const kind = singleLine(isJsonObject(block) ? String(block["type"]) : "unknown", shown.nameLength)
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  if (result["structuredContent"] !== undefined) counts.set("structured content", 1)
  return listFirst(
    [...counts].map(([kind, count]) => `${formatCount(count)} ${kind}`),
    shown.kinds
  )
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
