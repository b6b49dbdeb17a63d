import { type Fault, growthOf, type Numbered, type Outcome } from "./fuzz.ts"

const mebibyte = 2 ** 20

const columns: ReadonlyArray<readonly [title: string, width: number, cell: (outcome: Outcome) => string]> = [
  ["surface", -11, ({ surface }) => surface],
  ["inputs", 9, ({ inputs }) => String(inputs)],
  ["per second", 11, ({ inputs, seconds }) => (inputs / seconds).toFixed(0)],
  ["accepted", 9, ({ accepted }) => String(accepted)],
  ["refused", 9, ({ refused }) => String(refused)],
  ["slowest, ms", 12, ({ slowest }) => slowest.toFixed(1)],
  ["MiB before", 11, ({ heapBefore }) => (heapBefore / mebibyte).toFixed(1)],
  ["after", 7, ({ heapAfter }) => (heapAfter / mebibyte).toFixed(1)],
  ["growth, %", 10, (outcome) => (growthOf(outcome) * 100).toFixed(1)],
  ["", 0, ({ fault }) => (fault === undefined ? "" : "WRONG")]
]

const line = (cells: ReadonlyArray<string>): string =>
  cells
    .map((cell, index) => {
      const width = columns[index]?.[1] ?? 0
      return width < 0 ? cell.padEnd(-width) : cell.padStart(width)
    })
    .join(" ")
    .trimEnd()

/** Formats the outcome of each surface in one line. */
export const table = (outcomes: ReadonlyArray<Outcome>): string =>
  [
    line(columns.map(([title]) => title)),
    ...outcomes.map((outcome) => line(columns.map(([, , cell]) => cell(outcome))))
  ].join("\n")

/** Formats the total outcome in one line. */
export const summary = (outcomes: ReadonlyArray<Outcome>): string => {
  const inputs = outcomes.reduce((sum, outcome) => sum + outcome.inputs, 0)
  const seconds = outcomes.reduce((sum, outcome) => sum + outcome.seconds, 0)
  const wrong = outcomes.flatMap(({ fault, surface }) => (fault === undefined ? [] : [surface]))
  const found = wrong.length === 0 ? "no faults" : `faults in ${wrong.join(", ")}`
  return `${inputs} inputs in ${seconds.toFixed(0)} seconds: ${found}`
}

const shown = ({ index, input }: Numbered) => ({
  index,
  hex: input.toString("hex"),
  text: input.toString("latin1").slice(0, 2000)
})

/** Formats a fault as JSON for debugging. */
export const faultText = (surface: string, seed: number, { at, before, what }: Fault): string => {
  const again = at === undefined ? "" : ` --from ${at.index} --inputs 1`
  const report = {
    surface,
    seed,
    what,
    again: `npm run fuzz -- --surface ${surface} --seed ${seed}${again}`,
    input: at === undefined ? null : shown(at),
    before: before.map(shown)
  }
  return `${JSON.stringify(report, null, 2)}\n`
}
