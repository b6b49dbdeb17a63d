import { createContext, Script } from "node:vm"

/** What is done under a limit at the moment. */
const world: { work: () => unknown } = { work: () => undefined }

const context = createContext(world)
const script = new Script("work()")

/** The error is one of the other context, and no `Error` of this one. */
const isTimeout = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "code" in error &&
  error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

/** Work was broken off, wherever it was. */
export class TookTooLong extends Error {}

/**
 * What `work` returns, or throws; it is broken off with {@link TookTooLong} after so many milliseconds, be it in the
 * midst of a regular expression. What it was changing by then is left half done.
 */
export const within = <A>(millis: number, work: () => A): A => {
  world.work = work
  try {
    return script.runInContext(context, { timeout: millis })
  } catch (error) {
    throw isTimeout(error) ? new TookTooLong(`takes longer than ${millis} ms`) : error
  } finally {
    world.work = () => undefined
  }
}
