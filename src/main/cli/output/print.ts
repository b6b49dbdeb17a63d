import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"
import { makePaint } from "../../../adapters/log/colours.ts"
import { statusLine } from "../../../adapters/log/statusLine.ts"
import { escapeForTerminal, escapeLinesForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import { formatJson, formatToolResult } from "./format.ts"
import { formatHelp } from "./help.ts"
import { wrapLines } from "./columns.ts"
import { errorColumns, tableColumns, textColumns } from "./screen.ts"

/** How a command prints its result: as text, as JSON, or as text without escapes. */
export interface OutputOptions {
  readonly json: boolean
  readonly raw?: boolean
}

/**
 * Prints a text to stdout, escaped except for its line breaks and tabs: on a terminal and in a pipe alike, since most pipes
 * end at a terminal.
 */
export const print = (text: string): Effect.Effect<void> => Console.log(escapeLinesForTerminal(text))

/** Prints a text to stdout, which a terminal shows in lines that break between words. */
export const printText = (text: string): Effect.Effect<void> => print(wrapLines(text, tableColumns()))

/** Prints a message of one line to stdout. */
export const printLine = (text: string): Effect.Effect<void> => printText(escapeForTerminal(text))

/** Prints a message to stderr, escaped like the text of {@link print}. */
export const printError = (text: string) => Console.error(wrapLines(escapeLinesForTerminal(text), errorColumns()))

/** Prints the reason of a failure to stderr. Each line begins like the first, so no line looks like other output. */
export const printFailure = (message: string): Effect.Effect<void> => {
  const lines = wrapLines(escapeLinesForTerminal(message), errorColumns() - 5)
  return Console.error(lines.replaceAll(/^/gm, makePaint(process.stderr)("red", "a2c:") + " "))
}

/** Prints what a command waits for to stderr, in one line. A command to copy has its own line, which is not wrapped. */
export const printProgress = (message: string, command?: string): Effect.Effect<void> => {
  const text = wrapLines(`a2c: ${escapeForTerminal(message)}`, errorColumns())
  return Console.error(command === undefined ? text : `${text}\n  ${command}`)
}

/** True when a command line wants JSON; its errors are then also JSON. */
export const wantsJson = (args: ReadonlyArray<string>): boolean =>
  args.some((word) => word === "--json" || word === "--json=true")

/** Prints a failure to stderr: as text, or as one JSON object on one line. */
export const reportFailure = (
  { code = "failed", message, reason }: Pick<CommandFailed, "code" | "message" | "reason">,
  json: boolean
): Effect.Effect<void> =>
  json
    ? Console.error(escapeForTerminal(JSON.stringify({ error: { code, message, ...definedOnly({ reason }) } })))
    : printFailure(message)

/** Prints what is wrong with a command line to stderr, and where its help is. */
export const reportUsageErrors = (
  messages: ReadonlyArray<string>,
  commandPath: ReadonlyArray<string>,
  json: boolean
): Effect.Effect<void> => {
  const help = `${commandPath.join(" ")} --help`
  const message = messages.join("\n")
  return json
    ? reportFailure({ code: "usage", message }, true)
    : Effect.andThen(printFailure(message), printError(`See '${help}'.`))
}

/** Prints a value as JSON, indented unless `compact`. Escapes inside strings leave the value unchanged. */
export const printJson = (value: unknown, compact = false) => print(compact ? JSON.stringify(value) : formatJson(value))

/** Prints a result: `value` as JSON, else its text, unchanged with `--raw`. */
export const printResult = ({ json, raw = false }: OutputOptions, value: unknown, text: string): Effect.Effect<void> =>
  json ? printJson(value) : raw ? Console.log(text) : print(text)

/** Prints the result of a tool, `value` with `--json`; fails with exit code 2 when the tool failed. */
export const printToolResult = Effect.fnUntraced(function* (
  value: unknown,
  result: ToolResult,
  options: OutputOptions
) {
  const text = formatToolResult(result)
  if (options.json || !result.isError) yield* printResult(options, value, text)
  if (result.isError)
    return yield* new CommandFailed({ message: text || "The tool failed", exitCode: 2, code: "tool_failed" })
})

/** Runs an effect whose output passes a function. */
const mapOutput = <A, E, R>(effect: Effect.Effect<A, E, R>, change: (text: string) => string): Effect.Effect<A, E, R> =>
  Effect.flatMap(Console.Console, (console) => {
    const error = (text: unknown) => console.error(change(String(text)))
    const log = (text: unknown) => console.log(change(String(text)))
    return Effect.provideService(effect, Console.Console, { ...console, error, log })
  })

/** Runs an effect whose output clears the status line first. */
export const clearingStatusLine = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  mapOutput(effect, (text) => {
    statusLine.clear()
    return text
  })

/** Runs an effect, and gives what it would print to stdout. */
export const captureOutput = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<string, E, R> =>
  Effect.flatMap(Console.Console, (console) => {
    let printed = ""
    const log = (text: unknown) => void (printed += `${String(text)}\n`)
    const silent = { ...console, error: () => undefined, log }
    return Effect.map(Effect.provideService(effect, Console.Console, silent), () => printed)
  })

/** Formats help for the width and the colours of stdout. */
export const helpLayer = CliOutput.layer({
  ...CliOutput.defaultFormatter(),
  formatHelpDoc: (doc) => formatHelp(doc, textColumns(), makePaint(process.stdout))
})

/** Escapes a text except for its colours. Its foreign parts must be escaped. */
export const escapeAroundColours = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex -- the escape sequences of colours
    .split(/(\u001b\[[\d;]*m)/)
    .map((part, index) => (index % 2 === 0 ? escapeLinesForTerminal(part) : part))
    .join("")

/** Prints a table or lines whose foreign parts are escaped already: the colours stay. */
export const printTable = (text: string): Effect.Effect<void> => Console.log(escapeAroundColours(text))

/** Runs an effect that prints help. Colours stay, and quoted words of the command line are escaped. */
export const printHelp = (printing: Effect.Effect<void>) => mapOutput(printing, escapeAroundColours)
