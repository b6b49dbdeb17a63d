import { Context, Effect, Layer, Option } from "effect"
import { sayOnLog } from "../../adapters/mcp/Authorizer.ts"
import * as CommandInput from "../../adapters/node/CommandInput.ts"
import { askAt, decideAt } from "../../adapters/node/TerminalPrompt.ts"
import { makeConsent } from "../../application/computer/Consent.ts"
import { Inputs } from "../../application/computer/Inputs.ts"
import { usersOf } from "../../domain/config/setup.ts"
import type { ComputerConfig } from "../../domain/protocol/v0_2/config.ts"
import { readConfigFiles, spellFinding } from "../config/files.ts"
import { followConfig } from "../config/follow.ts"
import { strayInputs } from "../config/strayInputs.ts"
import { documentResolver } from "../documents.ts"
import { CommandFailed } from "../failure.ts"
import type { Front } from "../front.ts"
import { computerOn } from "../layers.ts"
import { memberToken } from "./memberToken.ts"

/** A Computer as files and flags describe it. */
export interface ConfiguredComputer {
  readonly server: string
  readonly tokenFile: Option.Option<string>
  readonly name: string
  readonly config: ReadonlyArray<string>
  readonly input: { readonly [id: string]: string }
  readonly approve: ReadonlyArray<string>
  readonly watch: boolean
  readonly allWindows: boolean
  readonly dpe: Option.Option<string>
  readonly dpeUrl: Option.Option<string>
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
export const withComputer = Effect.fnUntraced(function* <A, E, R>(
  command: ConfiguredComputer,
  { dialogue }: Front,
  join: { readonly office?: string; readonly patient: boolean },
  use: Effect.Effect<A, E, R>
) {
  const { approve, config: files, dpe, dpeUrl, input: given, name, server, tokenFile, watch } = command
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
    ...(yield* memberToken(tokenFile)),
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
