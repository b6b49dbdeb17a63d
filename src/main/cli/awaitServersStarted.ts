import { Effect, Stream } from "effect"
import { Computer } from "../../application/computer/Computer.ts"

/** Waits until every server runs or its first attempt has failed: what follows then finds the configured servers. */
export const awaitServersStarted = Computer.use(({ changes }) =>
  changes.pipe(
    Stream.filter((states) => [...states.values()].every((state) => state._tag !== "Starting" || state.attempt > 1)),
    Stream.runHead,
    Effect.asVoid
  )
)
