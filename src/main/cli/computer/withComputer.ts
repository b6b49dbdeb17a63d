import { Context, Effect, Layer, Option } from "effect"
import { logAuthorizationRequest } from "../../../adapters/mcp/oauth/Authorizer.ts"
import * as CommandInput from "../../../adapters/process/CommandInput.ts"
import { makeInputPrompt, makeConsentPrompt } from "../../../adapters/terminal/prompts.ts"
import { makeConsent } from "../../../application/computer/calls/Consent.ts"
import { Inputs } from "../../../application/computer/inputs/Inputs.ts"
import { serversUsingInput } from "../../../domain/config/Setup.ts"
import type { ComputerConfig } from "../../../domain/config/computerConfig.ts"
import { readConfigFiles, formatDiagnostic } from "../../config/configFiles.ts"
import { watchConfig } from "../../config/watchConfig.ts"
import { unknownInputWarnings } from "../../config/unknownInputs.ts"
import { makeDpeResolver } from "./makeDpeResolver.ts"
import { CommandFailed } from "../CommandFailed.ts"
import type { TerminalIO } from "../TerminalIO.ts"
import { computerLayerRequiringInputs } from "../../layers/computerLayer.ts"
import { memberToken } from "../memberToken.ts"

/** A Computer as files and flags describe it. */
export interface ConfiguredComputerOptions {
  readonly server: string
  readonly tokenFile: Option.Option<string>
  readonly name: string
  readonly configFiles: ReadonlyArray<string>
  readonly inputs: { readonly [id: string]: string }
  readonly approve: ReadonlyArray<string>
  readonly watch: boolean
  readonly allWindows: boolean
  readonly dpe: Option.Option<string>
  readonly dpeUrl: Option.Option<string>
}

/** Reads the configuration, says what is odd about it, and fails when it cannot be used. */
const loadConfig = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const { diagnostics, setup, sources } = yield* readConfigFiles(files)
  const errors = diagnostics.filter(({ severity }) => severity === "error")
  const warnings = diagnostics.filter(({ severity }) => severity === "warning")
  yield* Effect.forEach(warnings, (warning) => Effect.logWarning(formatDiagnostic(warning)), {
    discard: true
  })
  return setup === undefined
    ? yield* new CommandFailed({ message: errors.map(formatDiagnostic).join("\na2c: ") })
    : { setup, sources }
})

/** Asks for every value that a server will need, one after the other, before any server starts. */
const promptForInputs = Effect.fnUntraced(function* (config: ComputerConfig) {
  const inputs = yield* Inputs
  for (const input of config.inputs) {
    const users = serversUsingInput(config, input.id).filter(
      (name) => config.servers[name]?.disabled === false
    )
    // Without a value the server itself says so.
    yield* Effect.forEach(users, (name) => Effect.ignore(inputs.resolve(input, name)), { discard: true })
  }
})

/** A Computer as the command line wants it, while `use` runs. */
export const withComputer = Effect.fnUntraced(function* <A, E, R>(
  options: ConfiguredComputerOptions,
  { dialogue }: TerminalIO,
  joinOptions: { readonly office?: string; readonly retryInitialConnect: boolean },
  use: Effect.Effect<A, E, R>
) {
  const {
    approve: autoApprove,
    configFiles: files,
    dpe,
    dpeUrl,
    inputs: values,
    name,
    server,
    tokenFile,
    watch
  } = options
  const { setup, sources } = yield* loadConfig(files)
  yield* Effect.forEach(unknownInputWarnings(setup.config, values), (warning) => Effect.logWarning(warning), {
    discard: true
  })
  if (Option.isSome(dpeUrl) && !Option.exists(dpe, (how) => how.startsWith("http"))) {
    yield* Effect.logWarning("--dpe-url means nothing without --dpe http")
  }
  const resolveDpe = Option.isSome(dpe)
    ? yield* makeDpeResolver(dpe.value, Option.getOrUndefined(dpeUrl))
    : undefined
  const confirm = yield* makeConsent({ autoApprove, prompt: dialogue && makeConsentPrompt(dialogue) })
  const runCommand = yield* CommandInput.make()
  const inputsLayer = Inputs.layer({
    values,
    runCommand,
    ...(dialogue && { prompt: makeInputPrompt(dialogue) })
  })
  const inputs = Context.get(yield* Layer.build(inputsLayer), Inputs)
  if (dialogue !== undefined) yield* Effect.provideService(promptForInputs(setup.config), Inputs, inputs)
  const computer = computerLayerRequiringInputs({
    ...joinOptions,
    ...setup,
    url: server,
    ...(yield* memberToken(tokenFile)),
    name,
    ...(dialogue && { authorize: logAuthorizationRequest }),
    settings: { confirm, resolveDpe, showUnsubscribable: options.allWindows }
  })
  const followFiles =
    files.length === 0 ? Effect.never : watchConfig({ files, setup, sources, isWatching: watch })
  return yield* Effect.andThen(Effect.forkScoped(followFiles), use).pipe(
    Effect.provide(computer),
    Effect.provideService(Inputs, inputs)
  )
})
