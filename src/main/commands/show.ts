import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { ToolResult } from "../../domain/protocol/v0_2/tools.ts"

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Rows in columns of equal width, two spaces apart. */
export const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows.reduce<ReadonlyArray<number>>(
    (sizes, row) => row.map((cell, index) => Math.max(sizes[index] ?? 0, cell.length)),
    []
  )
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** The first line of a text, cut to a length a terminal shows in one line. */
export const brief = (text: string, length = 72): string => {
  const [line = ""] = text.trim().split("\n")
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}

const block = (content: JsonObject): string => {
  const kind = textOf(content["type"])
  if (kind === "text") return textOf(content["text"])
  const mime = textOf(content["mimeType"])
  const { resource } = content
  if (isJsonObject(resource)) return textOf(resource["text"]) || `[resource ${textOf(resource["uri"])}]`
  const size = textOf(content["data"]).length
  return `[${[kind, mime, size > 0 ? `${Math.ceil((size * 3) / 4)} bytes` : ""].filter(Boolean).join(" ")}]`
}

/** A tool's result as a person reads it. */
export const showResult = ({ content, structuredContent }: ToolResult): string => {
  const text = content.map(block).join("\n")
  return text === "" && structuredContent !== undefined ? json(structuredContent) : text
}

/** A value as JSON for machines and for people who want to see everything. */
export const json = (value: unknown): string => JSON.stringify(value, null, 2)
