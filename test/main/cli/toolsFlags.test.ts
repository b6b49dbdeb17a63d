import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CallToolOptions, ListToolsOptions, NewPackOptions } from "../../../src/main/cli/tools/flags.ts"
import { type FlagRow, type FlagRows, testFlags } from "./flagRows.ts"
import { a2cInProcess } from "./inProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "a2c-flags-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** A folder with a pack, whose tool prints its arguments and the id of its process. */
const packs = join(folder, "packs")
mkdirSync(join(packs, "show"), { recursive: true })
writeFileSync(
  join(packs, "show", "show_tool.ts"),
  `export class ShowTool {
  getRouteConfig() { return { endpoint: "/tools/show", params: { type: "object" } } }
  listTools() { return [{ name: "show", description: "Shows" }] }
  callTool(_name, params) { return "\\u001b[31m" + JSON.stringify({ params, isHere: process.pid === ${process.pid} }) }
}
`
)
writeFileSync(join(packs, "show", "config.yaml"), "enabled: true\npackages: []\n")

type Outcome = Effect.Success<ReturnType<typeof a2cInProcess>>

const row = (
  command: ReadonlyArray<string>,
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (outcome: Outcome) => unknown
): FlagRow => [args, outcomes, (given) => Effect.map(a2cInProcess("tools", ...command, ...given), select)]

const says =
  (words: string) =>
  ({ stdout }: Outcome): boolean =>
    stdout.includes(words)

const call = ["call", "show", "--dir", packs]

type Installing = "install" | "allowScripts" | "memory"

const callRows: FlagRows<Omit<CallToolOptions, Installing | "tool" | "timeout">> = {
  dir: row(["call", "show"], ["--dir", packs], [false, true], says("params")),
  args: row(call, ["--args", '{"word":"given"}'], [false, true], says("given")),
  isolate: row(call, ["--isolate"], [true, false], says('"isHere":true')),
  json: row(call, ["--json"], [false, true], ({ stdout }) => stdout.startsWith("{")),
  raw: row(call, ["--raw"], [false, true], says("\u001b[31m"))
}

const listRows: FlagRows<Omit<ListToolsOptions, Installing | "isolate">> = {
  folders: row(["list"], [packs], [false, true], says("show")),
  json: row(["list", packs], ["--json"], [false, true], ({ stdout }) => stdout.startsWith("["))
}

const other = join(folder, "other")

const newRows: FlagRows<Omit<NewPackOptions, "name">> = {
  dir: [
    ["--dir", other],
    [false, true],
    (given) =>
      Effect.map(a2cInProcess("tools", "new", "text_counter", ...(given.length === 0 ? ["--dir", packs] : given)), () =>
        existsSync(join(other, "text_counter"))
      )
  ]
}

describe("a flag of a2c tools call", () => {
  testFlags(callRows)
})
describe("a flag of a2c tools list", () => {
  testFlags(listRows)
})
describe("a flag of a2c tools new", () => {
  testFlags(newRows)
})
