import { parseEnv } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, ConfigProvider, Effect, FileSystem, Layer, Runtime } from "effect"
import { CliError, CliOutput, Command } from "effect/cli"
import * as TerminalLog from "../../adapters/log/TerminalLog.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import { hangup } from "../config/hangup.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { cliConfigLayer } from "./completion/completionScripts.ts"
import { CommandLine } from "./flags/flagRules.ts"
import {
  clearingStatusLine,
  helpLayer,
  printHelp,
  reportFailure,
  reportUsageErrors,
  wantsJson
} from "./output/print.ts"
import { explainUnknownSubcommand, explainUsageErrors } from "./output/usageErrors.ts"
import { rootCommand } from "./root.ts"
import { definedOnly } from "../../domain/objects.ts"

/**
 * Reads settings of packs from `.env` in the working directory (seed 004, environment), and no others: other programs
 * use the same file. Environment variables win.
 */
const dotEnvLayer = ConfigProvider.layerAdd(
  Effect.gen(function* () {
    const { readFileString } = yield* FileSystem.FileSystem
    const text = yield* Effect.orElseSucceed(readFileString(".env"), () => "")
    const { AUTOMATA_API_KEY, HOST, PORT, TOOLS_DIR } = parseEnv(text)
    return ConfigProvider.fromEnv({ env: definedOnly({ AUTOMATA_API_KEY, HOST, PORT, TOOLS_DIR }) })
  })
)

/** The message of an error of stdout. A closed pipe is no error: `a2c … | head -1` succeeds. */
const stdoutErrorMessage = (failure: NodeJS.ErrnoException | null | undefined): string | undefined =>
  failure === null || failure === undefined || failure.code === "EPIPE" ? undefined : failure.message

/** The help was requested of a subcommand that does not exist, which the library does not take for an error. */
let isMisused = false

/** Exits as soon as stdout is flushed; idle HTTP connections would keep the process running for seconds. */
const exitAfterFlush: Runtime.Teardown = (exit) =>
  Runtime.defaultTeardown(exit, (exitCode) => {
    const code = exitCode === 0 && isMisused ? 1 : exitCode
    const { stderr, stdout } = process
    stdout.on("error", () => undefined)
    stdout.write("", (failure) => {
      const reason = stdoutErrorMessage(failure ?? stdout.errored)
      if (reason === undefined || code !== 0) return process.exit(code)
      stderr.write(`a2c: Cannot write the results: ${reason}\n`, () => process.exit(1))
    })
  })

/**
 * Ends when the reader of stdout closes it, as in `a2c agent watch | head -1`; the command then shuts down silently. A
 * closed stderr does not end a command.
 */
const stdoutClosed = Effect.callback<void>((resume) => {
  process.stderr.on("error", () => undefined)
  process.stdout.on("error", (failure) => {
    if (stdoutErrorMessage(failure) === undefined) resume(Effect.void)
  })
})

/** Names an invalid variable, which Effect reports as a flag with the value "config". */
const explainInvalidVariable = (error: CliError.NonShowHelpErrors): CliError.NonShowHelpErrors => {
  if (error._tag !== "InvalidValue" || error.value !== "config") return error
  const [, issue, variable] = /^SchemaError\((.*)\n {2}at \["(\w+)"\](?:\[\d+\])?\)$/su.exec(error.expected) ?? []
  return issue === undefined || variable === undefined
    ? error
    : new CliError.UserError({ cause: error, userMessage: `Invalid value of ${variable}. ${issue}` })
}

const args = process.argv.slice(2)
const json = wantsJson(args)

/** Prints the errors of an invalid command line to stderr, not its help: the error would scroll away. */
const presenterLayer = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag === "Version") return CliOutput.defaultPresenter.present(event)
    const usage = { ...event, args }
    const problems =
      event._tag === "Help"
        ? [explainUnknownSubcommand(usage) ?? []].flat()
        : explainUsageErrors(event.errors.map(explainInvalidVariable), usage, process.env)
    if (problems.length === 0) return printHelp(CliOutput.defaultPresenter.present(event))
    isMisused = true
    return reportUsageErrors(problems, event.commandPath, json)
  }
})

/** Logs a failure without an output of another kind: a defect. */
const reportDefect = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Cause.hasInterruptsOnly(cause) || !Runtime.getErrorReported(Cause.squash(cause))
    ? Effect.void
    : Effect.logError("command failed", cause)

/** The arguments with those of a configuration file; its parsers are loaded for a Server only. */
const expandedArguments = args.includes("server")
  ? Effect.flatMap(
      Effect.promise(() => import("./server/flagsFile.ts")),
      ({ expandServerConfig }) => expandServerConfig(args)
    )
  : Effect.succeed(args)

/** The hidden command of the completion scripts, or the command of the arguments. */
const command =
  args[0] === "__complete"
    ? Effect.flatMap(
        Effect.promise(() => import("./completion/printNames.ts")),
        ({ printNames }) => printNames(args.slice(1))
      )
    : Effect.flatMap(expandedArguments, (words) =>
        Effect.provideService(Command.runWith(rootCommand, { version: packageVersion })(words), CommandLine, words)
      )

command.pipe(
  Effect.tapErrorTag("CommandFailed", (failure) => reportFailure(failure, json)),
  Effect.raceFirst(stdoutClosed),
  Effect.raceFirst(Effect.andThen(hangup, new CommandFailed({ message: "hangup", exitCode: 129 }))),
  Effect.tapCause(reportDefect),
  clearingStatusLine,
  Effect.provide(
    Layer.mergeAll(TerminalLog.layer, cliConfigLayer, presenterLayer, helpLayer, dotEnvLayer).pipe(
      Layer.provideMerge(NodeServices.layer)
    )
  ),
  NodeRuntime.runMain({ teardown: exitAfterFlush, disableErrorReporting: true })
)
