import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeLink, makeParts } from "../parts.ts"

describe("the memory of requests in progress", () => {
  it.effect("lets a client hold as much as is free for the others", () =>
    Effect.gen(function* () {
      const { open, requestBudget } = yield* makeParts({ limits: { totalRequestBytes: 100 } })
      const [one, other] = [yield* open(makeLink("a").link), yield* open(makeLink("b").link)]
      assert.isUndefined(requestBudget.check(one, 100))
      assert.isDefined(requestBudget.check(one, 101))
      requestBudget.change(one, 40)
      assert.isUndefined(requestBudget.check(one, 20))
      assert.isDefined(requestBudget.check(one, 21))
      assert.isUndefined(requestBudget.check(other, 60))
      requestBudget.change(one, -40)
      assert.isUndefined(requestBudget.check(one, 100))
    })
  )
})
