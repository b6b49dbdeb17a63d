import { Effect } from "effect"
import { Command } from "effect/cli"
import { warnOfLiteralSecrets } from "./flags/secretFlags.ts"
import { type CommandError, toCommandFailed } from "./CommandFailed.ts"

/** Makes a command whose implementation is loaded when it runs, not for its help. Every error becomes a message. */
export const lazyCommand = <
  const Name extends string,
  const C extends Command.Command.Config,
  E extends CommandError,
  R
>(
  name: Name,
  config: C,
  load: () => Promise<(options: Command.Command.Config.Infer<C>) => Effect.Effect<void, E, R>>
) =>
  Command.make(name, config, (options) =>
    Effect.andThen(
      warnOfLiteralSecrets(options),
      Effect.flatMap(Effect.promise(load), (run) => run(options))
    ).pipe(Effect.scoped, Effect.mapError(toCommandFailed))
  )
