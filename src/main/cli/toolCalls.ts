import { Console, Effect } from "effect"
import { isJsonObject, type JsonObject, parseJson } from "../../domain/json.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { CommandFailed, failCommand } from "./CommandFailed.ts"
import { formatJson, formatToolResult } from "./output.ts"

/** Exit code when the tool itself fails. */
const toolFailedExitCode = 2

/** Parses the value of `--args`. */
export const parseToolArguments = (text: string): Effect.Effect<JsonObject, CommandFailed> => {
  const value = parseJson(text)
  if (isJsonObject(value)) return Effect.succeed(value)
  return failCommand(value === undefined ? "--args is not JSON" : "--args must be a JSON object")
}

/** Prints the result of a tool, `raw` with `json`; fails with exit code 2 when the tool failed. */
export const printToolResult = Effect.fnUntraced(function* (
  raw: unknown,
  result: ToolResult,
  { json }: { readonly json: boolean }
) {
  const text = formatToolResult(result)
  if (json) yield* Console.log(formatJson(raw))
  else if (!result.isError) yield* Console.log(text)
  if (result.isError) {
    return yield* new CommandFailed({ message: text || "The tool failed", exitCode: toolFailedExitCode })
  }
})
