import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect } from "effect"

/** Exit codes; 130 after a signal. */
export const exitCodes = {
  fine: 0,
  /** A guarantee was violated. */
  wrong: 1,
  /** The command line is invalid. */
  usage: 2,
  /** No result: the command could not run, took too long, or has too few samples. */
  notJudged: 3
} as const

/** Writes progress to stderr with the seconds since the start. */
export const reporter = (): ((line: string) => void) => {
  const begun = performance.now()
  return (line) => {
    const seconds = ((performance.now() - begun) / 1000).toFixed(1).padStart(7)
    process.stderr.write(`${seconds} s  ${line}\n`)
  }
}

/** The message of an error, without the stack. */
export const messageOf = (cause: Cause.Cause<unknown>): string =>
  Cause.prettyErrors(cause)
    .map(({ message }) => message)
    .join("\n")

/** Seconds for an orderly end before the process exits. */
const grace = 30

/** Dies at a timeout; exits when the effect cannot be interrupted. */
export const within = <A, E, R>(seconds: number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const reason = `timed out after ${seconds} s`
  const giveUp = () => {
    process.stderr.write(`${reason}, and cannot be stopped\n`)
    process.exit(exitCodes.notJudged)
  }
  const late = Effect.suspend(() => Effect.die(new Error(reason)))
  return Effect.acquireUseRelease(
    Effect.sync(() => setTimeout(giveUp, (seconds + grace) * 1000)),
    () => Effect.timeoutOrElse(effect, { duration: `${seconds} seconds`, orElse: () => late }),
    (timer) => Effect.sync(() => clearTimeout(timer))
  )
}

/** Runs a command. A signal, or a hung-up terminal, stops it with everything that it started. */
export const runCommand = (program: Effect.Effect<void>): void => {
  process.once("SIGHUP", () => process.kill(process.pid, "SIGTERM"))
  NodeRuntime.runMain(program)
}
