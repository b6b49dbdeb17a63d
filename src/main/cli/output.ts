import { Console, Effect } from "effect"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import type { ServerConfig } from "../../domain/config/computerConfig.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { CommandFailed } from "./CommandFailed.ts"

/** Aligns rows in columns, two spaces apart. */
export const formatColumns = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
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

/** The first line of a text, truncated to fit a line of a terminal. */
export const truncateLine = (text: string, length = 72): string => {
  const [line = ""] = text.trim().split("\n")
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}

/** Formats the command or URL of a server without secrets: no arguments, no query, no password. */
export const formatServerLocation = ({ parameters, type }: ServerConfig): string =>
  type === "stdio"
    ? String(parameters["command"])
    : String(parameters["url"])
        .replace(/[?#].*$/s, "")
        .replace(/\/\/[^/]*@/, "//")

const formatContent = (content: JsonObject): string => {
  const type = stringOrEmpty(content["type"])
  if (type === "text") return stringOrEmpty(content["text"])
  const mime = stringOrEmpty(content["mimeType"])
  const { resource } = content
  if (isJsonObject(resource)) return stringOrEmpty(resource["text"]) || `[resource ${stringOrEmpty(resource["uri"])}]`
  const size = stringOrEmpty(content["data"]).length
  return `[${[type, mime, size > 0 ? `${Math.ceil((size * 3) / 4)} bytes` : ""].filter(Boolean).join(" ")}]`
}

export const formatToolResult = ({ content, structuredContent }: ToolResult): string => {
  const text = content.map(formatContent).join("\n")
  return text === "" && structuredContent !== undefined ? formatJson(structuredContent) : text
}

export const formatJson = (value: unknown): string => JSON.stringify(value, null, 2)

/** Prints the result of a tool, `raw` with `json`; fails with exit code 2 when the tool failed. */
export const printToolResult = Effect.fnUntraced(function* (raw: unknown, result: ToolResult, json: boolean) {
  const text = formatToolResult(result)
  if (json) yield* Console.log(formatJson(raw))
  else if (!result.isError) yield* Console.log(text)
  if (result.isError) return yield* new CommandFailed({ message: text || "The tool failed", exitCode: 2 })
})
