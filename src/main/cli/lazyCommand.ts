import { Effect, Record } from "effect"
import { Command } from "effect/cli"
import {
  DeclaredRules,
  describeFlag,
  describeRules,
  flagNames,
  type FlagRule,
  warnOfFlagsWithoutEffect
} from "./flags/flagRules.ts"
import { FlagGroups } from "./output/help.ts"
import { warnOfLiteralSecrets } from "./flags/secretFlags.ts"
import { type CommandError, CommandFailed, toCommandFailed } from "../CommandFailed.ts"

type Infer<C extends Command.Command.Config> = Command.Command.Config.Infer<C>

interface CommandDetails<Options, Name extends string> {
  readonly description: string
  readonly rules?: ReadonlyArray<FlagRule<Options, Name>>
  /** Titles of the help, with their flags. The other flags come first. */
  readonly groups?: { readonly [title: string]: ReadonlyArray<Name> }
  /** What command lines do, for the help. */
  readonly examples?: { readonly [commandLine: string]: string }
}

/** Says by which flag and variable to choose a port that is in use, when one of the options is that port. */
const explainPort = (config: Command.Command.Config, options: object, failure: CommandFailed): CommandFailed => {
  const port = /:(\d+): the address is in use$/.exec(failure.message)?.[1]
  const given = Object.entries(options).find(
    ([, value]) => port !== undefined && `:${String(value)}`.endsWith(`:${port}`)
  )
  const { name, variable } = describeFlag(config[given?.[0] ?? ""]) ?? {}
  if (name === undefined) return failure
  const choice = [`--${name}`, variable].filter(Boolean).join(" or ")
  return new CommandFailed({
    ...failure,
    message: `${failure.message}; choose another by ${choice}, or 0 for a free one`
  })
}

/** Makes a constructor of commands like {@link lazyCommand}, whose implementations also get the shared options. */
export const makeLazyCommand =
  <Shared extends object, RS>(shared: Effect.Effect<Shared, never, RS>) =>
  <const Name extends string, const C extends Command.Command.Config, E extends CommandError, R>(
    name: Name,
    config: C,
    load: () => Promise<(options: Shared & Infer<C>) => Effect.Effect<void, E, R>>,
    { description, examples = {}, groups = {}, rules = [] }: CommandDetails<Shared & Infer<C>, keyof C & string>
  ) =>
    Command.make(name, describeRules(config, rules), (own) =>
      Effect.gen(function* () {
        const options = Object.assign({}, yield* shared, own)
        yield* warnOfLiteralSecrets(options)
        yield* warnOfFlagsWithoutEffect(config, rules, options)
        const run = yield* Effect.promise(load)
        yield* run(options)
      }).pipe(
        Effect.scoped,
        Effect.mapError((error) => explainPort(config, Object.assign({}, own), toCommandFailed(error)))
      )
    ).pipe(
      Command.annotate(DeclaredRules, { config, rules }),
      Command.annotate(
        FlagGroups,
        Record.map(groups, (names) => names.flatMap((name) => flagNames(config[name])))
      ),
      Command.withDescription(description),
      Command.withExamples(Object.entries(examples).map(([command, what]) => ({ command, description: what })))
    )

/**
 * Makes a command whose implementation is loaded when it runs, not for its help. Every error becomes a message. It warns of
 * flags that have no effect by the rules.
 */
export const lazyCommand = makeLazyCommand(Effect.succeed({}))
