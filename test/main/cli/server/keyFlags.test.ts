import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import type { KeyCommandOptions } from "../../../../src/main/cli/server/flags.ts"
import { type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cInProcess, type Outcome } from "../inProcess.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const folder = folderOfTests()

let files = 0

/** A row of a flag: an outcome of the command, with a file of keys that has one of `desk`. */
const key = (
  args: (file: string) => ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (outcome: Outcome, file: string) => unknown,
  before: (file: string) => ReadonlyArray<string> = () => []
): FlagRow => [
  ["given"],
  outcomes,
  (given) =>
    Effect.gen(function* () {
      const file = join(folder, `keys-${files++}.json`)
      yield* a2cInProcess("server", "key", "--add", file, "--subject", "desk")
      const words = given.length === 0 ? [] : args(file)
      return select(yield* a2cInProcess("server", "key", ...before(file), ...words), file)
    })
]

const entryPrints =
  (words: string) =>
  ({ stderr }: Outcome): boolean =>
    stderr.includes(words)

const rows: FlagRows<KeyCommandOptions> = {
  add: key(
    (file) => ["--add", `${file}.added`],
    [false, true],
    (_, file) => existsSync(`${file}.added`)
  ),
  list: key(
    (file) => ["--list", file],
    [false, true],
    ({ stdout }) => stdout.includes("desk")
  ),
  revoke: key(
    (file) => ["--revoke", file, "desk"],
    [false, true],
    ({ stderr, stdout }) => `${stdout}${stderr}`.includes("Revoked")
  ),
  key: key(
    () => ["desk"],
    [true, false],
    ({ failure }) => failure !== undefined,
    (file) => ["--revoke", file]
  ),
  subject: key(() => ["--subject", "lamp"], [false, true], entryPrints('"lamp"')),
  rights: key(() => ["--right", "operator"], [false, true], entryPrints('"operator"')),
  offices: key(() => ["--office", "team*"], [false, true], entryPrints('"team*"')),
  names: key(() => ["--name", "desk*"], [false, true], entryPrints('"desk*"')),
  expires: key(() => ["--expires", "2999-01-31"], [false, true], entryPrints("2999-01-31"))
}

describe("a flag of a2c server key", () => {
  testFlags(rows)
})
