import { Duration, Effect } from "effect"
import { stringOrEmpty } from "../../../domain/json.ts"
import { parseAnnotations } from "../../../domain/tools/toolAnnotations.ts"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { describeParameters, exampleArguments } from "../../../domain/schemas/describeSchema.ts"
import { formatColumns } from "../output/format.ts"
import { printResult } from "../output/print.ts"
import { quoteForShell } from "../../../domain/text/quoteForShell.ts"
import { runAsAgent } from "./actions.ts"
import { findTool, type FoundTool } from "./findTool.ts"
import type { ToolOptions } from "./flags.ts"

const formatTool = ({ computer, tool }: FoundTool, { office }: ToolOptions): string => {
  const { description, meta, name, paramsSchema, returnSchema } = tool
  const title = stringOrEmpty(parseAnnotations(meta)?.["title"])
  const parameters = describeParameters(paramsSchema)
  const results = returnSchema === null ? [] : describeParameters(returnSchema)
  const example = ["a2c", "agent", "--office", office, "call", name, ...exampleArguments(paramsSchema)]
  return [
    formatColumns([["name", name], ["computer", computer], ...(title === "" ? [] : [["title", title]])]),
    ...(description === "" ? [] : [description.trim()]),
    parameters.length === 0
      ? "no parameters"
      : formatColumns([["PARAMETER", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"], ...parameters]),
    ...(results.length === 0
      ? []
      : [formatColumns([["RESULT", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"], ...results])]),
    `example:\n  ${escapeForTerminal(example.map(quoteForShell).join(" "))}`
  ].join("\n\n")
}

/** Prints one tool: name, Computer, description, parameters and an example call. */
export const showTool = Effect.fnUntraced(function* (options: ToolOptions) {
  const found = yield* findTool({
    name: options.tool,
    computer: options.computer,
    timeout: Duration.seconds(options.timeout),
    awaitsServers: false
  })
  yield* printResult(options, { computer: found.computer, ...found.tool }, formatTool(found, options))
}, runAsAgent)
