import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import * as RulePolicy from "../../../../src/application/computer/calls/RulePolicy.ts"
import type { Approval } from "../../../../src/domain/approvals/Approval.ts"
import { Policy } from "../../../../src/application/ports/approvals/Policy.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import type { Rule } from "../../../../src/domain/policy/parseRules.ts"
import type { PolicyAction, PolicyCall } from "../../../../src/domain/policy/Rule.ts"
import type { LineName } from "../../../../src/domain/wire/lines.ts"
import { errorCodeOf } from "../../../../src/domain/tools/errorResults.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { firstText } from "../../../firstText.ts"
import { joined, link, setupOf, startedComputer, type TestComputer } from "../testComputer.ts"

/** A Computer with a tool that reads and one that writes, whose calls are recorded. */
const deciding = Effect.fnUntraced(function* (
  policy: Layer.Layer<Policy>,
  {
    approve = [],
    autoApply = false,
    confirms
  }: {
    readonly approve?: ReadonlyArray<string>
    readonly autoApply?: boolean
    /** The user allows a call, denies it, or allows its tool lastingly. */
    readonly confirms?: boolean | "tool"
  } = {}
) {
  const ran: Array<string> = []
  const requests: Array<string> = []
  const noted = (name: string, more: JsonObject) =>
    tool(name, () => Effect.sync(() => (ran.push(name), textResult(name))), more)
  const notes = yield* makeMemoryMcpServer({
    tools: [noted("read", { annotations: { readOnlyHint: true } }), noted("write", {})]
  })
  const confirm = ({ tool: name }: Approval) =>
    Effect.sync(() => {
      requests.push(name)
      return confirms === "tool" ? ({ action: "allow", scope: "tool" } as const) : confirms === true
    })
  const { computer } = yield* startedComputer({
    servers: { notes },
    configure: { notes: { default_tool_meta: { auto_apply: autoApply } } },
    settings: { approve, ...(confirms !== undefined && { confirm }) },
    policy
  })
  const call = (name: string, params: JsonObject = {}) => computer.callTool({ tool: name, params, requester: "agent" })
  return { requests, call, computer, noted, notes, ran }
})

const rulesOf = (...rules: ReadonlyArray<Rule>) => RulePolicy.layer(rules)

/** Runs a call of a Computer whose MCP server is a published office that lists few of its tools. */
const callPublished = Effect.fnUntraced(function* (
  policy: Layer.Layer<Policy>,
  params: JsonObject,
  { name = "tools_call", ...configure }: { readonly name?: string } & JsonObject = {}
) {
  const ran: Array<JsonObject> = []
  const calling = tool("tools_call", (given) => Effect.sync(() => (ran.push(given), textResult("done"))))
  const lab = yield* makeMemoryMcpServer({
    tools: [calling, { ...calling, definition: { name: "outer__tools_call" } }]
  })
  const { computer } = yield* startedComputer({
    servers: { lab },
    configure: { lab: { default_tool_meta: { auto_apply: true }, ...configure } },
    policy
  })
  const result = yield* computer.callTool({ tool: name, params, requester: "agent" })
  const explanation = yield* computer.explain({ tool: name, params, subject: "agent" })
  return { result, explanation, ran }
})

describe("a rule about a tool that a published office calls", () => {
  const erase = { name: "desk__erase", arguments: { path: "/etc/x" } }
  const alias = { tool_meta: { desk__erase: { alias: "rm" } } }

  it.effect.each<readonly [string, Rule, JsonObject, ({ readonly name?: string } & JsonObject)?]>([
    ["its name", { action: "deny", tool: ["desk__erase"] }, erase],
    ["a pattern", { action: "deny", tool: ["*erase"] }, erase],
    ["its MCP server", { action: "deny", tool: ["lab/desk__*"] }, erase],
    ["its arguments", { action: "deny", tool: ["*erase"], arguments: { path: { matches: ["/etc/*"] } } }, erase],
    ["its alias", { action: "deny", tool: ["rm"] }, erase, alias],
    ["its name beside an alias", { action: "deny", tool: ["desk__erase"] }, erase, alias],
    ["a call that needs an approval", { action: "ask", tool: ["desk__erase"] }, erase],
    ["a call without arguments", { action: "deny", tool: ["desk__erase"] }, { name: "desk__erase" }],
    [
      "a tool that calls it by an alias",
      { action: "deny", tool: ["desk__erase"] },
      erase,
      { name: "run", tool_meta: { tools_call: { alias: "run" } } }
    ],
    [
      "an office inside the office",
      { action: "deny", tool: ["outer__desk__erase"] },
      erase,
      { name: "outer__tools_call" }
    ],
    [
      "a call within a call",
      { action: "deny", tool: ["outer__desk__erase"] },
      { name: "outer__tools_call", arguments: erase }
    ]
  ])("decides by %s", ([, rule, params, configure]) =>
    Effect.gen(function* () {
      const { explanation, ran, result } = yield* callPublished(rulesOf(rule), params, configure)
      assert.strictEqual(errorCodeOf(result), 4005)
      assert.deepInclude(explanation?.decision, { action: rule.action, by: "rule 1" })
      assert.isEmpty(ran)
    })
  )

  it.effect("decides also where the policy answers later", () =>
    Effect.gen(function* () {
      const decide = ({ tool: name }: PolicyCall) =>
        Effect.succeed(name === "desk__erase" ? ({ action: "deny", by: "a program" } as const) : undefined)
      const { result } = yield* callPublished(Layer.succeed(Policy, { decide }), erase)
      assert.strictEqual(errorCodeOf(result), 4005)
    })
  )

  it.effect.each<readonly [string, Rule, JsonObject]>([
    ["another tool", { action: "deny", tool: ["desk__erase"] }, { name: "desk__read", arguments: {} }],
    ["other arguments", { action: "deny", tool: ["*erase"], arguments: { path: { equals: "/tmp" } } }, erase],
    ["no tool", { action: "deny", tool: ["desk__erase"] }, { arguments: {} }]
  ])("leaves a call of %s", ([, rule, params]) =>
    Effect.gen(function* () {
      const { ran, result } = yield* callPublished(rulesOf(rule), params)
      assert.isFalse(result.isError)
      assert.deepStrictEqual(ran, [params])
    })
  )

  it.effect("allows no call of the tool that calls", () =>
    Effect.gen(function* () {
      const rules = rulesOf({ action: "allow", tool: ["desk__erase"] }, { action: "deny" })
      assert.strictEqual(errorCodeOf((yield* callPublished(rules, erase)).result), 4005)
    })
  )

  it.effect.each(["desk__erase", "rm"])("does not run what the configuration forbids as %s", (forbidden) =>
    Effect.gen(function* () {
      const { ran, result } = yield* callPublished(rulesOf(), erase, { ...alias, forbidden_tools: [forbidden] })
      assert.strictEqual(errorCodeOf(result), 4002)
      assert.isEmpty(ran)
    })
  )
})

describe("a policy", () => {
  it.effect.each([
    ["and its reason", { reason: "the office only reads" }, ": the office only reads"],
    ["without a reason", {}, ""]
  ] as const)("denies a call with 4005 %s", ([, more, shown]) =>
    Effect.gen(function* () {
      const policy = rulesOf({ action: "deny", tool: ["write"], ...more })
      const { call, ran } = yield* deciding(policy, { autoApply: true })
      const denied = yield* call("write")
      assert.strictEqual(errorCodeOf(denied), 4005)
      assert.strictEqual(firstText(denied), `Tool 'write' was denied by this Computer${shown}`)
      assert.isFalse((yield* call("read")).isError)
      assert.deepStrictEqual(ran, ["read"])
    })
  )

  it.effect("allows a call of a Computer that cannot ask", () =>
    Effect.gen(function* () {
      const { call, ran } = yield* deciding(rulesOf({ action: "allow", annotations: { readOnlyHint: true } }))
      assert.isFalse((yield* call("read")).isError)
      assert.strictEqual(errorCodeOf(yield* call("write")), 4005)
      assert.deepStrictEqual(ran, ["read"])
    })
  )

  it.effect("asks although the tool is marked auto_apply and matches an approved pattern", () =>
    Effect.gen(function* () {
      const standing = { autoApply: true, approve: ["*"], confirms: true }
      const { requests, call } = yield* deciding(rulesOf({ action: "ask", tool: ["write"] }), standing)
      yield* call("read")
      yield* call("write")
      assert.deepStrictEqual(requests, ["write"])
    })
  )

  it.effect("leaves other calls to approved patterns and the confirmation", () =>
    Effect.gen(function* () {
      const policy = rulesOf({ action: "deny", tool: ["erase"] })
      const { requests, call, ran } = yield* deciding(policy, { approve: ["notes/read"], confirms: true })
      yield* call("read")
      yield* call("write")
      assert.deepStrictEqual(requests, ["write"])
      assert.deepStrictEqual(ran, ["read", "write"])
    })
  )

  it.effect("does not apply to calls of the Computer's owner", () =>
    Effect.gen(function* () {
      const { computer } = yield* deciding(rulesOf({ action: "deny" }))
      assert.isFalse((yield* computer.callTool({ tool: "write", params: {} })).isError)
    })
  )

  it.effect("decides by the facts of the call", () =>
    Effect.gen(function* () {
      const calls: Array<PolicyCall> = []
      const policy = Layer.succeed(Policy, {
        decide: (call) => Effect.sync(() => void calls.push(call))
      })
      const { call } = yield* deciding(policy)
      yield* call("read", { a: 1 })
      assert.deepStrictEqual(calls, [
        {
          subject: "agent",
          office: undefined,
          computer: "pc",
          server: "notes",
          tool: "read",
          shortName: "read",
          originalName: "read",
          annotations: { readOnlyHint: true },
          params: { a: 1 }
        }
      ])
    })
  )

  it.effect.each<[string, Policy["Service"]]>([
    ["fails", { decide: () => Effect.fail("no engine") }],
    ["has a defect", { decide: () => Effect.die(new Error("broken engine")) }],
    ["throws", { decide: () => Effect.undefined, decideNow: () => assert.fail("broken engine") }]
  ])("denies every call when it %s", ([, policy]) =>
    Effect.gen(function* () {
      const { call, ran } = yield* deciding(Layer.succeed(Policy, policy), { autoApply: true })
      const denied = yield* call("write")
      assert.strictEqual(errorCodeOf(denied), 4005)
      assert.include(firstText(denied), "the policy of this Computer failed")
      assert.deepStrictEqual(ran, [])
    })
  )

  it.effect("does not run a tool that changes while the policy decides", () =>
    Effect.gen(function* () {
      const requests = yield* Deferred.make<void>()
      const answered = yield* Deferred.make<void>()
      const decision = Effect.as(Deferred.await(answered), { action: "allow", by: "engine" } as const)
      const policy = Layer.succeed(Policy, {
        decide: () => Effect.andThen(Deferred.succeed(requests, undefined), decision)
      })
      const { call, notes, noted, ran } = yield* deciding(policy, { autoApply: true })
      const calling = yield* Effect.forkChild(call("write"))
      yield* Deferred.await(requests)
      yield* notes.setTools([noted("write", { description: "erases everything" })])
      yield* TestClock.adjust(0)
      yield* Deferred.succeed(answered, undefined)
      assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4002)
      assert.deepStrictEqual(ran, [])
    })
  )

  it.effect("applies new rules to the calls that follow", () =>
    Effect.gen(function* () {
      const updates = yield* Queue.unbounded<ReadonlyArray<Rule>>()
      const { call } = yield* deciding(RulePolicy.layer([{ action: "deny" }], Stream.fromQueue(updates)))
      assert.isTrue((yield* call("write")).isError)
      yield* Queue.offer(updates, [{ action: "allow" }])
      yield* TestClock.adjust(0)
      assert.isFalse((yield* call("write")).isError)
    })
  )
})

describe("a tool with an alias", () => {
  const aliased = { notes: { tool_meta: { write: { alias: "put" } } } }

  /** A Computer in an office, whose tool `write` goes by `put`. */
  const renamed = Effect.fnUntraced(function* (
    protocol: LineName,
    fixture: Partial<TestComputer>,
    configure: TestComputer["configure"] = aliased
  ) {
    const ran: Array<string> = []
    const write = tool("write", () => Effect.sync(() => (ran.push("write"), textResult("write"))))
    const notes = yield* makeMemoryMcpServer({ tools: [write] })
    const { computer } = yield* joined({ ...fixture, servers: { notes }, configure }, Effect.succeed(link), protocol)
    yield* TestClock.adjust("1 second")
    const callAll = Effect.fnUntraced(function* () {
      const names = [...(yield* computer.catalogue).entries.keys()]
      const results = yield* Effect.forEach(names, (name) =>
        computer.callTool({ tool: name, params: {}, requester: "agent" })
      )
      return results.map((result) => errorCodeOf(result))
    })
    return { callAll, computer, ran }
  })

  const names: ReadonlyArray<readonly [LineName, string]> = [
    ["0.2", "write"],
    ["0.2", "notes/write"],
    ["0.2", "put"],
    ["0.3", "write"],
    ["0.3", "notes__write"],
    ["0.3", "notes/notes__wr*"],
    ["0.4", "notes__put"]
  ]

  it.effect.each(names)("on line %s is denied by a rule on %s", ([protocol, pattern]) =>
    Effect.gen(function* () {
      const rules = rulesOf({ action: "deny", tool: [pattern] }, { action: "allow" })
      const { callAll, ran } = yield* renamed(protocol, { policy: rules })
      assert.deepStrictEqual(yield* callAll(), [4005])
      assert.isEmpty(ran)
    })
  )

  it.effect.each(names)("on line %s runs with the approved pattern %s", ([protocol, pattern]) =>
    Effect.gen(function* () {
      const { callAll } = yield* renamed(protocol, { settings: { approve: [pattern] } })
      assert.deepStrictEqual(yield* callAll(), [undefined])
    })
  )

  it.effect.each(names)("on line %s is not offered when %s is forbidden", ([protocol, pattern]) =>
    Effect.gen(function* () {
      const { notes } = aliased
      const forbidden_tools = [pattern.replace(/^notes\//, "").replace("*", "ite")]
      const { callAll } = yield* renamed(protocol, {}, { notes: { ...notes, forbidden_tools } })
      assert.isEmpty(yield* callAll())
    })
  )

  it.effect("is denied when a reload gives it the name of a tool that was allowed", () =>
    Effect.gen(function* () {
      const rules = rulesOf({ action: "deny", tool: ["write"] }, { action: "allow" })
      const ran: Array<string> = []
      const noted = (name: string) => tool(name, () => Effect.sync(() => (ran.push(name), textResult(name))))
      const notes = yield* makeMemoryMcpServer({ tools: [noted("read"), noted("write")] })
      const { computer } = yield* startedComputer({
        servers: { notes },
        configure: { notes: { tool_meta: { read: { alias: "do" } } } },
        policy: rules
      })
      const call = computer.callTool({ tool: "do", params: {}, requester: "agent" })
      assert.isFalse((yield* call).isError)
      yield* computer.reconfigure(
        setupOf(["notes"], { configure: { notes: { tool_meta: { write: { alias: "do" } } } } })
      )
      yield* TestClock.adjust(0)
      assert.isTrue((yield* call).isError)
      assert.deepStrictEqual(ran, ["read"])
    })
  )
})

describe("the explanation of a call", () => {
  const actions: ReadonlyArray<PolicyAction> = ["allow", "ask", "deny"]
  const policies: ReadonlyArray<ReadonlyArray<Rule>> = [
    [],
    ...actions.flatMap(
      (action): ReadonlyArray<ReadonlyArray<Rule>> => [
        [{ action, tool: ["write"] }],
        [{ action, annotations: { destructiveHint: true } }],
        [
          { action, arguments: { path: { matches: ["docs/*"] } } },
          { action: "deny", subject: ["agent"] }
        ]
      ]
    )
  ]
  const standings = [{}, { autoApply: true }, { approve: ["write"] }].flatMap((standing) =>
    [undefined, true, false].map((confirms) => ({ ...standing, ...(confirms !== undefined && { confirms }) }))
  )

  it.effect.each(policies.map((rules) => [JSON.stringify(rules), rules] as const))(
    "agrees with the execution by %s",
    ([, rules]) =>
      Effect.gen(function* () {
        for (const standing of standings) {
          for (const name of ["read", "write"]) {
            for (const path of ["docs/a", "src/a"]) {
              const { requests, call, computer, ran } = yield* deciding(RulePolicy.layer(rules), standing)
              const params = { path }
              const explanation = yield* computer.explain({ tool: name, params, subject: "agent" })
              assert.isDefined(explanation)
              yield* call(name, params)
              const { action } = explanation.decision
              assert.strictEqual(explanation.canAsk, standing.confirms !== undefined)
              assert.strictEqual(requests.length, action === "ask" && explanation.canAsk ? 1 : 0)
              assert.strictEqual(
                ran.length === 1,
                action === "allow" || (action === "ask" && standing.confirms === true)
              )
            }
          }
        }
      })
  )

  it.effect.each(policies.map((rules) => [JSON.stringify(rules), rules] as const))(
    "agrees with the execution after grants by %s",
    ([, rules]) =>
      Effect.gen(function* () {
        const { requests, call, computer, ran } = yield* deciding(RulePolicy.layer(rules), { confirms: "tool" })
        for (const name of ["read", "write", "read", "write"]) {
          const [askedBefore, ranBefore] = [requests.length, ran.length]
          const params = { path: "docs/a" }
          const explanation = yield* computer.explain({ tool: name, params, subject: "agent" })
          yield* call(name, params)
          const action = explanation?.decision.action
          assert.strictEqual(requests.length - askedBefore, action === "ask" ? 1 : 0)
          assert.strictEqual(ran.length - ranBefore, action === "deny" ? 0 : 1)
          if (askedBefore > 0 && requests.slice(0, askedBefore).includes(name)) assert.notStrictEqual(action, "ask")
        }
      })
  )

  it.effect("takes a caller in a named office for a member of it, also while the Computer is outside", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("write")] })
      const { computer } = yield* startedComputer({ servers: { alpha } })
      const explanation = yield* computer.explain({ tool: "write", params: {}, subject: "operator:ann", office: "lab" })
      assert.deepInclude(explanation?.call, { office: "lab", subject: "operator:ann" })
    })
  )

  it.effect("shows the rules up to the one that decides", () =>
    Effect.gen(function* () {
      const { computer } = yield* deciding(
        rulesOf({ action: "deny", office: ["lab"] }, { action: "ask", reason: "writes" }, { action: "allow" })
      )
      const request = { tool: "write", params: {}, subject: "agent", office: "team" }
      const explanation = yield* computer.explain(request)
      assert.deepStrictEqual(explanation?.steps, [
        { rule: "rule 1", action: "deny", mismatch: "office" },
        { rule: "rule 2", action: "ask", mismatch: undefined }
      ])
      assert.deepStrictEqual(explanation?.decision, { action: "ask", by: "rule 2", reason: "writes" })
      assert.strictEqual(explanation?.call.office, "team")
    })
  )

  it.effect("shows the failure of a policy", () =>
    Effect.gen(function* () {
      const policy = Layer.succeed(Policy, { decide: () => Effect.fail("a"), explain: () => Effect.fail("b") })
      const { computer } = yield* deciding(policy)
      const explanation = yield* computer.explain({ tool: "write", params: {}, subject: "agent" })
      assert.deepStrictEqual(explanation?.steps, [])
      assert.strictEqual(explanation?.decision.by, "failed policy")
    })
  )
})
