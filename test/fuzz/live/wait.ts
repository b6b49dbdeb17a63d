import { setTimeout as sleep } from "node:timers/promises"

/** How long something may take that has to come, in milliseconds. */
const patience = 10_000

/** Milliseconds between two looks. */
const pause = 10

/** Waits until something holds that nobody tells, and says what `instead` gives when it never does. */
export const until = async (
  holds: () => boolean | Promise<boolean>,
  instead: () => string
): Promise<void> => {
  for (const begun = performance.now(); performance.now() - begun < patience; ) {
    if (await holds()) return
    await sleep(pause)
  }
  throw new Error(instead())
}
