import { describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CheckCommandOptions } from "../../../../src/main/cli/computer/flags.ts"
import { fileWriter, type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cInProcess } from "../inProcess.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const fileWith = fileWriter(folderOfTests())

const server = { type: "stdio", server_parameters: { command: "x", args: ["${input:key}"] } }
const inputs = [{ id: "key", type: "promptString" }]
const config = fileWith("config.json", JSON.stringify({ inputs, servers: { alpha: server } }))
const other = fileWith(
  "other.json",
  JSON.stringify({ servers: { beta: { ...server, server_parameters: { command: "y" } } } })
)

const check = (args: ReadonlyArray<string>, select: (stdout: string) => unknown): FlagRow => [
  args,
  [false, true],
  (given) => Effect.map(a2cInProcess("computer", "check", config, ...given), ({ stdout }) => select(stdout))
]

const rows: FlagRows<CheckCommandOptions> = {
  files: check([other], (stdout) => stdout.includes("beta")),
  inputs: check(["--input", "key=value"], (stdout) => !stdout.includes("asked for at a terminal")),
  json: check(["--json"], (stdout) => stdout.startsWith("{"))
}

describe("a flag of a2c computer check", () => {
  testFlags(rows)
})
