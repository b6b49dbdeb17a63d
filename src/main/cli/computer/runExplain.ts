import { Effect } from "effect"
import { Computer } from "../../../application/computer/Computer.ts"
import { isOffered } from "../../../application/computer/servers/ServersSnapshot.ts"
import { readWholeArguments } from "../arguments/argumentSource.ts"
import { failCommand } from "../../CommandFailed.ts"
import { formatExplanation } from "../output/explanation.ts"
import { print, printJson } from "../output/print.ts"
import { makeTerminalIO } from "../TerminalIO.ts"
import { awaitServersStarted } from "../awaitServersStarted.ts"
import type { ExplainCommandOptions } from "./flags.ts"
import { withComputer } from "./withComputer.ts"
import { formatSome } from "../../../domain/errorMessage.ts"

/** Starts the servers without an office, and prints how a call would be decided. */
export const runExplain = Effect.fnUntraced(function* (options: ExplainCommandOptions) {
  const { args, configFiles, json, office, protocol, subject, tool } = options
  if (tool === undefined) return yield* failCommand("--tool NAME is required")
  if (configFiles.length === 0) return yield* failCommand("--config FILE is required")
  const params = yield* readWholeArguments(args)
  const explain = Effect.gen(function* () {
    yield* awaitServersStarted
    const { catalogue, explain: explainCall, servers } = yield* Computer
    const explanation = yield* explainCall({
      tool,
      params,
      subject,
      office,
      line: protocol === "auto" ? undefined : protocol
    })
    if (explanation !== undefined) return explanation
    const names = [...(yield* catalogue).entries.keys()]
    const missing = [...(yield* servers)].filter(([, state]) => !isOffered(state))
    const others = names.length === 0 ? "" : `; there are ${formatSome(names)}`
    const reasons = missing.map(([name, { _tag }]) => `\nThe MCP server ${name} is not ready: ${_tag}`)
    return yield* failCommand(`No tool '${tool}' is here${others}${reasons.join("")}`)
  })
  const terminal = yield* makeTerminalIO
  const explanation = yield* withComputer({ ...options, watch: false }, terminal, {}, explain)
  yield* json ? printJson(explanation) : print(formatExplanation(explanation))
})
