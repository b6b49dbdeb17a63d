import { Effect } from "effect"
import type { Curve } from "./curves.ts"

/** The costs of a curve by size, in microseconds of CPU time. */
export interface MeasuredCurve extends Pick<Curve, "by" | "name" | "sizes"> {
  readonly costs: ReadonlyArray<number>
}

/** Measures curves one after the other, up to the number of sizes. Calls `onMeasured` after each. */
export const measureCurves = (
  curves: ReadonlyArray<Curve>,
  onMeasured: (curve: MeasuredCurve) => void,
  maxSizes = Number.POSITIVE_INFINITY
): Effect.Effect<ReadonlyArray<MeasuredCurve>, unknown> =>
  Effect.forEach(curves, ({ by, cost, name, sizes: all }) =>
    Effect.gen(function* () {
      const sizes = all.slice(0, maxSizes)
      const costs = yield* Effect.forEach(sizes, (size) => Effect.scoped(cost(size)))
      const curve = { name, by, sizes, costs }
      onMeasured(curve)
      return curve
    })
  )

/** The exponent of the growth between the two largest sizes: 1 is linear. */
export const exponentOf = ({ costs, sizes }: MeasuredCurve): number =>
  Math.log((costs.at(-1) ?? 0) / (costs.at(-2) ?? 0)) / Math.log((sizes.at(-1) ?? 0) / (sizes.at(-2) ?? 0))
