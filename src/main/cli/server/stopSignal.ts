import { Deferred, Effect, Exit, type Scope } from "effect"

/** What a process ends with that a signal has ended, by convention. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

type StopSignal = keyof typeof exitCodes

const signals: ReadonlyArray<StopSignal> = ["SIGINT", "SIGTERM"]

/**
 * Takes the signals that ask a process to stop for as long as the scope, in place of whoever took them before: the first
 * one ends the effect that this gives, a second one the process, at once.
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
