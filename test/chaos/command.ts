import { Effect } from "effect"

/** Exit code of a command that was not understood. */
const usageCode = 2

/** Reads options; ends the process with the reason when they are wrong. */
export const usageOr = <Options>(read: () => Options): Effect.Effect<Options> =>
  Effect.sync(() => {
    try {
      return read()
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nSee --help.\n`)
      return process.exit(usageCode)
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
