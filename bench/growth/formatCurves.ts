import { exponentOf, type MeasuredCurve } from "./measureCurves.ts"

const formatTime = (micros: number): string =>
  micros < 1000 ? `${Number(micros.toPrecision(2))} µs` : `${Number((micros / 1000).toPrecision(2))} ms`

/** The head of a Markdown table of curves. */
export const curveTableHead: ReadonlyArray<string> = [
  "| cost | grows with | CPU time by size | exponent |",
  "| --- | --- | --- | ---: |"
]

/** The row of a curve. */
export const formatCurve = (curve: MeasuredCurve): string => {
  const cells = curve.costs.map((micros, index) => `${curve.sizes[index]}: ${formatTime(micros)}`)
  return `| ${curve.name} | ${curve.by} | ${cells.join(", ")} | ${exponentOf(curve).toFixed(2)} |`
}

const decades = (curve: MeasuredCurve): ReadonlyArray<number> =>
  curve.costs.map((cost) => Math.log10(cost / (curve.costs[0] ?? cost)))

/** One plot for all curves over the same sizes: how many powers of ten a cost has grown. */
const plotCurves = (sizes: string, curves: ReadonlyArray<MeasuredCurve>): string => {
  const sorted = curves.toSorted((one, other) => (decades(other).at(-1) ?? 0) - (decades(one).at(-1) ?? 0))
  const names = sorted.map(({ by, name }) => `${name} by ${by}`)
  const top = Math.max(1, ...curves.flatMap(decades))
  return [
    "```mermaid",
    "xychart-beta",
    `  x-axis "size" [${sizes}]`,
    `  y-axis "growth of the cost, in powers of ten" -0.5 --> ${Math.ceil(top * 2) / 2}`,
    ...sorted.map(
      (curve) =>
        `  line [${decades(curve)
          .map((value) => value.toFixed(2))
          .join(", ")}]`
    ),
    "```",
    "",
    "From the top at the right:",
    "",
    ...names.map((name, index) => `${index + 1}. ${name}`)
  ].join("\n")
}

/** Plots of curves as Mermaid, by their sizes. */
export const plotGrowth = (curves: ReadonlyArray<MeasuredCurve>): string => {
  const bySizes = Map.groupBy(curves, ({ sizes }) => sizes.join(", "))
  return [...bySizes].map(([sizes, group]) => plotCurves(sizes, group)).join("\n\n")
}
