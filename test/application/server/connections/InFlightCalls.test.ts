import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import { makeLink, makeParts } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

const makeCall = () => new InFlightCall("O", () => undefined)

const start = Effect.gen(function* () {
  const { inFlightCalls, open } = yield* makeParts({ limits: { callsPerComputer: 2 } })
  return { inFlightCalls, agent: yield* open(makeLink("a").link) }
})

const test = effectWith(start)

describe("a call in flight to a Computer of another node", () => {
  test("is found by the session of the Computer until it ends", ({ agent, inFlightCalls }) => {
    const [one, two, other] = [makeCall(), makeCall(), makeCall()]
    for (const call of [one, two]) inFlightCalls.add(agent, "far", call, 0)
    inFlightCalls.add(agent, "other", other, 0)
    assert.deepStrictEqual([...inFlightCalls.toRemote("far")], [one, two])
    inFlightCalls.remove(agent, "far", one, 0)
    assert.deepStrictEqual([...inFlightCalls.toRemote("far")], [two])
    assert.deepStrictEqual([...inFlightCalls.toRemote("other")], [other])
  })

  test("leaves nothing behind when it was the last one", ({ agent, inFlightCalls }) => {
    const call = makeCall()
    inFlightCalls.add(agent, "far", call, 0)
    inFlightCalls.remove(agent, "far", call, 0)
    assert.strictEqual(inFlightCalls.toRemote("far"), inFlightCalls.toRemote("unknown"))
  })

  it.effect(
    "counts with lookups towards the limit of its Agent, and lookups on their own towards that of a Computer",
    () =>
      Effect.gen(function* () {
        const { inFlightCalls, open, requestBudget } = yield* makeParts({
          limits: { callsPerAgent: 3, callsPerComputer: 2 }
        })
        const agent = yield* open(makeLink("a").link)
        const codes = () => ["far", undefined].map((target) => inFlightCalls.checkLimits(agent, target, 0)?.code)
        inFlightCalls.add(agent, "other", makeCall(), 1)
        inFlightCalls.countLookup(agent, 1, 10)
        assert.deepStrictEqual(codes(), [undefined, undefined])
        inFlightCalls.countLookup(agent, 1, 100)
        assert.deepStrictEqual([codes(), inFlightCalls.size(), requestBudget.totalBytes()], [[429, 429], 3, 111])
        inFlightCalls.countLookup(agent, -1, 100)
        assert.deepStrictEqual(
          [codes(), inFlightCalls.size(), requestBudget.totalBytes()],
          [[undefined, undefined], 2, 11]
        )
      })
  )

  test("counts towards the limit of its Computer only", ({ agent, inFlightCalls }) => {
    inFlightCalls.add(agent, "far", makeCall(), 0)
    assert.isUndefined(inFlightCalls.checkLimits(agent, "far", 0))
    inFlightCalls.add(agent, "far", makeCall(), 0)
    assert.deepInclude({ ...inFlightCalls.checkLimits(agent, "far", 0) }, { code: 429 })
    assert.isUndefined(inFlightCalls.checkLimits(agent, "other", 0))
  })
})
