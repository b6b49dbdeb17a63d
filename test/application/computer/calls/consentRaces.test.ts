import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeApprovals } from "../../../../src/application/computer/approvals/Approvals.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import * as RulePolicy from "../../../../src/application/computer/calls/RulePolicy.ts"
import { type AuditEvent, AuditLog } from "../../../../src/application/ports/AuditLog.ts"
import { Policy } from "../../../../src/application/ports/approvals/Policy.ts"
import type { ApprovalAnswer } from "../../../../src/domain/approvals/Approval.ts"
import { type Approver, officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import type { Rule } from "../../../../src/domain/policy/parseRules.ts"
import type { PolicyDecision } from "../../../../src/domain/policy/Rule.ts"
import type { CatalogueEntry } from "../../../../src/domain/tools/catalogue.ts"
import { errorCodeOf } from "../../../../src/domain/tools/errorResults.ts"
import { firstText } from "../../../firstText.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { testComputer } from "../testComputer.ts"
import { settle } from "../../../settle.ts"
import { portDefaults } from "../../../portDefaults.ts"

const ann: Approver = { _tag: "page", name: "operator:ann" }
const once: ApprovalAnswer = { action: "allow", scope: "once" }
const always: ApprovalAnswer = { action: "allow", scope: "tool" }
const asks: PolicyDecision = { action: "ask", by: "engine" }
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
    const decide = () =>
      Effect.suspend(() => {
        calls += 1
        return calls === 1
          ? Effect.succeed(asks)
          : Effect.onInterrupt(Deferred.await(answer), () => Deferred.succeed(interrupted, undefined))
      })
    const prompts: Array<string> = []
    const { computer } = yield* testComputer({
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
      calling,
      computer,
      interrupted,
      prompts,
      ran
    }
  })

  type Slow = Effect.Success<typeof slow>
  const revoke = ({ computer }: Slow) =>
    Effect.flatMap(computer.grants, ([grant]) => computer.revokeGrant(grant?.id ?? ""))

  it.effect.each<[string, (given: Slow) => Effect.Effect<unknown>, PolicyDecision, number | undefined, number, number]>(
    [
      ["needs an approval when its grant is revoked meanwhile", revoke, asks, 4005, 2, 1],
      ["runs under its grant, which remains", () => Effect.void, asks, undefined, 1, 2],
      [
        "does not run when the policy denies it, in spite of its grant",
        () => Effect.void,
        { action: "deny", by: "engine" },
        4005,
        1,
        1
      ],
      [
        "fails at its timeout, and does not run afterwards",
        () => TestClock.adjust("30 seconds"),
        { action: "allow", by: "engine" },
        4005,
        1,
        1
      ]
    ]
  )("%s", ([, act, decision, code, prompts, runs]) =>
    Effect.gen(function* () {
      const given = yield* slow
      yield* act(given)
      yield* given.answer(decision)
      assert.strictEqual(errorCodeOf(yield* Fiber.join(given.calling)), code)
      yield* settle
      assert.deepStrictEqual([given.prompts.length, given.ran.length], [prompts, runs])
    })
  )

  it.effect("ends the policy's decision when it is cancelled", () =>
    Effect.gen(function* () {
      const { answer, calling, interrupted, ran } = yield* slow
      yield* Fiber.interrupt(calling)
      yield* Deferred.await(interrupted)
      yield* answer(asks)
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
    const approvals = yield* Effect.provideService(
      Effect.provide(makeApprovals("pc", { find: () => undefined }), portDefaults),
      ComputerSettings,
      {
        ...ComputerSettings.defaultValue(),
        approvers: ["page"],
        confirm: prompt,
        onInput: prompt
      }
    )
    const request = (reqId: string, description?: string) =>
      Effect.forkScoped(
        Effect.map(
          approvals.request({ ...facts(reqId, description), askedBy: "default" }, wait),
          ({ decision }) => decision
        ),
        { startImmediately: true }
      )
    const requestInput = (reqId: string) =>
      Effect.forkScoped(approvals.request({ ...facts(reqId), askedBy: "MCP server", elicitation: form }, wait), {
        startImmediately: true
      })
    const idOf = (reqId: string) => approvals.open().find((one) => one.reqId === reqId)?.id ?? ""
    return { approvals, requestInput, idOf, prompts, request }
  })

  it.effect("keeps a question open when its tool is allowed for good", () =>
    Effect.gen(function* () {
      const { approvals, idOf, prompts, request, requestInput } = yield* deciding
      const asking = yield* requestInput("q")
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
      const { approvals, idOf, request, requestInput } = yield* deciding
      const asking = yield* requestInput("q")
      yield* settle
      yield* approvals.decide(idOf("q"), answer, ann)
      yield* Fiber.join(asking)
      yield* request("later", "changed")
      yield* settle
      const [later] = approvals.open()
      assert.isDefined(later)
      assert.isUndefined(later?.change)
      assert.isUndefined(later?.previousParams)
      assert.isEmpty(approvals.standing())
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

describe("call that waits while the rules are read again", () => {
  /** A Computer that asks about its tool, and a call that waits for the answer. */
  const waiting = Effect.fnUntraced(function* (lifecycle: JsonObject = {}) {
    const ran: Array<string> = []
    const notes = yield* makeMemoryMcpServer({
      tools: [tool("write", () => Effect.sync(() => (ran.push("write"), textResult("write"))))]
    })
    const updates = yield* Queue.unbounded<ReadonlyArray<Rule>>()
    const decisions: Array<unknown> = []
    const record = ({ fields: { action, by } }: AuditEvent) => void decisions.push([action, by])
    const opening = yield* Deferred.make<void>()
    let connections = 0
    const connect = Effect.suspend(() =>
      connections++ === 0 ? notes.connect : Effect.andThen(Deferred.await(opening), notes.connect)
    )
    const { computer } = yield* testComputer({
      servers: { notes: { connect } },
      configure: { notes: lifecycle },
      policy: RulePolicy.layer([{ action: "ask", tool: ["write"] }], Stream.fromQueue(updates)),
      settings: { approvers: ["page"] }
    }).pipe(Effect.provideService(AuditLog, { record, lostCount: () => 0 }))
    yield* settle
    const params = { path: "secret/a" }
    const calling = yield* Effect.forkScoped(
      computer.callTool({ tool: "write", params, requester: "ada", timeout: Duration.seconds(30) })
    )
    yield* settle
    const [approval] = Option.getOrElse(yield* Stream.runHead(computer.approvals), () => [])
    const id = approval?.id ?? ""
    const reload = (rules: ReadonlyArray<Rule>) => Effect.andThen(Queue.offer(updates, rules), settle)
    const answer = (given: ApprovalAnswer) => Effect.andThen(computer.decideApproval(id, given, "operator:ann"), settle)
    return { answer, calling, decisions, open: Deferred.succeed(opening, undefined), ran, reload }
  })

  it.effect.each<[string, Rule, ApprovalAnswer]>([
    ["all calls", { action: "deny" }, once],
    ["the tool", { action: "deny", tool: ["notes/write"] }, once],
    ["the tool, though it is allowed for good", { action: "deny", tool: ["write"] }, always],
    ["the caller", { action: "deny", subject: ["a*"] }, once],
    ["the arguments", { action: "deny", arguments: { path: { matches: ["secret/*"] } } }, once]
  ])("does not run when they deny %s, in spite of an approval", ([, rule, given]) =>
    Effect.gen(function* () {
      const { answer, calling, decisions, ran, reload } = yield* waiting()
      yield* reload([{ ...rule, reason: "audit week" }, { action: "ask" }])
      yield* answer(given)
      const result = yield* Fiber.join(calling)
      assert.strictEqual(errorCodeOf(result), 4005)
      assert.include(firstText(result), "audit week")
      assert.deepStrictEqual([ran, decisions.at(-1)], [[], ["deny", "rule 1"]])
    })
  )

  it.effect.each<[string, ReadonlyArray<Rule>]>([
    ["the same ones", [{ action: "ask", tool: ["write"] }]],
    ["none", []],
    ["such that ask about other tools", [{ action: "ask", tool: ["read"] }]],
    ["such that deny another caller", [{ action: "deny", subject: ["bob"] }]]
  ])("runs when it is approved and they are %s", ([, rules]) =>
    Effect.gen(function* () {
      const { answer, calling, ran, reload } = yield* waiting()
      yield* reload(rules)
      yield* answer(once)
      assert.isFalse((yield* Fiber.join(calling)).isError)
      assert.deepStrictEqual(ran, ["write"])
    })
  )

  it.effect("runs under the last ones, which deny it no longer", () =>
    Effect.gen(function* () {
      const { answer, calling, ran, reload } = yield* waiting()
      yield* reload([{ action: "deny" }])
      yield* reload([{ action: "ask" }])
      yield* answer(once)
      assert.isFalse((yield* Fiber.join(calling)).isError)
      assert.lengthOf(ran, 1)
    })
  )

  it.effect("does not run when they deny it during the start of its lazy server", () =>
    Effect.gen(function* () {
      const { answer, calling, open, ran, reload } = yield* waiting({ lifecycle: "lazy" })
      yield* answer(once)
      yield* reload([{ action: "deny" }])
      yield* open
      assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4005)
      assert.isEmpty(ran)
    })
  )
})

describe("policy of a host", () => {
  it.effect.each<[string, ReadonlyArray<unknown> | undefined, number]>([
    ["no revision", undefined, 1],
    ["a revision that stays", [1, 1], 1],
    ["a revision that changes", [1, 2], 2],
    ["a revision that is an object", [{}, {}], 2]
  ])("with %s is asked about an approved call: %o, %i times", ([, revisions, times]) =>
    Effect.gen(function* () {
      const write = yield* makeMemoryMcpServer({ tools: [tool("write")] })
      let requests = 0
      let isDecided = false
      const policy = Layer.succeed(Policy, {
        decide: () => Effect.sync(() => (requests++, asks)),
        ...(revisions !== undefined && { revision: () => revisions[isDecided ? 1 : 0] })
      })
      const confirm = () => Effect.sync(() => (isDecided = true))
      const { computer } = yield* testComputer({ servers: { write }, policy, settings: { confirm } })
      yield* settle
      assert.isFalse((yield* computer.callTool({ tool: "write", params: {}, requester: "host" })).isError)
      assert.strictEqual(requests, times)
    })
  )

  it.effect("is not waited for beyond the timeout of the call when it is asked again", () =>
    Effect.gen(function* () {
      const write = yield* makeMemoryMcpServer({ tools: [tool("write")] })
      let requests = 0
      const policy = Layer.succeed(Policy, {
        decide: () => Effect.suspend(() => (requests++ === 0 ? Effect.succeed(asks) : Effect.never)),
        revision: () => requests
      })
      const { computer } = yield* testComputer({
        servers: { write },
        policy,
        settings: { confirm: () => Effect.succeed(true) }
      })
      yield* settle
      const calling = yield* Effect.forkScoped(
        computer.callTool({ tool: "write", params: {}, requester: "host", timeout: Duration.seconds(10) })
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4005)
    })
  )
})
