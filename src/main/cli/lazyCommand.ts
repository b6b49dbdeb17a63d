import { Effect, Record } from "effect"
import { Command } from "effect/cli"
import { DeclaredRules, describeRules, flagNames, type FlagRule, warnOfFlagsWithoutEffect } from "./flags/flagRules.ts"
import { FlagGroups } from "./output/help.ts"
import { warnOfLiteralSecrets } from "./flags/secretFlags.ts"
import { type CommandError, toCommandFailed } from "../CommandFailed.ts"

type Infer<C extends Command.Command.Config> = Command.Command.Config.Infer<C>

interface CommandDetails<Options, Name extends string> {
  readonly description: string
  readonly rules?: ReadonlyArray<FlagRule<Options, Name>>
  /** Titles of the help, with their flags. The other flags come first. */
  readonly groups?: { readonly [title: string]: ReadonlyArray<Name> }
  /** What command lines do, for the help. */
  readonly examples?: { readonly [commandLine: string]: string }
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
      }).pipe(Effect.scoped, Effect.mapError(toCommandFailed))
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
