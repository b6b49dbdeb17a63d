import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { type FlagRows, testFlags } from "./flagRows.ts"
import { a2cRunning } from "./inProcess.ts"

const rows: FlagRows<{ readonly page: boolean }> = {
  page: [
    ["--page"],
    ["tour", "page"],
    Effect.fnUntraced(function* (given) {
      const { says } = yield* a2cRunning("demo", ...given)
      return yield* Effect.raceFirst(Effect.as(says("A Server starts"), "tour"), Effect.as(says("/office/"), "page"))
    })
  ]
}

describe("a flag of a2c demo", () => {
  testFlags(rows)
})
