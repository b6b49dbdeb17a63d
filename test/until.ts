import { Effect } from "effect"

/** Waits until the condition holds, in real time, also where time is virtual. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    condition()
      ? Effect.void
      : Effect.andThen(
          Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 1))),
          until(condition)
        )
  )
