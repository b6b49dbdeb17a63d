import { setTimeout as sleep } from "node:timers/promises"

/** Timeout of a wait in milliseconds: only for what hangs. A busy machine takes its time. */
const waitTimeout = 60_000

/** Poll interval in milliseconds. */
const pause = 10

/** Polls a condition; fails with the text of `instead` after the timeout. */
export const until = async (holds: () => boolean | Promise<boolean>, instead: () => string): Promise<void> => {
  for (const begun = performance.now(); performance.now() - begun < waitTimeout; ) {
    if (await holds()) return
    await sleep(pause)
  }
  throw new Error(instead())
}
