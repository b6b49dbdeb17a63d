/** Records a run of `a2c demo` as an animated SVG for the front page: `npm run site:record`. */
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { createInterface } from "node:readline"

interface Line {
  /** Seconds since the first line. */
  readonly at: number
  readonly text: string
}

const record = async (): Promise<ReadonlyArray<Line>> => {
  const lines: Array<Line> = []
  let start: number | undefined
  const demo = spawn(process.execPath, ["src/main/cli/a2c.ts", "demo"], { stdio: ["ignore", "pipe", "inherit"] })
  for await (const text of createInterface(demo.stdout)) {
    start ??= performance.now()
    lines.push({ at: (performance.now() - start) / 1000, text })
  }
  return lines
}

const [rows, columns, rowHeight, bar, margin] = [24, 100, 20, 36, 18]
const [width, height] = [columns * 8.43 + 2 * margin, rows * rowHeight + bar + 2 * margin]

/** A line is readable for this time, however fast the demo is. */
const secondsPerLine = 0.28

/** The last rows stay for this time. */
const pauseSeconds = 4

/** The loop begins where the terminal is full: a reader sees content at once. */
const firstRow = rows - 2

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const classOf = (text: string): string => {
  if (/^\$ |^\d /.test(text)) return "step"
  if (/^\s+→/.test(text)) return "result"
  return /^\s+[a-z]+[.:]/.test(text) ? "call" : "text"
}

const toSvg = (lines: ReadonlyArray<Line>): string => {
  let shown = 0
  const times = lines.map(({ at }) => (shown = Math.max(at, shown + secondsPerLine)))
  const duration = (times.at(-1) ?? 0) + pauseSeconds
  const percent = (time: number) => `${((100 * time) / duration).toFixed(2)}%`
  const keyframes = (name: string, offset: (row: number) => number) =>
    `@keyframes ${name} { 0% { transform: translateY(${offset(0)}px) } ${times
      .map((time, row) => `${percent(time)} { transform: translateY(${offset(row + 1)}px) }`)
      .join(" ")} }`
  const texts = lines.map(({ text }, row) => {
    const y = row * rowHeight + 15
    return text === "" ? "" : `<text class="${classOf(text)}" y="${y}">${escape(text)}</text>`
  })
  const loop = `${duration.toFixed(1)}s step-end -${(times[firstRow] ?? 0).toFixed(1)}s infinite`
  const end = Math.max(0, lines.length - rows) * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
<title>A run of a2c demo</title>
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #d0d7de }
.step { fill: #fff; font-weight: 700 } .result { fill: #7ee787 } .call { fill: #a5d6ff }
.rows { transform: translateY(-${end}px) } .curtain { transform: translateY(${lines.length * rowHeight}px) }
@media (prefers-reduced-motion: no-preference) {
  .rows { animation: scroll ${loop} } .curtain { animation: show ${loop} }
}
${keyframes("scroll", (row) => -Math.max(0, row - rows) * rowHeight)}
${keyframes("show", (row) => row * rowHeight)}
</style>
<rect width="${width}" height="${height}" rx="10" fill="#161b22"/>
<circle cx="20" cy="18" r="6" fill="#ff5f57"/><circle cx="40" cy="18" r="6" fill="#febc2e"/><circle cx="60" cy="18" r="6" fill="#28c840"/>
<svg x="${margin}" y="${bar + margin / 2}" width="${width - 2 * margin}" overflow="hidden" height="${rows * rowHeight}">
<g class="rows">
${texts.filter((text) => text !== "").join("\n")}
<rect class="curtain" x="-${margin}" width="${width}" height="${lines.length * rowHeight}" fill="#161b22"/>
</g>
</svg>
</svg>
`
}

const lines = await record()
const end = lines.findIndex(({ text }) => text.startsWith("Done in"))
if (end < 0) throw new Error("the demo has not completed")
// Long results take the place of the steps after them.
const short = lines.slice(0, end + 1).filter(({ text }) => !/^ {10,}|^\s+[[\]]$/.test(text))
writeFileSync("site/home/demo.svg", toSvg([{ at: 0, text: "$ a2c demo" }, ...short]))
