import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { type FlagRows, testFlags } from "./flagRows.ts"
import { a2cRunning } from "./inProcess.ts"

const rows: FlagRows<{ readonly page: boolean }> = {
  page: [
    ["--page"],
    ["tour", "page"],
    Effect.fnUntraced(function* (given) {
      const { prints } = yield* a2cRunning("demo", ...given)
      return yield* Effect.raceFirst(
        Effect.as(prints("A Server starts"), "tour"),
        Effect.as(prints("/office/"), "page")
      )
    })
  ]
}

describe("a flag of a2c demo", () => {
  testFlags(rows)
})
