/** The table of docs/runtimes.md, made of what ran. */
import { readFileSync, writeFileSync } from "node:fs"

const document = "docs/runtimes.md"
const marks = { start: "<!-- runtimes:start -->", end: "<!-- runtimes:end -->" }

/** The rows of the table. */
const parts = {
  domain: "domain",
  agent: "Agent",
  computer: "Computer with MCP servers",
  functions: "[Computer of functions](functions.md)",
  server: "Server",
  devices: "devices: gateway and client",
  http: "an office or a device gateway as an MCP server over HTTP",
  packs: "tool packs",
  command: "command `a2c`"
} as const
export type Part = keyof typeof parts

/** What the sections below the table explain. */
const notes: { readonly [cell: string]: string } = {
  "agent in Bun": "yes, [keepalive](#keepalive-in-bun-and-browsers)",
  "agent in Chromium": "yes, [keepalive](#keepalive-in-bun-and-browsers)",
  "computer in Bun": "yes, [keepalive](#keepalive-in-bun-and-browsers)",
  "functions in Bun": "yes, [keepalive](#keepalive-in-bun-and-browsers)",
  "functions in Chromium": "yes, [keepalive](#keepalive-in-bun-and-browsers)",
  "agent in workerd": "yes, [WebSocket](#members-in-workerd)",
  "functions in workerd": "yes, [WebSocket](#members-in-workerd)",
  "command in Bun": "yes, without [packs](#packs-in-bun)",
  "packs in Bun": "[no](#packs-in-bun)",
  "server in Bun": "yes, not tested with Redis",
  "server in Deno": "yes, not tested with Redis"
}

/** What could run, and does not run here. */
const untested = new Set(["agent in Firefox", "domain in Firefox", "functions in Firefox"])

/** What ran, by part and runtime. */
export class Outcomes {
  readonly #outcomes = new Map<string, "yes" | "no">()

  set(part: Part, runtime: string, outcome: "yes" | "no"): void {
    this.#outcomes.set(`${part} in ${runtime}`, outcome)
  }

  #cell(part: Part, runtime: string): string {
    const key = `${part} in ${runtime}`
    const outcome = this.#outcomes.get(key)
    if (outcome === undefined) return untested.has(key) ? "not tested" : "–"
    const note = notes[key]
    return note?.replace("[", "").startsWith(outcome) ? note : outcome
  }

  /** The table, with a column for each runtime; its heading may have a version. */
  format(runtimes: ReadonlyArray<{ readonly name: string; readonly heading: string }>): string {
    const row = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
    const rows = Object.entries(parts).map(([part, label]) =>
      row([label, ...runtimes.map(({ name }) => this.#cell(part as Part, name))])
    )
    const head = row(["part", ...runtimes.map(({ heading }) => heading)])
    return [head, `|${"---|".repeat(runtimes.length + 1)}`, ...rows].join("\n")
  }
}

/** Replaces the table in the document, or fails where it differs. */
export const publishTable = (table: string, write: boolean): void => {
  const text = readFileSync(document, "utf8")
  const [before, rest = ""] = text.split(marks.start)
  const [old = "", after] = rest.split(marks.end)
  if (before === undefined || after === undefined) throw new Error(`${document} lacks ${marks.start} or ${marks.end}`)
  if (old.trim() === table) return
  if (!write)
    throw new Error(`${document} differs from what ran; write it with: npm run runtimes -- --write\n\n${table}`)
  writeFileSync(document, `${before}${marks.start}\n${table}\n${marks.end}${after}`)
}
