import { setTimeout as sleep } from "node:timers/promises"
import { must } from "../Surface.ts"

/** Milliseconds between two calls of a witness. */
const pause = 20

/** How long a call of a witness may take, in milliseconds. */
const mostLatency = 5000

/** Calls again and again while something is fuzzed, and wants the right answer every time. */
export const makeWitness = (call: (turn: number) => Promise<boolean>) => {
  let isOn = false
  let turns = 0
  let wrong: string | undefined
  let calling = Promise.resolve()
  const run = async (): Promise<void> => {
    while (isOn) {
      turns += 1
      const begun = performance.now()
      try {
        if (!(await call(turns))) wrong ??= `the witness got a wrong answer to its call ${turns}`
      } catch (error) {
        wrong ??= `the witness got no answer to its call ${turns}: ${String(error)}`
      }
      if (performance.now() - begun > mostLatency) wrong ??= `the witness waited too long in call ${turns}`
      await sleep(pause)
    }
  }
  return {
    begin: async (): Promise<void> => {
      await calling
      isOn = true
      calling = run()
    },
    end: async (): Promise<void> => {
      isOn = false
      await calling
      must(wrong === undefined, wrong ?? "")
      must(turns > 0, "the witness has not called")
    }
  }
}
