import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect } from "effect"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** Prints the memory after garbage collection. */
const report = (what: string, round: number) =>
  Effect.sync(() => {
    collect()
    const { heapUsed, rss } = process.memoryUsage()
    const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1).padStart(6)
    process.stdout.write(
      `${what.padEnd(8)} ${String(round).padStart(6)}  heap ${mebibytes(heapUsed)} MiB  rss ${mebibytes(rss)} MiB\n`
    )
  })

/** Repeats an effect and reports ten times. */
export const soak = Effect.fnUntraced(function* <E, R>(
  what: string,
  rounds: number,
  once: (round: number) => Effect.Effect<unknown, E, R>
) {
  for (let round = 0; round < rounds; round++) {
    if (round % Math.ceil(rounds / 10) === 0) yield* report(what, round)
    yield* once(round)
  }
  yield* report(what, rounds)
})
