import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { answerStatuses } from "../../../../src/application/agent/approvals/callAnswers.ts"
import type { ApprovalView } from "../../../../src/domain/approvals/ApprovalView.ts"
import type { CallStatus } from "../../../../src/domain/model/CallStatus.ts"

const view = (id: string, isQuestion: boolean): ApprovalView => ({
  id,
  computer: "pc",
  server: "alpha",
  tool: "write",
  requester: "ada",
  arguments: "{}",
  argumentsDigest: "",
  askedBy: "default",
  requestedAt: 0,
  expiresIn: 60_000,
  state: "open",
  ...(isQuestion && { input: { mode: "form", message: id, schema: { type: "object" } } })
})

const waitsFor = (id: string, isQuestion: boolean): CallStatus => ({
  _tag: "WaitingForConsent",
  computer: "pc",
  approval: { id, server: "alpha", tool: "write", waitSeconds: 60, ...(isQuestion && { isQuestion }) }
})

const decided: CallStatus = { _tag: "Decided", computer: "pc", isAllowed: true, by: "ann" }

/** An Agent whose program is asked, and never answers: the prompts that are open. */
const prompting = Effect.fnUntraced(function* (isQuestion: boolean) {
  const open = new Set<string>()
  const shown: Array<CallStatus["_tag"]> = []
  const prompt = (id: string) =>
    Effect.acquireUseRelease(
      Effect.sync(() => void open.add(id)),
      () => Effect.never,
      () => Effect.sync(() => void open.delete(id))
    )
  const receive = yield* answerStatuses(
    {
      getApprovals: (_, id) => Effect.succeed([view(id, isQuestion)]),
      decideApproval: (_, id) => Effect.succeed(view(id, isQuestion))
    },
    "pc",
    {
      onApproval: ({ id }) => prompt(id),
      onInput: ({ message }) => prompt(message),
      onStatus: ({ _tag }) => Effect.sync(() => void shown.push(_tag))
    }
  )
  const notify = (status: CallStatus) => Effect.andThen(receive(status), TestClock.adjust(0))
  return { open: () => [...open], shown, notify }
})

describe.each([
  ["approval", false],
  ["question", true]
] as const)("the prompt for the %s of a call", (_, isQuestion) => {
  it.effect("is withdrawn when another approver decides", () =>
    Effect.gen(function* () {
      const { open, shown, notify } = yield* prompting(isQuestion)
      yield* notify(waitsFor("a1", isQuestion))
      assert.deepStrictEqual(open(), ["a1"])
      yield* notify(decided)
      assert.deepStrictEqual(open(), [])
      assert.deepStrictEqual(shown, ["WaitingForConsent", "Decided"])
    })
  )

  it.effect("is withdrawn when the call waits for the next one", () =>
    Effect.gen(function* () {
      const { open, notify } = yield* prompting(isQuestion)
      yield* notify(waitsFor("a1", isQuestion))
      yield* notify(waitsFor("a2", isQuestion))
      assert.deepStrictEqual(open(), ["a2"])
    })
  )

  it.effect("stays open while the call reports its progress", () =>
    Effect.gen(function* () {
      const { open, notify } = yield* prompting(isQuestion)
      yield* notify(waitsFor("a1", isQuestion))
      yield* notify({ _tag: "Progressing", computer: "pc", progress: 1 })
      assert.deepStrictEqual(open(), ["a1"])
    })
  )
})
