import { Effect, Option } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { CommandFailed, failed, untilEnded } from "../failure.ts"
import { type Front, quietFront, shellFront } from "../front.ts"
import { runCommands, runShell } from "../shell/Shell.ts"
import { type ConfiguredComputer, withComputer } from "./configuredComputer.ts"

/** What the command line says about a Computer. */
export interface ComputerCommand extends ConfiguredComputer {
  readonly office: Option.Option<string>
  readonly interactive: boolean
  readonly run: ReadonlyArray<string>
}

/** Stays until told to stop; says on stdout when it has joined. */
const stay = Effect.fnUntraced(function* (command: ComputerCommand, front: Front, office: string) {
  const staying = Effect.gen(function* () {
    const { status } = yield* Computer
    yield* front.say(`joined office ${office} as ${command.name}`)
    return yield* untilEnded(status)
  })
  return yield* withComputer(command, front, { office, patient: true }, staying)
})

/** Runs commands, then stops. */
const runOnce = (command: ComputerCommand, front: Front) => {
  const office = Option.getOrUndefined(command.office)
  const join = { ...(office !== undefined && { office }), patient: false }
  return withComputer(command, front, join, runCommands(command.run))
}

/** Joins while the shell runs already: somebody who types need not wait for the Server. */
const joinMeanwhile = Effect.fnUntraced(function* (office: string) {
  const { join } = yield* Computer
  yield* Effect.catch(join({ office, patient: true }), ({ message }) =>
    Effect.logError("cannot join the office", { office, reason: message })
  )
})

const interact = Effect.fnUntraced(function* (command: ComputerCommand) {
  const { reader, ...front } = yield* shellFront
  const shell = runShell({ name: command.name, reader })
  const use = Option.match(command.office, {
    onNone: () => shell,
    onSome: (office) => Effect.andThen(Effect.forkScoped(joinMeanwhile(office)), shell)
  })
  yield* Effect.provide(withComputer(command, front, { patient: false }, use), front.log)
})

/** Runs a Computer: until it is told to stop, as a shell, or for some commands. */
export const runComputer = Effect.fnUntraced(
  function* (command: ComputerCommand) {
    const { config, interactive, office, run } = command
    if (interactive && run.length > 0) {
      return yield* new CommandFailed({ message: "Give --interactive or --run, not both" })
    }
    if (interactive) return yield* interact(command)
    const front = yield* quietFront
    if (run.length > 0) return yield* Effect.provide(runOnce(command, front), front.log)
    if (config.length === 0)
      return yield* new CommandFailed({ message: "Which MCP servers? Give --config FILE" })
    if (Option.isNone(office)) {
      return yield* new CommandFailed({ message: "Which office? Give --office ID or set A2C_OFFICE" })
    }
    return yield* Effect.provide(stay(command, front, office.value), front.log)
  },
  Effect.scoped,
  Effect.mapError(failed)
)
