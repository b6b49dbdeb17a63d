import { Effect } from "effect"

/** Handles a command by an implementation that is loaded when the command runs, not for its help. */
export const lazyHandler =
  <A, E, R>(load: () => Promise<(options: A) => Effect.Effect<void, E, R>>) =>
  (options: A): Effect.Effect<void, E, R> =>
    Effect.flatMap(Effect.promise(load), (run) => run(options))
