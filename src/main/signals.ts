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
      const told = Deferred.makeUnsafe<StopSignal>()
      const hear = (signal: StopSignal) => {
        if (!Deferred.doneUnsafe(told, Exit.succeed(signal))) process.exit(exitCodes[signal])
      }
      const others = signals.map((signal) => {
        const listeners = process.listeners(signal)
        process.removeAllListeners(signal)
        process.on(signal, hear)
        return { signal, listeners }
      })
      return { told, hear, others }
    }),
    ({ hear, others }) =>
      Effect.sync(() => {
        for (const { listeners, signal } of others) {
          process.off(signal, hear)
          for (const listener of listeners) process.on(signal, listener)
        }
      })
  ),
  ({ told }) => Deferred.await(told)
)
