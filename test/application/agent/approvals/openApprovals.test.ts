import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { makeOpenApprovals } from "../../../../src/application/agent/approvals/openApprovals.ts"
import { ServerTimeout } from "../../../../src/application/agent/AgentErrors.ts"
import type { ApprovalView } from "../../../../src/domain/approvals/ApprovalView.ts"
import { settle } from "../../../settle.ts"

/** The approvals of an Agent whose Computers list these, by Computer. */
const startFollowing = Effect.fnUntraced(function* (letsAgentsDecide?: (computer: string) => boolean) {
  const listed = new Map<string, ReadonlyArray<string>>()
  const approvals = yield* makeOpenApprovals(letsAgentsDecide)
  yield* approvals.follow({
    getApprovals: (computer) => {
      const ids = listed.get(computer)
      return ids === undefined
        ? Effect.fail(new ServerTimeout({ message: "no reply" }))
        : Effect.succeed(ids.map((id) => ({ id, computer }) as ApprovalView))
    }
  })
  let shown: ReadonlyArray<string> = []
  yield* Effect.forkScoped(
    Stream.runForEach(approvals.changes, (all) => Effect.sync(() => void (shown = all.map(({ id }) => id))))
  )
  yield* settle
  const { onDecided, onEnd, onWait: wait } = approvals.observer
  const onWait = (id: string, computer: string, isQuestion = false) =>
    wait({ id, server: "s", tool: "t", waitSeconds: 60, ...(isQuestion && { isQuestion }) }, computer)
  const after = (happening: Effect.Effect<void>) =>
    Effect.map(Effect.andThen(happening, settle), () => shown.toSorted())
  return { listed, clear: approvals.clear, onDecided, onEnd, onWait, after }
})

const following = startFollowing()

describe("the open approvals of an Agent", () => {
  it.effect("shows those for which its calls wait, of each Computer", () =>
    Effect.gen(function* () {
      const { after, listed, onWait } = yield* following
      listed.set("pc", ["a", "of another call"]).set("lab", ["b"])
      assert.deepStrictEqual(yield* after(onWait("a", "pc")), ["a"])
      assert.deepStrictEqual(yield* after(onWait("b", "lab")), ["a", "b"])
    })
  )

  it.effect("drops that of a call that ends", () =>
    Effect.gen(function* () {
      const { after, listed, onEnd, onWait } = yield* following
      listed.set("pc", ["a", "b"])
      yield* onWait("b", "pc")
      yield* after(onWait("a", "pc"))
      assert.deepStrictEqual(yield* after(onEnd("a")), ["b"])
    })
  )

  it.effect("shows none again whose call has ended, though its Computer lists it still", () =>
    Effect.gen(function* () {
      const { after, listed, onDecided, onEnd, onWait } = yield* following
      listed.set("pc", ["a"])
      yield* after(onWait("a", "pc"))
      yield* after(onEnd("a"))
      assert.deepStrictEqual(yield* after(onDecided("pc")), [])
    })
  )

  it.effect("drops those of a Computer that does not reply, and of no other", () =>
    Effect.gen(function* () {
      const { after, listed, onDecided, onWait } = yield* following
      listed.set("pc", ["a"]).set("lab", ["b"])
      yield* onWait("a", "pc")
      yield* after(onWait("b", "lab"))
      listed.delete("pc")
      assert.deepStrictEqual(yield* after(onDecided("pc")), ["b"])
    })
  )

  it.effect("is empty after a lost connection", () =>
    Effect.gen(function* () {
      const { after, clear, listed, onWait } = yield* following
      listed.set("pc", ["a"])
      yield* after(onWait("a", "pc"))
      assert.deepStrictEqual(yield* after(clear), [])
    })
  )

  it.effect("asks a Computer that lets no Agent decide for questions only", () =>
    Effect.gen(function* () {
      const { after, listed, onDecided, onWait } = yield* startFollowing((computer) => computer !== "pc")
      listed.set("pc", ["a", "b"]).set("lab", ["c"])
      assert.deepStrictEqual(yield* after(onWait("a", "pc")), [])
      assert.deepStrictEqual(yield* after(onDecided("pc")), [])
      assert.deepStrictEqual(yield* after(onWait("c", "lab")), ["c"])
      assert.deepStrictEqual(yield* after(onWait("b", "pc", true)), ["b", "c"])
    })
  )
})
