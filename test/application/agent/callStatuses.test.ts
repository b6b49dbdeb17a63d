import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { makeCallStatuses, type WaitObserver } from "../../../src/application/agent/callStatuses.ts"

const waitsFor = (id: string, waitSeconds = 30, computer = "desk") =>
  ({
    _tag: "WaitingForConsent",
    computer,
    approval: { id, server: "alpha", tool: "write", waitSeconds }
  }) as const
const decided = { _tag: "Decided", computer: "desk", isAllowed: true, by: "ann" } as const

describe("the timeout of a call that waits for an approval", () => {
  it.effect("ends two seconds after the wait: its Computer tells first that no approver answered", () =>
    Effect.gen(function* () {
      const { listen, receive } = makeCallStatuses()
      const status = waitsFor("a1")
      const extended = yield* listen({ reqId: "r1", computer: "desk", onStatus: undefined }, (extend) =>
        Effect.map(receive({ reqId: "r1", status }), extend)
      )
      assert.strictEqual(Duration.toSeconds(extended), 32)
    })
  )

  it.effect("is extended by each wait of the call, and by none of another Computer", () =>
    Effect.gen(function* () {
      const { listen, receive } = makeCallStatuses()
      const extended = yield* listen({ reqId: "r1", computer: "desk", onStatus: undefined }, (extend) =>
        Effect.gen(function* () {
          yield* receive({ reqId: "r1", status: waitsFor("a1", 30) })
          yield* receive({ reqId: "r1", status: decided })
          yield* receive({ reqId: "r1", status: waitsFor("a2", 10) })
          yield* receive({ reqId: "r1", status: waitsFor("a3", 70, "lab") })
          return extend()
        })
      )
      assert.strictEqual(Duration.toSeconds(extended), 44)
    })
  )
})

describe("the observer of waiting calls", () => {
  it.effect("sees each wait, each decision, and the end of the call that waited last", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const see = (what: string) => Effect.sync(() => void seen.push(what))
      const observer: WaitObserver = {
        onWait: ({ id }, computer) => see(`wait ${id} ${computer}`),
        onDecided: (computer) => see(`decided ${computer}`),
        onEnd: (id) => see(`end ${id}`)
      }
      const { listen, receive } = makeCallStatuses(observer)
      const call = { reqId: "r1", computer: "desk", onStatus: undefined }
      yield* listen(call, () =>
        Effect.forEach([waitsFor("a1"), decided, waitsFor("a2")], (status) => receive({ reqId: "r1", status }))
      )
      yield* receive({ reqId: "r1", status: waitsFor("a3") })
      yield* Effect.exit(
        listen(call, () => Effect.andThen(receive({ reqId: "r1", status: waitsFor("a4") }), Effect.interrupt))
      )
      yield* listen(call, () => Effect.void)
      assert.deepStrictEqual(seen, ["wait a1 desk", "decided desk", "wait a2 desk", "end a2", "wait a4 desk", "end a4"])
    })
  )

  it.effect("sees the statuses of a call whose listener fails", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const observer: WaitObserver = {
        onWait: ({ id }) => Effect.sync(() => void seen.push(id)),
        onDecided: () => Effect.sync(() => void seen.push("decided")),
        onEnd: () => Effect.void
      }
      const { listen, receive } = makeCallStatuses(observer)
      const call = { reqId: "r1", computer: "desk", onStatus: () => Effect.die("broken") }
      yield* listen(call, () => Effect.forEach([waitsFor("a1"), decided], (status) => receive({ reqId: "r1", status })))
      assert.deepStrictEqual(seen, ["a1", "decided"])
    })
  )
})
