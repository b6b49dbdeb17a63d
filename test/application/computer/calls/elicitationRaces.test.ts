import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as JsonSchemaValidator from "../../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import { layer as memoryMcp, makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { type Approvals, makeApprovals } from "../../../../src/application/computer/approvals/Approvals.ts"
import { makeToolCalls } from "../../../../src/application/computer/calls/ToolCalls.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerSupervisor } from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import { type ApprovalAnswer, fromInputAnswer } from "../../../../src/domain/approvals/Approval.ts"
import type { InputAnswer, InputRequest } from "../../../../src/domain/model/InputRequest.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { setupOf } from "../testComputer.ts"
import { officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import { Policy } from "../../../../src/application/ports/approvals/Policy.ts"
import { ApprovalStore } from "../../../../src/application/ports/approvals/ApprovalStore.ts"
import { AuditLog } from "../../../../src/application/ports/AuditLog.ts"

/** What a responder does, and when: several at once, before and after the expiry at 30 seconds. */
const Step = Schema.Struct({
  by: Schema.Literals(["agent", "operator", "owner", "hook", "cancellation"]),
  at: Schema.Literals([0, 1, 1, 2, 29, 30, 31]),
  answer: Schema.Literals(["accept", "invalid", "decline", "cancel"])
})
type Step = typeof Step.Type

const form: InputRequest = {
  mode: "form",
  message: "Who?",
  schema: { type: "object", properties: { by: { type: "string" } }, required: ["by"] }
}

const answerOf = ({ answer, by }: Step): InputAnswer => {
  if (answer === "accept") return { action: "accept", content: { by } }
  return answer === "invalid" ? { action: "accept", content: { by: 1 } } : { action: answer }
}

/** An answer to the question, and whether it was accepted; a hook learns nothing. */
interface Given {
  readonly answer: InputAnswer
  readonly outcome: "accepted" | number | undefined
}

interface Race {
  readonly given: ReadonlyArray<Given>
  readonly received: ReadonlyArray<InputAnswer>
}

type Decide = Approvals["decide"]

/** Lets responders race for a question of a call. `plant` changes how answers are taken. */
const race = Effect.fnUntraced(function* (
  steps: ReadonlyArray<Step>,
  plant: (decide: Decide, received: Array<InputAnswer>) => Decide = (decide) => decide
) {
  const given: Array<Given> = []
  const received: Array<InputAnswer> = []
  const hook = steps.find(({ by }) => by === "hook")
  const requests = tool("ask", (_, { ask: request }) =>
    Effect.map(request(form), (answer) => (received.push(answer), textResult("done")))
  )
  const alpha = yield* makeMemoryMcpServer({ tools: [requests] })
  const setup = setupOf(["alpha"], { configure: { alpha: { default_tool_meta: { auto_apply: true } } } })
  yield* Effect.gen(function* () {
    const supervisor = yield* makeServerSupervisor(setup, makeSecrets(), () => Effect.void)
    const approvals = yield* makeApprovals("pc", supervisor)
    const reporter = { report: () => Effect.void, announceWait: () => Effect.succeed(true) }
    const { call, cancel } = yield* makeToolCalls({
      approvals,
      computer: "pc",
      currentOffice: () => undefined,
      reporter,
      secrets: makeSecrets(),
      servers: supervisor
    })
    const decide = plant(approvals.decide, received)
    yield* TestClock.adjust(0)
    const request = { agent: "ada", computer: "pc", reqId: "r", toolName: "ask", params: {}, timeout: 600 }
    const calling = yield* Effect.forkScoped(call({ ...request, inputModes: ["form"] }, officeCaller("ada", 1, true)))
    yield* TestClock.adjust(0)
    const id = approvals.open()[0]?.id ?? ""
    const act = Effect.fnUntraced(function* (step: Step) {
      yield* Effect.sleep(Duration.seconds(step.at))
      if (step.by === "cancellation") return yield* cancel("r", officeCaller("ada", 1, true))
      if (step.by === "hook") return
      const answer: ApprovalAnswer = fromInputAnswer(answerOf(step))
      const outcome = yield* Effect.result(decide(id, answer, { _tag: "page", name: step.by }))
      given.push({ answer: answerOf(step), outcome: Result.isSuccess(outcome) ? "accepted" : outcome.failure.code })
    })
    const acting = yield* Effect.forkScoped(Effect.forEach(steps, act, { concurrency: "unbounded", discard: true }))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(acting)
    yield* Fiber.await(calling)
    assert.isEmpty(approvals.open())
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(
        memoryMcp(new Map([["alpha", alpha]])),
        Inputs.layer(),
        JsonSchemaValidator.layer,
        Policy.layerNone,
        ApprovalStore.layerNone,
        AuditLog.layerNone
      )
    ),
    Effect.provideService(ComputerSettings, {
      ...ComputerSettings.defaultValue(),
      approvalTimeout: Duration.seconds(30),
      onInput:
        hook &&
        (() =>
          Effect.delay(Effect.succeed(answerOf(hook)), Duration.seconds(hook.at)).pipe(
            Effect.tap(() => Effect.sync(() => given.push({ answer: answerOf(hook), outcome: undefined })))
          ))
    })
  )
  return { given, received }
})

/** The rule of questions: one answer is accepted at most, and the MCP server receives it, and nothing else. */
const findViolation = ({ given, received }: Race): string | undefined => {
  const accepted = given.filter(({ outcome }) => outcome === "accepted")
  const isSame = (one: InputAnswer, other: InputAnswer) => JSON.stringify(one) === JSON.stringify(other)
  if (accepted.length > 1) return `${accepted.length} answers were accepted`
  if (received.length > 1) return `the MCP server received ${received.length} answers`
  if (given.some(({ outcome }) => typeof outcome === "number" && ![400, 404, 409].includes(outcome))) return "an error"
  const [answer] = received
  const [winner] = accepted
  if (winner !== undefined && answer !== undefined && !isSame(winner.answer, answer)) return "another answer arrived"
  if (answer === undefined || winner !== undefined) return undefined
  const isOfHook = given.some(
    (one) => one.outcome === undefined && (isSame(one.answer, answer) || answer.action === "decline")
  )
  return isOfHook || answer.action === "cancel" ? undefined : "an answer arrived that none was accepted"
}

describe("race for a question", () => {
  it.effect.prop(
    "has one accepted answer, which the MCP server receives once",
    [Schema.Array(Step).check(Schema.isMaxLength(8))],
    ([steps]) =>
      Effect.map(race(steps), (outcome) => assert.isUndefined(findViolation(outcome), JSON.stringify(outcome))),
    { arbitrary: { runs: 150 } }
  )

  it.effect("is found unfair when a second answer is accepted", () =>
    Effect.gen(function* () {
      const steps: ReadonlyArray<Step> = [
        { by: "agent", at: 1, answer: "accept" },
        { by: "operator", at: 2, answer: "decline" }
      ]
      const outcome = yield* race(
        steps,
        (decide) => (id, answer, approver) =>
          Effect.catchIf(
            decide(id, answer, approver),
            ({ code }) => code === 409,
            () => Effect.succeed({ state: "allowed", by: "second", at: 0, scope: "once" } as const)
          )
      )
      assert.strictEqual(findViolation(outcome), "2 answers were accepted")
    })
  )

  it.effect("is found unfair when an accepted answer is lost", () =>
    Effect.gen(function* () {
      const lost = yield* Deferred.make<void>()
      const outcome = yield* race(
        [{ by: "agent", at: 1, answer: "accept" }],
        (decide) => (id, _answer, by) =>
          Effect.andThen(Deferred.succeed(lost, undefined), decide(id, { action: "deny" }, by))
      )
      assert.isTrue(yield* Deferred.isDone(lost))
      assert.strictEqual(findViolation(outcome), "another answer arrived")
    })
  )
})
