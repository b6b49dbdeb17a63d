import { Deferred, Effect, Exit, type Scope } from "effect"

/** Exit codes of a process that a signal ends, by convention. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

type StopSignal = keyof typeof exitCodes

const signals: ReadonlyArray<StopSignal> = ["SIGINT", "SIGTERM"]

/**
 * Handles SIGINT and SIGTERM in place of the previous listeners, for as long as the scope. The effect that it gives
 * ends with the first signal. A second signal ends the process at once.
 */
export const stopSignal: Effect.Effect<Effect.Effect<StopSignal>, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const received = Deferred.makeUnsafe<StopSignal>()
      const onSignal = (signal: StopSignal) => {
        if (!Deferred.doneUnsafe(received, Exit.succeed(signal))) process.exit(exitCodes[signal])
      }
      const replaced = signals.map((signal) => {
        const listeners = process.listeners(signal)
        process.removeAllListeners(signal)
        process.on(signal, onSignal)
        return { signal, listeners }
      })
      return { received, onSignal, replaced }
    }),
    ({ onSignal, replaced }) =>
      Effect.sync(() => {
        for (const { listeners, signal } of replaced) {
          process.off(signal, onSignal)
          for (const listener of listeners) process.on(signal, listener)
        }
      })
  ),
  ({ received }) => Deferred.await(received)
)
