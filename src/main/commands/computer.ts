import { Context, Effect, Layer, Option } from "effect"
import { sayOnLog } from "../../adapters/mcp/Authorizer.ts"
import * as CommandInput from "../../adapters/node/CommandInput.ts"
import { askAt, decideAt } from "../../adapters/node/TerminalPrompt.ts"
import { Computer } from "../../application/computer/Computer.ts"
import { makeConsent } from "../../application/computer/Consent.ts"
import { Inputs } from "../../application/computer/Inputs.ts"
import { usersOf } from "../../domain/config/setup.ts"
import type { ComputerConfig } from "../../domain/protocol/v0_2/config.ts"
import { readConfigFiles, spellFinding } from "../config/files.ts"
import { followConfig } from "../config/follow.ts"
import { strayInputs } from "../config/strayInputs.ts"
import { documentResolver } from "../documents.ts"
import { CommandFailed, failed, untilEnded } from "../failure.ts"
import { type Front, quietFront, shellFront } from "../front.ts"
import { computerOn } from "../layers.ts"
import { runCommands, runShell } from "../shell/Shell.ts"

/** What the command line says about a Computer. */
export interface ComputerCommand {
  readonly server: string
  readonly office: Option.Option<string>
  readonly name: string
  readonly config: ReadonlyArray<string>
  readonly input: { readonly [id: string]: string }
  readonly approve: ReadonlyArray<string>
  readonly watch: boolean
  readonly allWindows: boolean
  readonly dpe: Option.Option<string>
  readonly dpeUrl: Option.Option<string>
  readonly interactive: boolean
  readonly run: ReadonlyArray<string>
}

/** Reads the configuration, says what is odd about it, and fails when it cannot be used. */
const loadConfig = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const { findings, setup, sources } = yield* readConfigFiles(files)
  const errors = findings.filter(({ severity }) => severity === "error")
  const warnings = findings.filter(({ severity }) => severity === "warning")
  yield* Effect.forEach(warnings, (warning) => Effect.logWarning(spellFinding(warning)), { discard: true })
  return setup === undefined
    ? yield* new CommandFailed({ message: errors.map(spellFinding).join("\na2c: ") })
    : { setup, sources }
})

/** Asks for every value that a server will need, one after the other, before any server starts. */
const askAhead = Effect.fnUntraced(function* (config: ComputerConfig) {
  const inputs = yield* Inputs
  for (const input of config.inputs) {
    const users = usersOf(config, input.id).filter((name) => config.servers[name]?.disabled === false)
    // Without a value the server itself says so.
    yield* Effect.forEach(users, (name) => Effect.ignore(inputs.resolve(input, name)), { discard: true })
  }
})

/** A Computer as the command line wants it, while `use` runs. */
const withComputer = Effect.fnUntraced(function* <A, E, R>(
  command: ComputerCommand,
  { dialogue }: Front,
  join: { readonly office?: string; readonly patient: boolean },
  use: Effect.Effect<A, E, R>
) {
  const { approve, config: files, dpe, dpeUrl, input: given, name, server, watch } = command
  const { setup, sources } = yield* loadConfig(files)
  yield* Effect.forEach(strayInputs(setup.config, given), (stray) => Effect.logWarning(stray), {
    discard: true
  })
  if (Option.isSome(dpeUrl) && !Option.exists(dpe, (how) => how.startsWith("http"))) {
    yield* Effect.logWarning("--dpe-url means nothing without --dpe http")
  }
  const resolveDpe = Option.isSome(dpe)
    ? yield* documentResolver(dpe.value, Option.getOrUndefined(dpeUrl))
    : undefined
  const confirm = yield* makeConsent({ approve, decide: dialogue && decideAt(dialogue) })
  const run = yield* CommandInput.make()
  const answers = Inputs.layer({ given, run, ...(dialogue && { ask: askAt(dialogue) }) })
  const inputs = Context.get(yield* Layer.build(answers), Inputs)
  if (dialogue !== undefined) yield* Effect.provideService(askAhead(setup.config), Inputs, inputs)
  const computer = computerOn({
    ...join,
    ...setup,
    url: server,
    name,
    ...(dialogue && { authorize: sayOnLog }),
    settings: { confirm, resolveDpe, showUnwatched: command.allWindows }
  })
  const follow =
    files.length === 0 ? Effect.never : followConfig({ files, setup, sources, isWatching: watch })
  return yield* Effect.andThen(Effect.forkScoped(follow), use).pipe(
    Effect.provide(computer),
    Effect.provideService(Inputs, inputs)
  )
})

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
