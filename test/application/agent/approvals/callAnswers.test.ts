import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { answerStatuses } from "../../../../src/application/agent/approvals/callAnswers.ts"
import type { ApprovalAnswer } from "../../../../src/domain/approvals/Approval.ts"
import type { ApprovalView } from "../../../../src/domain/approvals/ApprovalView.ts"
import type { CallStatus } from "../../../../src/domain/model/CallStatus.ts"
import type { InputRequest } from "../../../../src/domain/model/InputRequest.ts"
import { badRequest } from "../../../../src/domain/model/ProtocolError.ts"

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

const decidedAs = (isAllowed: boolean): CallStatus => ({ _tag: "Decided", computer: "pc", isAllowed, by: "ann" })

/**
 * An Agent whose program is asked, and never answers: the prompts that are open. Its Computer gives an approval after
 * `fetched`.
 */
const prompting = Effect.fnUntraced(function* (isQuestion: boolean, fetched: Effect.Effect<void> = Effect.void) {
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
      getApprovals: (_, { approvalId: id = "" } = {}) =>
        Effect.as(fetched, [view("other", isQuestion), view(id, isQuestion)]),
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
  it.effect.each([true, false])("is withdrawn when another approver decides, and the call runs on: %s", (isAllowed) =>
    Effect.gen(function* () {
      const { open, shown, notify } = yield* prompting(isQuestion)
      yield* notify(waitsFor("a1", isQuestion))
      assert.deepStrictEqual(open(), ["a1"])
      yield* notify(decidedAs(isAllowed))
      assert.deepStrictEqual(open(), [])
      assert.deepStrictEqual(shown, ["WaitingForConsent", "Decided"])
    })
  )

  it.effect("is not opened when another approver decides before its approval is there", () =>
    Effect.gen(function* () {
      const fetched = yield* Deferred.make<void>()
      const { open, notify } = yield* prompting(isQuestion, Deferred.await(fetched))
      yield* notify(waitsFor("a1", isQuestion))
      yield* notify(decidedAs(true))
      yield* Deferred.succeed(fetched, undefined)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(open(), [])
    })
  )

  it.effect("is withdrawn when the call ends", () =>
    Effect.gen(function* () {
      const call = yield* Scope.make()
      const { open, notify } = yield* Scope.provide(prompting(isQuestion), call)
      yield* notify(waitsFor("a1", isQuestion))
      yield* Scope.close(call, Exit.void)
      assert.deepStrictEqual(open(), [])
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

describe("a call whose program answers some of what it waits for", () => {
  it.effect.each([
    ["questions", true, { onApproval: () => Effect.never }],
    ["approvals", false, { onInput: () => Effect.never }]
  ] as const)("requests nothing about the others: %s", ([, isQuestion, answers]) =>
    Effect.gen(function* () {
      const requested: Array<string> = []
      const receive = yield* answerStatuses(
        {
          getApprovals: (_, { approvalId: id = "" } = {}) => Effect.sync(() => (requested.push(id), [])),
          decideApproval: (_, id) => Effect.succeed(view(id, isQuestion))
        },
        "pc",
        answers
      )
      yield* Effect.andThen(receive(waitsFor("a1", isQuestion)), TestClock.adjust(0))
      yield* Effect.andThen(receive(waitsFor("a2", !isQuestion)), TestClock.adjust(0))
      assert.deepStrictEqual(requested, ["a2"])
    })
  )
})

describe("a question of a call", () => {
  /** An Agent whose program gives these answers and then waits; its Computer accepts none that has a content. */
  const answering = Effect.fnUntraced(function* (answers: ReadonlyArray<object>) {
    const left = [...answers]
    const asked: Array<string> = []
    const sent: Array<ApprovalAnswer> = []
    let withdrawn = 0
    const receive = yield* answerStatuses(
      {
        getApprovals: (_, { approvalId: id = "" } = {}) => Effect.succeed([view(id, true)]),
        decideApproval: (_, id, answer) =>
          Effect.suspend(() => {
            sent.push(answer)
            return "content" in answer ? Effect.fail(badRequest("/name: too short")) : Effect.succeed(view(id, true))
          })
      },
      "pc",
      {
        onInput: ({ message }: InputRequest) =>
          Effect.suspend(() => {
            asked.push(message)
            const content = left.shift()
            return content === undefined
              ? Effect.onInterrupt(Effect.never, () => Effect.sync(() => void withdrawn++))
              : Effect.succeed({ action: "accept", content: { ...content } } as const)
          })
      }
    )
    const notify = (status: CallStatus) => Effect.andThen(receive(status), TestClock.adjust(0))
    return { asked, sent, withdrawn: () => withdrawn, notify }
  })

  it.effect("is withdrawn also when it is asked again", () =>
    Effect.gen(function* () {
      const { asked, notify, withdrawn } = yield* answering([{ name: "A" }])
      yield* notify(waitsFor("who?", true))
      assert.deepStrictEqual(asked, ["who?", "/name: too short\n\nwho?"])
      yield* notify(decidedAs(true))
      assert.strictEqual(withdrawn(), 1)
    })
  )

  it.effect("is declined after three invalid answers", () =>
    Effect.gen(function* () {
      const { asked, notify, sent } = yield* answering([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }])
      yield* notify(waitsFor("who?", true))
      assert.lengthOf(asked, 3)
      assert.deepStrictEqual(sent, [
        ...[1, 2, 3].map((a) => ({ action: "allow", scope: "once", content: { a } }) as const),
        { action: "deny" }
      ])
    })
  )

  it.effect("follows the one before, which another responder has answered", () =>
    Effect.gen(function* () {
      const { asked, notify, withdrawn } = yield* answering([])
      yield* notify(waitsFor("first", true))
      yield* notify(decidedAs(true))
      yield* notify(waitsFor("second", true))
      assert.deepStrictEqual([asked, withdrawn()], [["first", "second"], 1])
    })
  )
})
