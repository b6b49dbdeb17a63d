/**
 * Measures how costs grow with the size of a Server, an office and a Computer. bench/README.md has the results.
 * Usage: node bench/growth.ts [--quick] [NAME...]
 */
import { Effect, Logger } from "effect"
import { curves, MeasuredMicros } from "./growth/curves.ts"
import { curveTableHead, formatCurve } from "./growth/formatCurves.ts"
import { measureCurves } from "./growth/measureCurves.ts"

const isQuick = process.argv.includes("--quick")
const names = process.argv.slice(2).filter((arg) => !arg.startsWith("-"))
const wanted = curves.filter(({ name }) => names.length === 0 || names.includes(name))

const print = (text: string) => process.stdout.write(`${text}\n`)

for (const line of curveTableHead) print(line)
await Effect.runPromise(
  measureCurves(wanted, (curve) => print(formatCurve(curve)), isQuick ? 2 : undefined).pipe(
    Effect.provideService(MeasuredMicros, isQuick ? 20_000 : MeasuredMicros.defaultValue()),
    Effect.provide(Logger.layer([]))
  )
)
process.exit(0)
