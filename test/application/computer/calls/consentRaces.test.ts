import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeApprovals } from "../../../../src/application/computer/approvals/Approvals.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { Policy } from "../../../../src/application/ports/approvals/Policy.ts"
import type { ApprovalAnswer } from "../../../../src/domain/approvals/Approval.ts"
import { type Approver, officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import type { PolicyDecision } from "../../../../src/domain/policy/Rule.ts"
import type { CatalogueEntry } from "../../../../src/domain/tools/catalogue.ts"
import { errorCodeOf } from "../../../../src/domain/tools/errorResults.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { staged } from "../stage.ts"

const settle = TestClock.adjust(0)
const ann: Approver = { _tag: "page", name: "operator:ann" }
const once: ApprovalAnswer = { action: "allow", scope: "once" }
const always: ApprovalAnswer = { action: "allow", scope: "tool" }
const form = { mode: "form", message: "Who?", schema: { type: "object" } } as const

describe("call that a slow policy decides", () => {
  /** A Computer whose policy waits for `answer` from the second call on; an approver allowed its tool lastingly. */
  const slow = Effect.gen(function* () {
    const ran: Array<string> = []
    const write = tool("write", () => Effect.sync(() => (ran.push("write"), textResult("write"))))
    const notes = yield* makeMemoryMcpServer({ tools: [write] })
    const answer = yield* Deferred.make<PolicyDecision>()
    const interrupted = yield* Deferred.make<void>()
    let calls = 0
    const ask: PolicyDecision = { action: "ask", by: "engine" }
    const decide = () =>
      Effect.suspend(() => {
        calls += 1
        return calls === 1
          ? Effect.succeed(ask)
          : Effect.onInterrupt(Deferred.await(answer), () => Deferred.succeed(interrupted, undefined))
      })
    const prompts: Array<string> = []
    const { computer } = yield* staged({
      servers: { notes },
      policy: Layer.succeed(Policy, { decide }),
      settings: {
        confirm: ({ id }) => Effect.sync(() => (prompts.push(id) === 1 ? always : false))
      }
    })
    yield* settle
    const call = computer.callTool({ tool: "write", params: {}, requester: "host", timeout: Duration.seconds(30) })
    assert.isFalse((yield* call).isError)
    const calling = yield* Effect.forkScoped(call)
    yield* settle
    return {
      answer: (decision: PolicyDecision) => Deferred.succeed(answer, decision),
      ask,
      calling,
      computer,
      interrupted,
      prompts,
      ran
    }
  })

  it.effect("needs an approval when its grant is revoked meanwhile", () =>
    Effect.gen(function* () {
      const { answer, ask, calling, computer, prompts, ran } = yield* slow
      const [grant] = yield* computer.grants
      assert.isTrue(yield* computer.revokeGrant(grant?.id ?? ""))
      yield* answer(ask)
      assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4005)
      assert.lengthOf(prompts, 2)
      assert.lengthOf(ran, 1)
    })
  )

  it.effect("runs under its grant, which remains", () =>
    Effect.gen(function* () {
      const { answer, ask, calling, prompts, ran } = yield* slow
      yield* answer(ask)
      assert.isFalse((yield* Fiber.join(calling)).isError)
      assert.lengthOf(prompts, 1)
      assert.lengthOf(ran, 2)
    })
  )

  it.effect("does not run when the policy denies it, in spite of its grant", () =>
    Effect.gen(function* () {
      const { answer, calling, ran } = yield* slow
      yield* answer({ action: "deny", by: "engine" })
      assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4005)
      assert.lengthOf(ran, 1)
    })
  )

  it.effect("ends the policy's decision when it is cancelled", () =>
    Effect.gen(function* () {
      const { answer, ask, calling, interrupted, ran } = yield* slow
      yield* Fiber.interrupt(calling)
      yield* Deferred.await(interrupted)
      yield* answer(ask)
      yield* settle
      assert.lengthOf(ran, 1)
    })
  )

  it.effect("fails at its timeout, and does not run afterwards", () =>
    Effect.gen(function* () {
      const { answer, calling, ran } = yield* slow
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4005)
      yield* answer({ action: "allow", by: "engine" })
      yield* settle
      assert.lengthOf(ran, 1)
    })
  )
})

describe("approvals and questions of one tool", () => {
  const entryOf = (description: string): CatalogueEntry => ({
    tool: { name: "write", description, paramsSchema: {}, returnSchema: null },
    server: "notes",
    serverId: "notes",
    originalName: "write",
    shortName: "write",
    autoApply: false
  })

  const facts = (reqId: string, description = "") => ({
    reqId,
    caller: officeCaller("brain", 1, true),
    params: {},
    entry: entryOf(description),
    config: undefined,
    place: { office: "lab", line: "0.2" }
  })

  const wait = { limit: Duration.seconds(10), announce: () => Effect.succeed(false) }

  /** The approvals of a Computer. `prompts` are the open prompts of its programs. */
  const deciding = Effect.gen(function* () {
    const prompts = new Set<string>()
    const prompt = ({ id }: { readonly id: string }) =>
      Effect.acquireUseRelease(
        Effect.sync(() => prompts.add(id)),
        () => Effect.never,
        () => Effect.sync(() => prompts.delete(id))
      )
    const approvals = yield* Effect.provideService(makeApprovals("pc"), ComputerSettings, {
      ...ComputerSettings.defaultValue(),
      approvers: ["page"],
      confirm: prompt,
      onInput: prompt
    })
    const request = (reqId: string, description?: string) =>
      Effect.forkScoped(
        approvals.request({ ...facts(reqId, description), askedBy: "default", reason: undefined }, wait),
        { startImmediately: true }
      )
    const ask = (reqId: string) =>
      Effect.forkScoped(approvals.ask({ ...facts(reqId), input: form }, wait), { startImmediately: true })
    const idOf = (reqId: string) => approvals.open().find((one) => one.reqId === reqId)?.id ?? ""
    return { approvals, ask, idOf, prompts, request }
  })

  it.effect("keeps a question open when its tool is allowed for good", () =>
    Effect.gen(function* () {
      const { approvals, ask, idOf, prompts, request } = yield* deciding
      const asking = yield* ask("q")
      const [one, other] = [yield* request("a"), yield* request("b")]
      yield* settle
      yield* approvals.decide(idOf("a"), always, ann)
      assert.deepStrictEqual([(yield* Fiber.join(one)).state, (yield* Fiber.join(other)).state], ["allowed", "allowed"])
      yield* settle
      assert.deepStrictEqual([...prompts], [idOf("q")])
      yield* approvals.decide(idOf("q"), { ...once, content: { name: "Ada" } }, ann)
      assert.deepStrictEqual((yield* Fiber.join(asking)).answer, { action: "accept", content: { name: "Ada" } })
    })
  )

  it.effect.each<[string, ApprovalAnswer]>([
    ["an answer", { ...once, content: {} }],
    ["a refusal", { action: "deny" }],
    ["a cancellation", { action: "cancel" }]
  ])("neither pins nor grants the tool by %s to its question", ([, answer]) =>
    Effect.gen(function* () {
      const { approvals, ask, idOf, request } = yield* deciding
      const asking = yield* ask("q")
      yield* settle
      yield* approvals.decide(idOf("q"), answer, ann)
      yield* Fiber.join(asking)
      yield* request("later", "changed")
      yield* settle
      const [later] = approvals.open()
      assert.isDefined(later)
      assert.isUndefined(later?.change)
      assert.isUndefined(later?.previousParams)
      assert.isEmpty(approvals.grants())
    })
  )

  it.effect.each<
    [string, (made: Effect.Success<typeof deciding>, calling: Fiber.Fiber<unknown>) => Effect.Effect<unknown, unknown>]
  >([
    ["an operator allows the call", ({ approvals, idOf }) => approvals.decide(idOf("a"), once, ann)],
    ["an operator denies the call", ({ approvals, idOf }) => approvals.decide(idOf("a"), { action: "deny" }, ann)],
    ["the tool is allowed at another call", ({ approvals, idOf }) => approvals.decide(idOf("b"), always, ann)],
    ["the time is over", () => TestClock.adjust("10 seconds")],
    ["the call is cancelled", (_, calling) => Fiber.interrupt(calling)]
  ])("withdraws the prompt when %s", ([, act]) =>
    Effect.gen(function* () {
      const made = yield* deciding
      const calling = yield* made.request("a")
      yield* made.request("b")
      yield* settle
      const id = made.idOf("a")
      assert.isTrue(made.prompts.has(id))
      yield* act(made, calling)
      yield* settle
      assert.isFalse(made.prompts.has(id))
    })
  )

  it.effect.each<[string, Duration.Input, boolean]>([
    ["before its end", "9999 millis", true],
    ["at its end", "10 seconds", false]
  ])("has one outcome for an answer %s", ([, at, isInTime]) =>
    Effect.gen(function* () {
      const { approvals, idOf, request } = yield* deciding
      const calling = yield* request("a")
      yield* settle
      const id = idOf("a")
      const answering = yield* Effect.forkScoped(
        Effect.andThen(Effect.sleep(at), Effect.exit(approvals.decide(id, once, ann)))
      )
      yield* TestClock.adjust("10 seconds")
      const isAccepted = Exit.isSuccess(yield* Fiber.join(answering))
      const { state } = yield* Fiber.join(calling)
      assert.strictEqual(isAccepted, state === "allowed")
      assert.strictEqual(approvals.find(id)?.decision?.state, state)
      if (isInTime) assert.isTrue(isAccepted)
    })
  )
})
