import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import * as RulePolicy from "../../../../src/application/computer/calls/RulePolicy.ts"
import type { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { asObject } from "../../../../src/domain/json.ts"
import { operatorRequests } from "../../../../src/domain/page/operatorRequests.ts"
import { tool } from "../../../conformance/members.ts"
import { joined, link, nextApproval, type TestComputer } from "../testComputer.ts"

/** A Computer in an office, and the explanations that it gives its operators and its owner. */
const explaining = Effect.fnUntraced(function* (
  approvers: ComputerSettings["approvers"],
  operators: TestComputer["operators"],
  more: Partial<TestComputer> = {}
) {
  const alpha = yield* makeMemoryMcpServer({ tools: ["auto", "banned", "write"].map((name) => tool(name)) })
  const { computer, receive, request } = yield* joined({
    servers: { alpha },
    configure: { alpha: { forbidden_tools: ["banned"], tool_meta: { auto: { auto_apply: true } } } },
    settings: { approvers },
    operators: operators ?? {},
    ...more
  })
  const explain = (toolName: string, subject = "ann") =>
    Effect.map(
      receive(operatorRequests.explainCall.event, { tool: toolName, params: { path: "a" }, subject }),
      ([reply]) => asObject(reply)
    )
  /** Allows a call of the Agent `brain` for good, as this Agent or as the owner. */
  const allow = Effect.fnUntraced(function* (by: "brain" | "owner") {
    const call = { agent: "brain", tool_name: "write", params: {}, timeout: 60 }
    const calling = yield* Effect.forkScoped(request("client:tool_call", call))
    const { id } = yield* nextApproval(computer)
    const always = { action: "allow", scope: "tool" } as const
    yield* by === "owner"
      ? Effect.orDie(computer.decideApproval(id, always))
      : request("client:decide_approval", { agent: by, approval_id: id, ...always })
    yield* Fiber.join(calling)
  })
  return { allow, computer, explain }
})

describe("the explanation of a call for operators", () => {
  it.effect.each<readonly [string, ComputerSettings["approvers"], TestComputer["operators"], boolean]>([
    ["decide about calls", ["page"], {}, true],
    ["call tools", [], { calls: true }, true],
    ["see the states of servers alone", ["agent"], { states: true, stderr: true }, false]
  ])("exists where they %s", ([, approvers, operators, exists]) =>
    Effect.gen(function* () {
      const { explain } = yield* explaining(approvers, operators)
      assert.strictEqual((yield* explain("write"))["code"], exists ? undefined : 404)
    })
  )

  it.effect.each([
    ["auto", { action: "allow", by: "auto_apply" }],
    ["write", { action: "ask", by: "default" }]
  ] as const)("names what decides: %s", ([name, decision]) =>
    Effect.gen(function* () {
      const { explain } = yield* explaining(["page"], {})
      assert.deepStrictEqual<unknown>(yield* explain(name), { steps: [], decision, can_ask: true })
    })
  )

  it.effect("states that the Computer cannot ask", () =>
    Effect.gen(function* () {
      const { explain } = yield* explaining([], { calls: true })
      assert.deepInclude(yield* explain("write"), { can_ask: false })
    })
  )

  it.effect("shows the rules for an operator, an Agent and the arguments of the call", () =>
    Effect.gen(function* () {
      const policy = RulePolicy.layer([
        { action: "deny", tool: ["write"], arguments: { path: { equals: "b" } } },
        { action: "allow", subject: ["operator:*"], office: ["o"], computer: ["pc"], reason: "operators may" }
      ])
      const { computer, explain } = yield* explaining(["page"], {}, { policy })
      const steps = [{ rule: "rule 1", action: "deny", mismatch: "arguments.path" }]
      assert.deepStrictEqual<unknown>(yield* explain("write", "operator:ann"), {
        steps: [...steps, { rule: "rule 2", action: "allow" }],
        decision: { action: "allow", by: "rule 2", reason: "operators may" },
        can_ask: true
      })
      const owner = yield* computer.explain({ tool: "write", params: {}, subject: "operator:ann" })
      assert.deepStrictEqual([owner?.call.subject, owner?.decision.by], ["operator:ann", "rule 2"])
      assert.deepStrictEqual<unknown>(yield* explain("write", "brain"), {
        steps: [...steps, { rule: "rule 2", action: "allow", mismatch: "subject" }],
        decision: { action: "ask", by: "default" },
        can_ask: true
      })
    })
  )

  it.effect.each([
    ["brain", { brain: "grant of agent brain", other: "default", "operator:ann": "default" }],
    ["owner", { brain: "grant of owner", other: "grant of owner", "operator:ann": "grant of owner" }]
  ] as const)("names the grant of %s for whom it covers, as the owner sees it", ([by, expected]) =>
    Effect.gen(function* () {
      const { allow, computer, explain } = yield* explaining(["page", "agent"], {})
      yield* allow(by)
      for (const [subject, decidedBy] of Object.entries(expected)) {
        assert.strictEqual(asObject((yield* explain("write", subject))["decision"])["by"], decidedBy)
        const owner = yield* computer.explain({ tool: "write", params: {}, subject })
        assert.strictEqual(owner?.decision.by, decidedBy)
      }
    })
  )

  it.effect.each([
    ["of the Computer", {}, "grant of owner"],
    ["of the Computer, by its name", { office: "o" }, "grant of owner"],
    ["of the Computer on its line", { office: "o", line: "0.4" }, "grant of owner"],
    ["of the Computer on another line", { office: "o", line: "0.2" }, "default"],
    ["elsewhere", { office: "p" }, "default"]
  ] as const)("counts the grants of the office %s", ([, place, decidedBy]) =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("write")] })
      const { computer, request } = yield* joined(
        { servers: { alpha }, settings: { approvers: ["page"] } },
        Effect.succeed(link),
        "0.4"
      )
      const [name = assert.fail()] = (yield* computer.catalogue).entries.keys()
      const calling = yield* Effect.forkScoped(
        request("client:tool_call", { agent: "brain", tool_name: name, params: {}, timeout: 60 })
      )
      const { id } = yield* nextApproval(computer)
      yield* Effect.orDie(computer.decideApproval(id, { action: "allow", scope: "tool" }))
      yield* Fiber.join(calling)
      const explanation = yield* computer.explain({ tool: name, params: {}, subject: "brain", ...place })
      assert.strictEqual(explanation?.decision.by, decidedBy)
    })
  )

  it.effect("does not exist for a tool that is unknown or forbidden, and for a malformed request", () =>
    Effect.gen(function* () {
      const { explain } = yield* explaining(["page"], {})
      for (const name of ["ghost", "banned"]) {
        assert.deepInclude(yield* explain(name), { code: 404, message: `No tool '${name}' is here` })
      }
      assert.deepInclude(yield* explain(""), { code: 400 })
    })
  )
})
