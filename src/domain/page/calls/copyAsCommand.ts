import { escapeNonAscii, type JsonObject } from "../../json.ts"
import { quoteForShell } from "../../text/quoteForShell.ts"
import type { PageCall } from "../PageEvent.ts"

/** A flag with its value in one word where the value looks like a flag. */
const flagWords = (flag: string, value: string): ReadonlyArray<string> =>
  value.startsWith("-") ? [`${flag}=${value}`] : [flag, value]

/**
 * Formats the command that makes a call again. Without `params` the arguments are missing: the Server did not capture
 * them.
 */
export const copyAsCommand = (
  { computer, line, office, tool = "" }: Pick<PageCall, "computer" | "line" | "office" | "tool">,
  params?: JsonObject
): string => {
  const positional = [tool, ...(params === undefined ? [] : [escapeNonAscii(JSON.stringify(params))])]
  const words = [
    "a2c",
    "agent",
    ...flagWords("--office", office),
    ...flagWords("--protocol", line),
    "call",
    ...(tool.startsWith("-")
      ? [...flagWords("--computer", computer), "--", ...positional]
      : [positional[0] ?? "", ...flagWords("--computer", computer), ...positional.slice(1)])
  ]
  return words.map(quoteForShell).join(" ")
}
