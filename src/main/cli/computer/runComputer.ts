import { Effect, Option } from "effect"
import { Computer } from "../../../application/computer/Computer.ts"
import { CommandFailed, toCommandFailed, untilMembershipEnds } from "../CommandFailed.ts"
import { type TerminalIO, makeTerminalIO, makeReplTerminalIO } from "../TerminalIO.ts"
import { runCommands, runRepl } from "../../repl/runRepl.ts"
import { type ConfiguredComputerOptions, withComputer } from "./withComputer.ts"

/** What the command line says about a Computer. */
export interface ComputerCommandOptions extends ConfiguredComputerOptions {
  readonly office: Option.Option<string>
  readonly interactive: boolean
  readonly run: ReadonlyArray<string>
}

/** Stays until told to stop; says on stdout when it has joined. */
const stayJoined = Effect.fnUntraced(function* (
  options: ComputerCommandOptions,
  terminal: TerminalIO,
  office: string
) {
  const untilMemberEnds = Effect.gen(function* () {
    const { status } = yield* Computer
    yield* terminal.print(`joined office ${office} as ${options.name}`)
    return yield* untilMembershipEnds(status)
  })
  return yield* withComputer(options, terminal, { office, retryInitialConnect: true }, untilMemberEnds)
})

/** Runs commands, then stops. */
const runBatch = (options: ComputerCommandOptions, terminal: TerminalIO) => {
  const office = Option.getOrUndefined(options.office)
  const join = { ...(office !== undefined && { office }), retryInitialConnect: false }
  return withComputer(options, terminal, join, runCommands(options.run))
}

/** Joins while the shell runs already: somebody who types need not wait for the Server. */
const joinInBackground = Effect.fnUntraced(function* (office: string) {
  const { join } = yield* Computer
  yield* Effect.catch(join({ office, retryInitialConnect: true }), ({ message }) =>
    Effect.logError("cannot join the office", { office, reason: message })
  )
})

const runInteractive = Effect.fnUntraced(function* (options: ComputerCommandOptions) {
  const { reader, ...terminal } = yield* makeReplTerminalIO
  const shell = runRepl({ name: options.name, reader })
  const use = Option.match(options.office, {
    onNone: () => shell,
    onSome: (office) => Effect.andThen(Effect.forkScoped(joinInBackground(office)), shell)
  })
  yield* Effect.provide(withComputer(options, terminal, { retryInitialConnect: false }, use), terminal.log)
})

/** Runs a Computer: until it is told to stop, as a shell, or for some commands. */
export const runComputer = Effect.fnUntraced(
  function* (options: ComputerCommandOptions) {
    const { configFiles, interactive, office, run } = options
    if (interactive && run.length > 0) {
      return yield* new CommandFailed({ message: "Give --interactive or --run, not both" })
    }
    if (interactive) return yield* runInteractive(options)
    const terminal = yield* makeTerminalIO
    if (run.length > 0) return yield* Effect.provide(runBatch(options, terminal), terminal.log)
    if (configFiles.length === 0)
      return yield* new CommandFailed({ message: "Which MCP servers? Give --config FILE" })
    if (Option.isNone(office)) {
      return yield* new CommandFailed({ message: "Which office? Give --office ID or set A2C_OFFICE" })
    }
    return yield* Effect.provide(stayJoined(options, terminal, office.value), terminal.log)
  },
  Effect.scoped,
  Effect.mapError(toCommandFailed)
)
