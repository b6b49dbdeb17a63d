import { isatty } from "node:tty"
import { Effect, Queue, Stream } from "effect"

/** SIGHUP means that the terminal is gone. Found out at the start: a hung-up terminal is no terminal any more. */
export const hasTerminal = [0, 1, 2].some(isatty)

/** True once the signal does not end the command. It stays true while the command ends: the signal may arrive late. */
let isSurvived = false

/** Without a terminal, SIGHUP does not end this command, even if no file can be reloaded. */
export const surviveHangup = Effect.sync(() => void (isSurvived = true))

/** Requests to reload files: SIGHUP in a process without a terminal. */
export const reloadRequests: Stream.Stream<"SIGHUP"> = hasTerminal
  ? Stream.never
  : Stream.callback((queue) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const offer = () => void Queue.offerUnsafe(queue, "SIGHUP")
          process.on("SIGHUP", offer)
          isSurvived = true
          return offer
        }),
        (offer) => Effect.sync(() => process.off("SIGHUP", offer))
      )
    )

/** Ends with a SIGHUP that ends the process: with a terminal, or when the command has nothing to reload. */
export const hangup = Effect.callback<void>((resume) => {
  // Never removed: a shell and the system may both send the signal, and the second one must not kill the process.
  process.on("SIGHUP", () => {
    if (hasTerminal || !isSurvived) resume(Effect.void)
  })
})
