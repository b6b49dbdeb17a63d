import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect } from "effect"

/** What commands end with; 130 where a signal has ended them. */
export const exitCodes = {
  fine: 0,
  /** Something that is promised does not hold. */
  wrong: 1,
  /** The command was not understood. */
  usage: 2,
  /** Nothing can be said: it could not run, took too long, or has seen too little. */
  notJudged: 3
} as const

/** Reads options; ends the process with the reason when they are wrong. */
export const usageOr = <Options>(read: () => Options): Effect.Effect<Options> =>
  Effect.sync(() => {
    try {
      return read()
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nSee --help.\n`)
      return process.exit(exitCodes.usage)
    }
  })

/** Writes progress to stderr, each line with the seconds since the beginning. */
export const reporter = (): ((line: string) => void) => {
  const begun = performance.now()
  return (line) => {
    const seconds = ((performance.now() - begun) / 1000).toFixed(1).padStart(7)
    process.stderr.write(`${seconds} s  ${line}\n`)
  }
}

/** Why something failed, without where. */
export const messageOf = (cause: Cause.Cause<unknown>): string =>
  Cause.prettyErrors(cause)
    .map(({ message }) => message)
    .join("\n")

/** Seconds that are given to the end of something before the process ends with it. */
const grace = 30

/** Dies when something takes longer than so many seconds; when it does not even stop then, the process ends. */
export const within = <A, E, R>(seconds: number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const reason = `it did not come to an end within ${seconds} s`
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

/** Runs a command to its end. A terminal that goes away stops it like the other signals, with all that it has begun. */
export const runCommand = (program: Effect.Effect<void>): void => {
  process.once("SIGHUP", () => process.kill(process.pid, "SIGTERM"))
  NodeRuntime.runMain(program)
}
