import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { AuditEvent } from "../../../../src/application/ports/AuditLog.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { auditCall, makeMembershipAudit } from "../../../../src/application/server/observability/auditing.ts"
import type { CompletedCall, ObservedEvent } from "../../../../src/application/server/observability/observers.ts"
import { completedCall } from "../parts.ts"

const recorder = () => {
  const events: Array<AuditEvent> = []
  return { events, audit: { record: (event: AuditEvent) => void events.push(event), lostCount: () => 0 } }
}

describe("the audit of a call", () => {
  const fieldsOf = (given: Partial<CompletedCall>): ReadonlyArray<Record<string, unknown>> => {
    const { audit, events } = recorder()
    auditCall(audit)(completedCall({ request: jsonBody({ tool_name: "echo" }), endedAt: 1002.3456, ...given }))
    return events.map(({ fields, time }) => ({ time, ...fields }))
  }

  it("has its end, its duration in microseconds and its tool", () =>
    assert.deepStrictEqual(fieldsOf({}), [
      {
        time: 1002.3456,
        type: "call",
        office: "O1",
        line: "0.2",
        agent: "agent-1",
        subject: "subject-1",
        computer: "pc-1",
        event: "client:tool_call",
        tool: "echo",
        req_id: "request-1",
        outcome: "ok",
        ms: 2.346
      }
    ]))

  it.each([
    [true, "allow"],
    [false, "deny"]
  ] as const)("has the approval, its decision and the approver: allowed %s", (isAllowed, action) => {
    const decision = { _tag: "Decided", computer: "pc-1", isAllowed, by: "operator:ann" } as const
    assert.deepInclude(fieldsOf({ decision, approval: "a1" })[0] ?? {}, {
      approval: "a1",
      action,
      decided_by: "operator:ann"
    })
  })

  it.each([
    [{ error_code: 4005 }, "4005"],
    [{ a2c_cancelled: true }, "cancelled"],
    [{ a2c_timeout: true }, "timeout"],
    [{}, undefined]
  ])("has the cause of a failure outside the tool: %j", (meta, cause) => {
    const [fields] = fieldsOf({ outcome: jsonBody({ content: [], isError: true, meta }) })
    assert.deepStrictEqual([fields?.["outcome"], fields?.["cause"]], ["tool_error", cause])
  })

  it("has no tool when the request names none", () =>
    assert.isUndefined(fieldsOf({ request: jsonBody({}) })[0]?.["tool"]))

  it("truncates texts of more than 256 characters", () => {
    const [whole, longer] = ["a".repeat(256), "a".repeat(257)]
    const truncated = `${"a".repeat(255)}…`
    const request = jsonBody({ tool_name: longer })
    assert.deepInclude(fieldsOf({ computer: whole, reqId: whole })[0] ?? {}, { computer: whole, req_id: whole })
    assert.deepInclude(fieldsOf({ computer: longer, reqId: longer, request })[0] ?? {}, {
      computer: truncated,
      req_id: truncated,
      tool: truncated
    })
  })
})

describe("the audit of memberships", () => {
  const audited = Effect.fnUntraced(function* (event: ObservedEvent) {
    const { audit, events } = recorder()
    makeMembershipAudit(audit, yield* Clock.Clock)(event)
    return events.map(({ fields }) => fields)
  })
  const member = { office: "O1", role: "computer", name: "pc-1" } as const
  const session = { sid: "s", line: "0.3", subject: "u" } as const
  const cases: ReadonlyArray<readonly [string, ObservedEvent, object]> = [
    ["a join", { _tag: "Entered", membership: member, ...session }, { type: "join", ...member, ...session }],
    ["a leave", { _tag: "Left", membership: member, ...session }, { type: "leave", ...member, ...session }],
    [
      "a rejected connection",
      { _tag: "ConnectionRejected", sid: "s", remoteAddress: "::1", code: 401, reason: "r".repeat(300) },
      { type: "connection_refused", remote: "::1", code: 401, reason: `${"r".repeat(255)}…`, sid: "s" }
    ],
    [
      "a rejected join",
      { _tag: "JoinRejected", sid: "s", subject: "u", reason: "full" },
      { type: "join_refused", subject: "u", reason: "full", sid: "s" }
    ],
    [
      "a rejected request",
      { _tag: "RequestRejected", sid: "s", subject: "u", membership: member, event: "e", code: 403, reason: "r" },
      { type: "request_refused", event: "e", ...member, code: 403, reason: "r", subject: "u", sid: "s" }
    ]
  ]
  for (const [title, event, fields] of cases) {
    it.effect(`has ${title}`, () => Effect.map(audited(event), (events) => assert.deepStrictEqual(events, [fields])))
  }

  it.effect("limits rejected connections only", () =>
    Effect.gen(function* () {
      const { audit, events } = recorder()
      const observe = makeMembershipAudit(audit, yield* Clock.Clock)
      const rejected: ObservedEvent = { _tag: "ConnectionRejected", remoteAddress: "::1", code: 401, reason: "r" }
      for (let count = 0; count < 1003; count += 1) observe(rejected)
      for (let count = 0; count < 3; count += 1)
        observe({ _tag: "JoinRejected", sid: "s", subject: "u", reason: "full" })
      assert.strictEqual(events.length, 1003)
      yield* TestClock.adjust("1 second")
      observe(rejected)
      observe(rejected)
      assert.deepStrictEqual(
        events.slice(-2).map(({ fields }) => fields["omitted"]),
        [3, undefined]
      )
    })
  )
})
