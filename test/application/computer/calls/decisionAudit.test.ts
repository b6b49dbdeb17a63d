import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import * as RulePolicy from "../../../../src/application/computer/calls/RulePolicy.ts"
import { type AuditEvent, AuditLog } from "../../../../src/application/ports/AuditLog.ts"
import type { ApprovalAnswer } from "../../../../src/domain/approvals/Approval.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { link, nextApproval, testComputer } from "../testComputer.ts"

/** A Computer with an audit, and the lines about decisions. */
const audited = Effect.gen(function* () {
  const events: Array<AuditEvent> = []
  const audit = Layer.succeed(AuditLog, { record: (event) => void events.push(event), lostCount: () => 0 })
  const notes = yield* makeMemoryMcpServer({
    tools: ["read", "write", "erase"].map((name) => tool(name, () => Effect.succeed(textResult(name))))
  })
  const policy = RulePolicy.layer([
    { action: "allow", tool: ["read"] },
    { action: "deny", tool: ["erase"], reason: "nothing is erased" }
  ])
  const { computer } = yield* Effect.provide(
    testComputer({
      servers: { notes },
      policy,
      settings: { approvers: ["page"] },
      transport: { connect: () => Effect.succeed(link) }
    }),
    audit
  )
  yield* TestClock.adjust(0)
  const call = (name: string) => computer.callTool({ tool: name, params: { path: "a" }, requester: "ada" })
  const decideNext = Effect.fnUntraced(function* (answer: ApprovalAnswer) {
    const calling = yield* Effect.forkChild(call("write"))
    yield* computer.decideApproval((yield* nextApproval(computer)).id, answer, "operator:ann")
    yield* Fiber.join(calling)
  })
  const lines = () =>
    events.map(({ fields }) => {
      const { approval: _approval, req_id: _, type, ...line } = fields
      assert.strictEqual(type, "decision")
      return line
    })
  return { call, computer, decideNext, events, lines }
})

const line = (toolName: string, decision: object) => ({
  computer: "pc",
  server: "notes",
  tool: toolName,
  original_name: toolName,
  caller_kind: "local",
  agent: "ada",
  ...decision
})

describe("the audit of a Computer", () => {
  it.effect("states for every call which rule or person decided", () =>
    Effect.gen(function* () {
      const { call, computer, decideNext, lines } = yield* audited
      yield* call("read")
      yield* call("erase")
      yield* decideNext({ action: "allow", scope: "once" })
      yield* decideNext({ action: "deny", reason: "no" })
      yield* decideNext({ action: "allow", scope: "tool", until: 60_000 })
      yield* call("write")
      yield* computer.callTool({ tool: "write", params: {} })
      assert.deepStrictEqual<unknown>(
        lines(),
        [
          line("read", { action: "allow", by: "rule 1" }),
          line("erase", { action: "deny", by: "rule 2", reason: "nothing is erased" }),
          line("write", { action: "allow", by: "operator:ann", scope: "once" }),
          line("write", { action: "deny", by: "operator:ann", reason: "no" }),
          line("write", { action: "allow", by: "operator:ann", scope: "tool", until: "1970-01-01T00:01:00.000Z" }),
          line("write", { action: "allow", by: "grant of operator:ann" }),
          { ...line("write", { action: "allow", by: "owner" }), caller_kind: "owner", agent: undefined }
        ].map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)))
      )
    })
  )

  it.effect("has the id of the approval that was denied", () =>
    Effect.gen(function* () {
      const { call, computer, events } = yield* audited
      const calling = yield* Effect.forkChild(call("write"))
      const { id } = yield* nextApproval(computer)
      yield* computer.decideApproval(id, { action: "deny" }, "operator:ann")
      yield* Fiber.join(calling)
      yield* call("erase")
      assert.deepStrictEqual(
        events.map(({ fields: { action, approval } }) => [action, approval]),
        [
          ["deny", id],
          ["deny", undefined]
        ]
      )
    })
  )

  it.effect("names the office in which the call began", () =>
    Effect.gen(function* () {
      const { call, computer, decideNext, lines } = yield* audited
      const allowed = { action: "allow", scope: "once" } as const
      const calling = yield* Effect.forkChild(call("write"))
      const { id } = yield* nextApproval(computer)
      yield* computer.join({ office: "o" })
      yield* computer.decideApproval(id, allowed, "operator:ann")
      yield* Fiber.join(calling)
      yield* decideNext(allowed)
      yield* computer.leave
      yield* call("read")
      assert.deepStrictEqual<unknown>(lines(), [
        line("write", { ...allowed, by: "operator:ann" }),
        line("write", { ...allowed, by: "operator:ann", office: "o" }),
        line("read", { action: "allow", by: "rule 1" })
      ])
    })
  )

  it.effect("states that no approver answered, and that a call was cancelled before", () =>
    Effect.gen(function* () {
      const { call, events, lines } = yield* audited
      const expiring = yield* Effect.forkChild(call("write"))
      yield* TestClock.adjust("5 minutes")
      yield* Fiber.join(expiring)
      const cancelled = yield* Effect.forkChild(call("write"))
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(cancelled)
      assert.deepStrictEqual<unknown>(lines(), [
        line("write", { action: "expired" }),
        line("write", { action: "cancelled" })
      ])
      assert.isDefined(events[0]?.request)
    })
  )
})
