import { Effect, Redacted } from "effect"
import { releaseUnusedMemory } from "../../../adapters/process/gcTuning.ts"
import { Computer } from "../../../application/computer/Computer.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { isPrivate } from "../repl/replCommands.ts"
import { runCommands, runRepl } from "../repl/runRepl.ts"
import { explainJoinRejection } from "../office/joinRejections.ts"
import { failCommand, failUnknownTool, untilMembershipEnds } from "../../CommandFailed.ts"
import { warnOfLiteralSecrets } from "../flags/secretFlags.ts"
import { makeReplTerminalIO, makeTerminalIO, type TerminalIO } from "../TerminalIO.ts"
import type { ComputerCommandOptions, ExplainCommandOptions } from "./flags.ts"
import { awaitServersStarted } from "../awaitServersStarted.ts"
import { withComputer } from "./withComputer.ts"
import { isOffered } from "../../../application/computer/servers/ServersSnapshot.ts"
import { readArguments, toCallParams } from "../arguments/argumentSource.ts"
import { formatExplanation } from "../output/format.ts"
import { print, printJson } from "../output/print.ts"

/** Joins the office, prints that to stdout, and stays until the membership ends. */
const stayJoined = (options: ComputerCommandOptions, terminal: TerminalIO, office: string) => {
  const use = Effect.gen(function* () {
    const { status } = yield* Computer
    yield* terminal.print(`joined office ${office} as ${options.name}`)
    yield* Effect.forkScoped(Effect.andThen(awaitServersStarted, Effect.sync(releaseUnusedMemory)))
    return yield* untilMembershipEnds(status)
  })
  return withComputer(options, terminal, { office, retryInitialConnect: true }, use)
}

/** Joins beside the running shell: commands need not wait for the Server. */
const joinInBackground = Effect.fnUntraced(function* (office: string, options: ComputerCommandOptions) {
  const { join } = yield* Computer
  const joining = join({ office, retryInitialConnect: true })
  yield* Effect.catch(explainJoinRejection("computer", options)(joining), ({ message }) =>
    Effect.logError("joining the office failed", { office, reason: message })
  )
})

const runInteractive = Effect.fnUntraced(function* (options: ComputerCommandOptions) {
  const { name, office } = options
  const { reader, ...terminal } = yield* makeReplTerminalIO
  const repl = runRepl({ name, reader })
  const use = office === undefined ? repl : Effect.andThen(Effect.forkScoped(joinInBackground(office, options)), repl)
  yield* withComputer(options, terminal, {}, use)
})

/** Runs a Computer until it is stopped, as a shell, or for a list of commands. */
export const runComputerCommand = Effect.fnUntraced(function* (options: ComputerCommandOptions) {
  const { configFiles, interactive, office, run } = options
  if (interactive && run.length > 0) return yield* failCommand("Give --interactive or --run, not both")
  if (interactive) return yield* runInteractive(options)
  const terminal = yield* makeTerminalIO
  if (run.some(isPrivate)) yield* warnOfLiteralSecrets({ run: Redacted.make(run, { label: "--run" }) })
  if (run.length > 0) return yield* withComputer(options, terminal, definedOnly({ office }), runCommands(run))
  if (configFiles.length === 0) return yield* failCommand("--config FILE is required")
  if (office === undefined) return yield* failCommand("--office ID or A2C_OFFICE is required")
  return yield* stayJoined(options, terminal, office)
})

/** Starts the servers without an office, and prints how a call would be decided. */
export const runExplain = Effect.fnUntraced(function* (options: ExplainCommandOptions) {
  const { args, configFiles, json, office, protocol, subject, tool, words } = options
  if (tool === undefined) return yield* failCommand("--tool NAME is required")
  if (configFiles.length === 0) return yield* failCommand("--config FILE is required")
  const given = yield* readArguments(words, args)
  const explain = Effect.gen(function* () {
    yield* awaitServersStarted
    const { catalogue, explain: explainCall, servers } = yield* Computer
    const { paramsSchema: schema = {} } = (yield* catalogue).entries.get(tool)?.tool ?? {}
    const params = yield* toCallParams(given, { schema, subject: `The tool '${tool}'` })
    const line = protocol === "auto" ? undefined : protocol
    const explanation = yield* explainCall({ tool, params, subject, office, line })
    if (explanation !== undefined) return explanation
    const names = [...(yield* catalogue).entries.keys()]
    const missing = [...(yield* servers)].filter(([, state]) => !isOffered(state))
    const waiting = missing.map(([name, { _tag }]) => `; the MCP server ${name} is not ready: ${_tag}`)
    const reasons = [...waiting, `; 'a2c computer check ${configFiles.join(" ")}' may tell more`]
    return yield* failUnknownTool(tool, "at this Computer", names, missing.length === 0 ? "" : reasons.join(""))
  })
  const terminal = yield* makeTerminalIO
  const explanation = yield* withComputer({ ...options, watch: false }, terminal, {}, explain)
  yield* json ? printJson(explanation) : print(formatExplanation(explanation))
})
