import { CliOutput } from "effect/cli"
import type { Colour } from "../../../adapters/log/colours.ts"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { type JsonObject, objectsIn, stringOrEmpty } from "../../../domain/json.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { ContentBlock, ToolResult } from "../../../domain/model/ToolResult.ts"
import type { CallExplanation } from "../../../domain/policy/CallExplanation.ts"
import { formatOutcome } from "../../../domain/policy/Rule.ts"
import { messagesIn, type PromptMessage } from "../../../domain/page/prompts.ts"
import { fitText, fitWidths, padText, wrapText } from "./columns.ts"
import { paintForOutput, tableColumns } from "./screen.ts"

/** In characters; a cell quotes the start of a longer text. */
const maxCellLength = 1000

/** A longer cell does not move the cells below it. */
const maxColumnWidth = 64

/** A cell of a table, with a colour where it is a state. */
export type Cell = string | { readonly text: string; readonly colour: Colour }

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text)

const formatCell = (text: string): string =>
  escapeForTerminal(text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text)

/**
 * Aligns rows in columns, two spaces apart, cut to the width of the terminal. Every cell is escaped, and stays in its line. Gives
 * `none` without rows.
 */
export const formatColumns = (cells: ReadonlyArray<ReadonlyArray<Cell>>, none = "", columns = tableColumns()) => {
  if (cells.length === 0) return wrapText(none, columns).join("\n")
  const rows = cells.map((row) => row.map((cell) => formatCell(textOf(cell))))
  const [maxWidth, pad] = Number.isFinite(columns) ? [columns, fitText] : [maxColumnWidth, padText]
  const widths = Array.from({ length: Math.max(...rows.map((row) => row.length)) }, (_, index) =>
    Math.min(maxWidth, Math.max(...rows.map((row) => CliOutput.displayWidth(row[index] ?? ""))))
  )
  const fitted = fitWidths(widths, columns)
  const paint = paintForOutput()
  return rows
    .map((row, line) =>
      row
        .map((text, index) => {
          const padded = pad(text, fitted[index] ?? 0)
          const cell = cells[line]?.[index]
          if (typeof cell !== "object") return padded
          const shown = padded.trimEnd()
          return paint(cell.colour, shown) + padded.slice(shown.length)
        })
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** Columns of values below which their names stand on lines before them. */
const minValueColumns = 20

/** Formats names and values, escaped. The words of a value stay to the right of the names, or below on a narrow terminal. */
export const formatFields = (fields: ReadonlyArray<ReadonlyArray<Cell>>, columns = tableColumns()): string => {
  const paint = paintForOutput()
  const nameWidth = Math.max(...fields.map(([name = ""]) => CliOutput.displayWidth(textOf(name)))) + 2
  const isNarrow = columns - nameWidth < minValueColumns
  const margin = isNarrow ? 4 : nameWidth
  return fields
    .flatMap(([name = "", value = ""]) => {
      const lines = wrapText(formatCell(textOf(value)), columns - margin).map(
        (line) => " ".repeat(margin) + (typeof value === "string" ? line : paint(value.colour, line))
      )
      const [first = "", ...rest] = lines
      return isNarrow
        ? [textOf(name), ...lines]
        : [`${padText(textOf(name), margin)}${first.slice(margin)}`.trimEnd(), ...rest]
    })
    .join("\n")
}

/** The first line of a text, truncated to fit a line of a terminal. */
export const truncateLine = (text: string, length = 72): string => {
  const [line = ""] = text.trimStart().split("\n", 1)
  const shown = line.slice(0, length + 1).trimEnd()
  return shown.length > length ? `${shown.slice(0, length - 1).replace(/[\ud800-\udbff]$/, "")}…` : shown
}

/** Formats the command or URL of a server without secrets: no arguments, no query, no password. */
export const formatServerLocation = ({ parameters, type }: ServerConfig): string =>
  type === "stdio"
    ? String(parameters["command"])
    : String(parameters["url"])
        .replace(/[?#].*$/s, "")
        .replace(/\/\/[^/]*@/, "//")

const formatContent = (block: ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "resource": {
      const { text, uri } = block.resource
      return stringOrEmpty(text) || `[resource ${uri}]`
    }
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType} ${Math.ceil((block.data.length * 3) / 4)} bytes]`
    case "resource_link":
      return `[resource_link ${block.uri}]`
    default:
      return `[${String(block.type)}]`
  }
}

export const formatToolResult = ({ content, structuredContent }: ToolResult): string => {
  const text = content.map(formatContent).join("\n")
  return text === "" && structuredContent !== undefined ? formatJson(structuredContent) : text
}

export const formatJson = (value: unknown): string => JSON.stringify(value, null, 2)

/** Formats how a call is decided: the rules up to the one that decides, then the decision. Every text is escaped. */
export const formatExplanation = ({ call, canAsk, decision, steps }: CallExplanation): string => {
  const { action, by, reason } = decision
  return formatFields([
    ["tool", `${call.tool} of the MCP server ${call.server}`],
    ["caller", call.office === undefined ? call.subject : `${call.subject} in the office ${call.office}`],
    ...steps.map((step) => [
      step.rule,
      `${step.action}: ${step.mismatch === undefined ? "applies" : `does not apply, by its ${step.mismatch}`}`
    ]),
    ["decision", `${action}, by ${by}: ${formatOutcome(action, canAsk)}`],
    ...(reason === undefined ? [] : [["reason", reason]])
  ])
}

/** Formats the arguments of a prompt: optional ones in brackets. */
export const formatPromptArguments = ({ arguments: given }: JsonObject): string =>
  objectsIn(given)
    .map(({ name, required }) => (required === true ? stringOrEmpty(name) : `[${stringOrEmpty(name)}]`))
    .join(" ")

const formatMessage = ({ content, role }: PromptMessage): string => {
  const { data: _, text, type, ...others } = content
  const shown = type === "text" ? stringOrEmpty(text) : JSON.stringify({ type, ...others })
  return `${role}: ${shown}`
}

/** Formats the result of `prompts/get`: a line for each message, without binary data. */
export const formatPromptMessages = (result: JsonObject): string => messagesIn(result).map(formatMessage).join("\n")
