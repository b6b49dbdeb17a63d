import { setTimeout as sleep } from "node:timers/promises"
import { must } from "../Surface.ts"
import { type Lateness, watchLateness } from "./lateness.ts"

/** Interval of the calls of a witness in milliseconds. */
const pause = 20

/** Maximum duration of a witness call in milliseconds, without the time that this thread waits for a processor. */
const maxLatency = 5000

/** Calls in a loop during the fuzzing and verifies every reply. */
export const makeWitness = (call: (turn: number) => Promise<boolean>) => {
  let isOn = false
  let turns = 0
  let wrong: string | undefined
  let calling = Promise.resolve()
  let lateness: Lateness | undefined
  const run = async (): Promise<void> => {
    while (isOn) {
      turns += 1
      const begun = performance.now()
      try {
        if (!(await call(turns))) wrong ??= `the witness received a wrong reply to call ${turns}`
      } catch (error) {
        wrong ??= `the witness received no reply to call ${turns}: ${String(error)}`
      }
      const late = lateness?.worst() ?? 0
      if (performance.now() - begun > maxLatency + late) wrong ??= `the witness waited too long in call ${turns}`
      await sleep(pause)
    }
  }
  return {
    begin: async (): Promise<void> => {
      await calling
      isOn = true
      lateness = watchLateness()
      calling = run()
    },
    end: async (): Promise<void> => {
      isOn = false
      await calling
      lateness?.stop()
      must(wrong === undefined, wrong ?? "")
      must(turns > 0, "the witness made no call")
    }
  }
}
