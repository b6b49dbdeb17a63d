/** A screen: the lines that a person sees after a terminal of this size has received these bytes. */
export const screenOf = (output: string, { columns, rows }: { readonly columns: number; readonly rows: number }) => {
  const grid: Array<Array<string>> = [[]]
  let top = 0
  let x = 0
  let y = 0
  const lineAt = (row: number): Array<string> => (grid[row] ??= [])
  const moveTo = (row: number) => {
    y = Math.max(top, row)
    if (y - top >= rows) top = y - rows + 1
    lineAt(y)
  }
  const put = (character: string, width: number) => {
    if (x + width > columns) {
      moveTo(y + 1)
      x = 0
    }
    const line = lineAt(y)
    while (line.length < x) line.push(" ")
    line[x] = character
    if (width === 2) line[x + 1] = ""
    x += width
  }
  const controls: { readonly [final: string]: (count: number) => void } = {
    A: (count) => moveTo(y - (count || 1)),
    B: (count) => moveTo(y + (count || 1)),
    C: (count) => void (x = Math.min(columns - 1, x + (count || 1))),
    D: (count) => void (x = Math.max(0, x - (count || 1))),
    G: (count) => void (x = (count || 1) - 1),
    J: (count) => {
      if (count === 2) for (let row = top; row < grid.length; row++) grid[row] = []
      lineAt(y).length = Math.min(lineAt(y).length, x)
      grid.length = y + 1
    },
    K: () => void (lineAt(y).length = Math.min(lineAt(y).length, x))
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what a terminal interprets
  for (const [unit, count, final] of output.matchAll(/\u001b\[(\d*)([A-Z])|[^]/gu)) {
    if (final !== undefined) {
      const control = controls[final]
      if (control === undefined) throw new Error(`the screen does not know ${JSON.stringify(unit)}`)
      control(Number(count))
    } else if (unit === "\n") {
      moveTo(y + 1)
      x = 0
    } else if (unit === "\r") x = 0
    else put(unit, /^[ -~]$/.test(unit) ? 1 : 2)
  }
  return grid.slice(top, top + rows).map((line) => line.join("").trimEnd())
}
