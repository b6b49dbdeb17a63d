import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import * as RulePolicy from "../../../../src/application/computer/calls/RulePolicy.ts"
import { type AuditEvent, AuditLog } from "../../../../src/application/ports/AuditLog.ts"
import type { Link } from "../../../../src/application/ports/Transport.ts"
import type { Rule } from "../../../../src/domain/policy/parseRules.ts"
import type { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import {
  autoApply,
  joined,
  link,
  losable,
  nextApproval,
  nextApprovals,
  openApprovals,
  provingLink
} from "../testComputer.ts"

const form = { mode: "form", message: "Who?", schema: { type: "object" } } as const

/** What a call waits for: the answer to a question of its MCP server, or consent. */
type Kind = "question" | "approval"

/**
 * A Computer in an office, whose tool `work` waits, and whose tool `consented` needs consent. `ask` sends a request in the
 * name of an Agent.
 */
const waiting = Effect.fnUntraced(function* (
  kind: Kind,
  approvers: ComputerSettings["approvers"] = ["agent"],
  server: Link = link
) {
  const work = tool("work", (_, { ask: request }) =>
    Effect.as(kind === "question" ? request(form) : Effect.void, textResult("done"))
  )
  const alpha = yield* makeMemoryMcpServer({ tools: [work] })
  const beta = yield* makeMemoryMcpServer({ tools: [tool("consented")] })
  const { connect, lost } = yield* losable(server)
  const { request, computer, receive } = yield* joined(
    {
      servers: { alpha, beta },
      configure: kind === "question" ? { alpha: autoApply } : {},
      settings: { approvers, confirm: () => Effect.never, onInput: () => Effect.never }
    },
    connect
  )
  const list = (agent: string, more: JsonObject = {}) =>
    Effect.map(request("client:get_approvals", { agent, ...more }), (reply) =>
      (asObject(reply)["approvals"] as ReadonlyArray<JsonObject>).map(({ id }) => id)
    )
  /** Gives the code of the error, if any. */
  const decide = (agent: string, id: string) => {
    const answer = { action: "allow", ...(kind === "question" && { content: {} }) }
    return Effect.map(
      request("client:decide_approval", { agent, approval_id: id, ...answer }),
      (reply) => asObject(reply)["code"]
    )
  }
  const openId = Effect.map(nextApproval(computer), ({ id }) => id)
  const task = (agent: string, method: string, params: JsonObject) =>
    Effect.map(request("client:mcp", { agent, method, params }), (reply) => asObject(reply)["result"])
  const call = (agent: string, reqId: string, params: JsonObject = {}) =>
    Effect.forkScoped(request("client:tool_call", { agent, req_id: reqId, tool_name: "work", params, timeout: 60 }))
  return { request, call, computer, decide, list, lost, openId, receive, task }
})

const start = { id: "t1", tool: "work", params: {}, timeout: 600, inputModes: ["form"] }

describe("approval of a local call", () => {
  it.effect.each(
    (["question", "approval"] as const).flatMap((kind) =>
      ([undefined, "brain", "operator:ann", "owner"] as const).flatMap((requester) =>
        kind === "approval" && requester === undefined ? [] : [[kind, requester] as const]
      )
    )
  )("is no business of a member of the office that has the name of its caller: %s of %s", ([kind, requester]) =>
    Effect.gen(function* () {
      const { computer, decide, list, openId } = yield* waiting(kind)
      const name = requester ?? "owner"
      const calling = yield* Effect.forkChild(
        computer.callTool({ tool: "work", params: {}, ...(requester !== undefined && { requester }) })
      )
      yield* TestClock.adjust(0)
      const id = yield* openId
      assert.isEmpty(yield* list(name))
      assert.isEmpty(yield* list(name, { approval_id: id }))
      assert.strictEqual(yield* decide(name, id), 404)
      yield* computer.decideApproval(id, { action: "deny" })
      yield* Fiber.join(calling)
    })
  )
})

describe("approval of a task", () => {
  const departures = ["leaves", "is lost with the connection of the Computer"] as const

  it.effect.each(
    (["question", "approval"] as const).flatMap((kind) =>
      departures.flatMap((how) => ["brain", "operator:ann"].map((name) => [kind, how, name] as const))
    )
  )("is hidden from a member that joins under the name of its Agent: %s, after the Agent %s, %s", ([kind, how, name]) =>
    Effect.gen(function* () {
      const { decide, list, lost, openId, receive, task } = yield* waiting(kind)
      yield* task(name, "tasks/start", start)
      const id = yield* openId
      assert.deepStrictEqual(yield* list(name), [id])
      if (how === "leaves") yield* receive("notify:leave_office", { office_id: "o", agent: name })
      else yield* Deferred.succeed(lost, "lost")
      yield* TestClock.adjust("10 seconds")
      assert.isEmpty(yield* list(name))
      assert.isEmpty(yield* list(name, { approval_id: id }))
      assert.isUndefined(yield* task(name, "tasks/get", { id: "guessed" }))
      assert.strictEqual(yield* decide(name, id), 404)
      // The id of the task is the right to it.
      yield* task(name, "tasks/get", { id: "t1" })
      assert.deepStrictEqual(yield* list(name), [id])
      assert.isUndefined(yield* decide(name, id))
    })
  )

  it.effect("belongs to a later member that starts the same call under its id", () =>
    Effect.gen(function* () {
      const { decide, list, openId, receive, task } = yield* waiting("approval")
      yield* task("brain", "tasks/start", start)
      const id = yield* openId
      yield* receive("notify:leave_office", { office_id: "o", agent: "brain" })
      assert.isEmpty(yield* list("brain"))
      assert.isUndefined(yield* task("brain", "tasks/start", { ...start, params: { other: 1 } }))
      assert.isEmpty(yield* list("brain"))
      yield* task("brain", "tasks/start", start)
      assert.deepStrictEqual(yield* list("brain"), [id])
      assert.isUndefined(yield* decide("brain", id))
    })
  )

  it.effect("is answered by a later member that holds the task, also where Agents decide about no calls", () =>
    Effect.gen(function* () {
      const { decide, list, openId, receive, task } = yield* waiting("question", [])
      yield* task("brain", "tasks/start", start)
      const id = yield* openId
      yield* receive("notify:leave_office", { office_id: "o", agent: "brain" })
      yield* task("brain", "tasks/get", { id: "t1" })
      assert.deepStrictEqual(yield* list("brain"), [id])
      assert.isUndefined(yield* decide("brain", id))
    })
  )

  it.effect("stays with its Agent while members of other names ask for it, or leave", () =>
    Effect.gen(function* () {
      const { list, openId, receive, task } = yield* waiting("question")
      yield* task("brain", "tasks/start", start)
      yield* openId
      assert.isUndefined(yield* task("other", "tasks/get", { id: "t1" }))
      assert.lengthOf(yield* list("brain"), 1)
      assert.isEmpty(yield* list("other"))
      yield* receive("notify:leave_office", { office_id: "o", computer: "pc-2" })
      assert.lengthOf(yield* list("brain"), 1)
    })
  )
})

describe("a task whose id is that of a call of another caller", () => {
  const callers = [
    ["the owner", "question", "brain"],
    ["a client outside the office", "question", "brain"],
    ["a client outside the office", "approval", "brain"],
    ["operator:ann", "question", "brain"],
    ["operator:ann", "approval", "brain"],
    ["operator:ann", "question", "operator:bob"],
    ["brain", "question", "operator:ann"],
    ["brain", "approval", "operator:ann"]
  ] as const

  it.effect.each(callers)(
    "shows no approval of that call, and decides about none: %s, %s, %s",
    ([called, kind, other]) =>
      Effect.gen(function* () {
        const { call, computer, decide, list, task } = yield* waiting(kind, ["agent"], provingLink)
        const local = { tool: "work", params: {}, ...(called !== "the owner" && { requester: other }) }
        const isLocal = called === "the owner" || called === "a client outside the office"
        yield* isLocal ? Effect.forkScoped(computer.callTool(local)) : call(called, "chosen")
        const { id, reqId } = yield* nextApproval(computer)
        yield* task(other, "tasks/start", { ...start, id: reqId, tool: "unknown" })
        assert.isEmpty(yield* list(other))
        assert.isEmpty(yield* list(other, { approval_id: id }))
        assert.strictEqual(yield* decide(other, id), 404)
      })
  )

  it.effect("shows a later member the approval of the task alone", () =>
    Effect.gen(function* () {
      const { call, computer, list, receive, task } = yield* waiting("approval")
      yield* task("brain", "tasks/start", start)
      yield* receive("notify:leave_office", { office_id: "o", agent: "brain" })
      yield* task("brain", "tasks/get", { id: "t1" })
      yield* call("other", "t1")
      const open = yield* nextApprovals(computer, 2)
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* list("brain"), [open[0]?.id])
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* list("other"), [open[1]?.id])
    })
  )
})

describe("the departure of the Agent", () => {
  it.effect("leaves an operator its call, and the right to decide about it and to cancel it", () =>
    Effect.gen(function* () {
      const { call, computer, decide, list, openId, receive } = yield* waiting("approval", ["agent"], provingLink)
      const allowed = yield* call("operator:ann", "r1")
      const first = yield* openId
      yield* receive("notify:leave_office", { office_id: "o", agent: "brain" })
      assert.deepStrictEqual(yield* list("operator:ann"), [first])
      assert.isUndefined(yield* decide("operator:ann", first))
      assert.deepInclude(asObject(yield* Fiber.join(allowed)), { isError: false })
      const cancelled = yield* call("operator:ann", "r2")
      yield* openId
      yield* receive("notify:leave_office", { office_id: "o", agent: "brain" })
      yield* receive("notify:tool_call_cancel", { agent: "operator:ann", req_id: "r2" })
      assert.deepInclude(asObject(asObject(yield* Fiber.join(cancelled))["meta"]), { a2c_cancelled: true })
      assert.isEmpty(yield* openApprovals(computer))
    })
  )

  it.effect("ends the calls of an Agent whose name no Server proves to be that of an operator", () =>
    Effect.gen(function* () {
      const { call, openId, receive } = yield* waiting("approval")
      const calling = yield* call("operator:ann", "r1")
      yield* openId
      yield* receive("notify:leave_office", { office_id: "o", agent: "operator:ann" })
      assert.deepInclude(asObject(asObject(yield* Fiber.join(calling))["meta"]), { a2c_cancelled: true })
    })
  )

  it.effect("ends its calls, and not those of the next Agent of its name that arrive meanwhile", () =>
    Effect.gen(function* () {
      const slow = tool("slow", () => Effect.onInterrupt(Effect.never, () => Effect.sleep("1 second")))
      const { receive, request } = yield* joined({
        servers: { alpha: yield* makeMemoryMcpServer({ tools: [slow] }) },
        configure: { alpha: { default_tool_meta: { auto_apply: true } } }
      })
      const call = (reqId: string) =>
        Effect.forkScoped(
          request("client:tool_call", { agent: "brain", req_id: reqId, tool_name: "slow", params: {}, timeout: 60 }),
          { startImmediately: true }
        )
      const isCancelled = (calling: Fiber.Fiber<unknown>) =>
        Effect.map(Fiber.join(calling), (reply) => asObject(asObject(reply)["meta"])["a2c_cancelled"])
      const first = yield* call("r1")
      yield* TestClock.adjust(0)
      const leaving = receive("notify:leave_office", { office_id: "o", agent: "brain" })
      yield* Effect.forkScoped(leaving, { startImmediately: true })
      const next = [yield* call("r1"), yield* call("r2")]
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(yield* isCancelled(first))
      for (const [index, calling] of next.entries()) {
        assert.isUndefined(calling.pollUnsafe())
        yield* Effect.forkScoped(receive("notify:tool_call_cancel", { agent: "brain", req_id: `r${index + 1}` }))
        yield* TestClock.adjust("5 seconds")
        assert.isDefined(calling.pollUnsafe())
        assert.isTrue(yield* isCancelled(calling))
      }
    })
  )

  it.effect.each([
    ["brain", "an Agent", link],
    ["operator:ann", "an Agent whose name no Server proves", link],
    ["operator:ann", "an operator", provingLink]
  ] as const)("is not needed to cancel a call of %s: of %s", ([name, , server]) =>
    Effect.gen(function* () {
      const { call, openId, receive } = yield* waiting("approval", ["agent"], server)
      const calling = yield* call(name, "r1")
      yield* openId
      yield* receive("notify:tool_call_cancel", { agent: "other", req_id: "r1" })
      yield* receive("notify:tool_call_cancel", { agent: name, req_id: "r2" })
      yield* TestClock.adjust(0)
      assert.isUndefined(calling.pollUnsafe())
      yield* receive("notify:tool_call_cancel", { agent: name, req_id: "r1" })
      assert.deepInclude(asObject(asObject(yield* Fiber.join(calling))["meta"]), { a2c_cancelled: true })
    })
  )

  it.effect("ends the calls of an operator with the connection of the Computer", () =>
    Effect.gen(function* () {
      const { call, list, lost, openId } = yield* waiting("approval", ["agent"], provingLink)
      const calling = yield* call("operator:ann", "r1")
      yield* openId
      yield* Deferred.succeed(lost, "lost")
      yield* TestClock.adjust("10 seconds")
      assert.isEmpty(yield* list("operator:ann"))
      yield* Fiber.await(calling)
    })
  )
})

describe("grant of an Agent", () => {
  const left = ["brain", "other", "operator:ann"].map((name) => [name] as const)

  it.effect.each(left)("ends when the Agent leaves: a later call of %s waits", ([name]) =>
    Effect.gen(function* () {
      const { request, call, computer, openId, receive } = yield* waiting("approval")
      yield* call("brain", "r1")
      const id = yield* openId
      const always = { agent: "brain", approval_id: id, action: "allow", scope: "tool" }
      yield* request("client:decide_approval", always)
      const [grant] = yield* computer.grants
      assert.deepInclude(grant, { by: "agent brain", approver: "agent" })
      // It covers the calls of this Agent, and no others.
      yield* Effect.flatMap(call("brain", "r2"), Fiber.join)
      const local = yield* Effect.forkScoped(computer.callTool({ tool: "work", params: {}, requester: name }))
      yield* computer.decideApproval(yield* openId, { action: "deny" })
      yield* Fiber.join(local)
      if (name !== "brain") {
        yield* call(name, "r3")
        yield* computer.decideApproval(yield* openId, { action: "deny" })
        yield* TestClock.adjust(0)
      }
      yield* receive("notify:leave_office", { office_id: "o", agent: "brain" })
      assert.isEmpty(yield* computer.grants)
      yield* call(name, "r4")
      yield* openId
    })
  )
})

describe("grant of a later member that holds a task", () => {
  it.effect("covers the calls of this member", () =>
    Effect.gen(function* () {
      const { request, call, computer, openId, receive, task } = yield* waiting("approval")
      yield* task("brain", "tasks/start", start)
      const id = yield* openId
      yield* receive("notify:leave_office", { office_id: "o", agent: "brain" })
      yield* task("brain", "tasks/get", { id: "t1" })
      yield* request("client:decide_approval", { agent: "brain", approval_id: id, action: "allow", scope: "tool" })
      assert.lengthOf(yield* computer.grants, 1)
      const reply = yield* Effect.flatMap(call("brain", "r1"), Fiber.join)
      assert.deepInclude(asObject(reply), { isError: false })
    })
  )
})

describe("approval after a call with other arguments", () => {
  const shownTo = Effect.fnUntraced(function* (first: string, second: string, hasLeft: boolean) {
    const { request, call, computer, openId, receive } = yield* waiting("approval")
    yield* call(first, "r1", { secret: first })
    yield* computer.decideApproval(yield* openId, { action: "allow", scope: "once" })
    yield* TestClock.adjust(0)
    if (hasLeft) yield* receive("notify:leave_office", { office_id: "o", agent: first })
    yield* call(second, "r2", { secret: second })
    const { id, previousParams } = yield* nextApproval(computer)
    assert.deepStrictEqual(previousParams, { secret: first })
    const reply = yield* request("client:get_approvals", { agent: second, approval_id: id })
    return (asObject(reply)["approvals"] as ReadonlyArray<JsonObject>).map((view) => view["previous_arguments"])
  })

  it.effect.each([
    ["includes them for the Agent that called", "brain", "brain", false, '{\n  "secret": "brain"\n}'],
    ["hides them from another Agent", "brain", "other", true, undefined],
    ["hides them from a later Agent of its name", "brain", "brain", true, undefined],
    ["hides them from an operator", "brain", "operator:brain", false, undefined],
    ["hides those of an operator from the Agent", "operator:ann", "brain", false, undefined]
  ] as const)("%s", ([, first, second, hasLeft, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* shownTo(first, second, hasLeft), [expected])
    })
  )
})

describe("rules about operators", () => {
  const operators: Rule = { action: "allow", subject: ["operator:*"] }
  const servers = [
    ["proves", provingLink],
    ["does not prove", link]
  ] as const
  const names = ["operator:ann", "operator:", "operator:operator:bob", "OPERATOR:ann", "ann"]

  /** A Computer with these rules, and the decisions that it audits. */
  const ruled = Effect.fnUntraced(function* (rules: ReadonlyArray<Rule>, server: Link) {
    const decisions: Array<JsonObject> = []
    const alpha = yield* makeMemoryMcpServer({ tools: [tool("work")] })
    const record = ({ fields }: AuditEvent) => {
      const { action, agent, caller_kind: kind } = fields
      decisions.push({ action, agent, kind })
    }
    const { request, computer } = yield* joined(
      { servers: { alpha }, policy: RulePolicy.layer(rules) },
      Effect.succeed(server)
    ).pipe(Effect.provideService(AuditLog, { record, lostCount: () => 0 }))
    return { request, computer, decisions }
  })

  it.effect.each(servers.flatMap(([how, server]) => names.map((name) => [how, name, server] as const)))(
    "apply to those whom the Server proves: it %s %s",
    ([how, name, server]) =>
      Effect.gen(function* () {
        const { request, decisions } = yield* ruled([operators], server)
        yield* request("client:tool_call", { agent: name, req_id: "r", tool_name: "work", params: {}, timeout: 60 })
        const isOperator = how === "proves" && name.startsWith("operator:")
        const isPlain = isOperator || name === "ann"
        assert.deepStrictEqual(decisions, [
          {
            action: isOperator ? "allow" : "deny",
            agent: isPlain ? name : `agent ${name}`,
            kind: isOperator ? "operator" : "agent"
          }
        ])
      })
  )

  it.effect.each(servers.flatMap(([how, server]) => names.map((name) => [how, name, server] as const)))(
    "apply to no client outside the office: the Server %s, %s",
    ([, requester, server]) =>
      Effect.gen(function* () {
        const { computer, decisions } = yield* ruled([operators], server)
        yield* computer.callTool({ tool: "work", params: {}, requester })
        const agent = requester === "ann" ? requester : `client ${requester}`
        assert.deepStrictEqual(decisions, [{ action: "deny", agent, kind: "local" }])
      })
  )
})

describe("the list of the approvals of an Agent", () => {
  it.effect("has its questions only where Agents decide about no calls", () =>
    Effect.gen(function* () {
      const { request, call, computer, list, openId } = yield* waiting("question", [])
      yield* call("brain", "r1")
      const question = yield* openId
      const consented = { agent: "brain", req_id: "r2", tool_name: "consented", params: {}, timeout: 60 }
      yield* Effect.forkScoped(request("client:tool_call", consented))
      yield* nextApprovals(computer, 2)
      assert.deepStrictEqual(yield* list("brain"), [question])
    })
  )

  it.effect("has the oldest 100", () =>
    Effect.gen(function* () {
      const { call, computer, list } = yield* waiting("approval")
      for (let count = 0; count < 101; count++) yield* call("brain", `r${count}`)
      const ids = (yield* nextApprovals(computer, 101)).map(({ id }) => id)
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* list("brain"), ids.slice(0, 100))
      assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* list("brain", { approval_id: ids[100] }), ids.slice(100))
    })
  )
})
