import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import { makeMemoryMcpServer } from "../../../../../src/adapters/memory/MemoryMcp.ts"
import type { ComputerSettings } from "../../../../../src/application/computer/ComputerSettings.ts"
import type { ComputerOperatorAccess } from "../../../../../src/application/computer/office/operatorAccess.ts"
import * as RulePolicy from "../../../../../src/application/computer/calls/RulePolicy.ts"
import type { InputRequest } from "../../../../../src/domain/model/InputRequest.ts"
import type { PageCommand } from "../../../../../src/domain/page/PageCommand.ts"
import type { Rule } from "../../../../../src/domain/policy/parseRules.ts"
import { textResult, tool } from "../../../../conformance/members.ts"
import { testComputer } from "../../../computer/testComputer.ts"
import { elapse, line, olga, startWatched } from "../watchedServer.ts"

const target = { line, office: "O", computer: "pc" }

interface Owner {
  readonly settings?: Partial<ComputerSettings>
  readonly operators?: ComputerOperatorAccess
  readonly rules?: ReadonlyArray<Rule>
}

const form: InputRequest = {
  mode: "form",
  message: "PIN?",
  schema: { type: "object", properties: { pin: { type: "string", format: "password" } } }
}

/** A Computer whose owner permits this, in an office of a Server, without an Agent. */
const officeWith = Effect.fnUntraced(function* ({ operators = {}, rules = [], settings = {} }: Owner) {
  const server = yield* startWatched()
  const request = tool("ask", (_, { ask: requestUser }) =>
    Effect.map(requestUser(form), (answer) => textResult(JSON.stringify(answer)))
  )
  const alpha = yield* makeMemoryMcpServer({ tools: [tool("write"), request] })
  const { computer } = yield* testComputer({
    servers: { alpha },
    office: "O",
    transport: server.transport,
    settings,
    operators,
    policy: RulePolicy.layer(rules)
  })
  const execute = (command: PageCommand) => server.watch.execute(command, olga)
  return { ...server, computer, execute }
})

const explain = { _tag: "ExplainCall", ...target, tool: "write", params: { path: "a" } } as const

describe("a question of a call of an operator", () => {
  const request = { ...target, tool: "ask", params: {}, timeout: 60 } as const

  /** Starts a call that asks, and gives its question and the rest of its messages. */
  const startAsking = Effect.fnUntraced(function* (owner: Owner) {
    const office = yield* officeWith(owner)
    const stream = yield* office.watch.call(request, olga)
    const calling = yield* Effect.forkScoped(Stream.runCollect(stream), { startImmediately: true })
    yield* elapse()
    const id = (yield* Effect.map(Stream.runHead(office.computer.approvals), Option.getOrThrow))[0]?.id ?? ""
    return { ...office, calling, get: { _tag: "GetApproval", ...target, id } as const }
  })

  it.effect("is answered by this operator where the owner lets operators decide nothing", () =>
    Effect.gen(function* () {
      const { calling, execute, get } = yield* startAsking({ rules: [{ action: "allow" }] })
      assert.deepInclude(yield* execute(get), { requester: "operator:olga", state: "open" })
      const answer = { ...get, _tag: "DecideApproval", action: "allow", content: { pin: "1" } } as const
      assert.deepInclude(yield* execute(answer), { state: "allowed" })
      const given = JSON.stringify({ action: "accept", content: { pin: "1" } })
      assert.deepInclude((yield* Fiber.join(calling)).at(-1), { result: { ...textResult(given), isError: false } })
    })
  )

  it.effect("is not answered by another operator", () =>
    Effect.gen(function* () {
      const { get, watch } = yield* startAsking({ rules: [{ action: "allow" }] })
      const other = { ...olga, identity: { ...olga.identity, subject: "bert" } }
      assert.strictEqual((yield* Effect.flip(watch.execute(get, other))).code, 403)
      const answer = { ...get, _tag: "DecideApproval", action: "deny" } as const
      assert.strictEqual((yield* Effect.flip(watch.execute(answer, other))).code, 404)
    })
  )
})

describe("ExplainCall", () => {
  const rules: ReadonlyArray<Rule> = [
    { action: "allow", subject: ["operator:olga"], reason: "Olga may write." },
    { action: "deny", subject: ["ada"] }
  ]

  it.effect("tells which rule decides about a call of the operator", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ settings: { approvers: ["page"] }, rules })
      assert.deepStrictEqual<unknown>(yield* execute(explain), {
        steps: [{ rule: "rule 1", action: "allow" }],
        decision: { action: "allow", by: "rule 1", reason: "Olga may write." },
        canAsk: true
      })
    })
  )

  it.effect("tells which rule decides about a call of another caller", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ operators: { calls: true }, rules })
      assert.deepStrictEqual<unknown>(yield* execute({ ...explain, subject: "ada" }), {
        steps: [
          { rule: "rule 1", action: "allow", mismatch: "subject" },
          { rule: "rule 2", action: "deny" }
        ],
        decision: { action: "deny", by: "rule 2" },
        canAsk: false
      })
    })
  )

  it.effect("fails with 404 for an unknown tool", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ operators: { calls: true } })
      assert.deepInclude(yield* Effect.flip(execute({ ...explain, tool: "other" })), {
        code: 404,
        message: "No tool 'other' is here"
      })
    })
  )
})

describe("DecideApproval", () => {
  /** An office in which a call of the Agent waits for a decision. */
  const startCall = Effect.fnUntraced(function* (owner: Owner, tool: string, params: object) {
    const office = yield* officeWith(owner)
    const ada = yield* office.agent()
    const call = { agent: "ada", req_id: "r1", computer: "pc", tool_name: tool, params, timeout: 60 }
    const calling = yield* Effect.forkChild(ada.request("client:tool_call", call), { startImmediately: true })
    const open = yield* Stream.runHead(Stream.filter(office.computer.approvals, (all) => all.length > 0))
    return { ...office, calling, id: Option.getOrThrow(open)[0]?.id ?? "" }
  })

  it.effect("decides about a call in the name of the operator, once, and is audited", () =>
    Effect.gen(function* () {
      const owner = { settings: { approvers: ["page"] } } as const
      const { calling, execute, id, operatorActions } = yield* startCall(owner, "write", { n: 1 })
      const shown = { arguments: '{\n  "n": 1\n}', state: "open" }
      assert.deepInclude<object>(yield* execute({ _tag: "GetApproval", ...target, id }), shown)
      yield* operatorActions
      const decide = { _tag: "DecideApproval", ...target, id, action: "deny", reason: "not now" } as const
      assert.deepInclude(yield* execute(decide), { state: "denied", decidedBy: "operator:olga" })
      assert.deepInclude(yield* Effect.flip(execute({ ...decide, action: "allow" })), { code: 409 })
      assert.include(JSON.stringify(yield* Fiber.join(calling)), "not now")
      assert.deepStrictEqual(
        (yield* operatorActions).map(({ approval }) => approval),
        [id, id]
      )
    })
  )

  it.effect("answers a question in the name of the operator, whose answer is not recorded", () =>
    Effect.gen(function* () {
      const owner = { settings: { approvers: ["page"], approve: ["ask"] } } as const
      const { calling, execute, id, operatorActions } = yield* startCall(owner, "ask", {})
      assert.deepInclude(yield* execute({ _tag: "GetApproval", ...target, id }), { input: form, state: "open" })
      const answer = { action: "allow", content: { pin: "s3cret" } } as const
      const decided = yield* execute({ _tag: "DecideApproval", ...target, id, ...answer })
      assert.deepInclude(decided, { state: "allowed", decidedBy: "operator:olga" })
      assert.include(JSON.stringify(yield* Fiber.join(calling)), "s3cret")
      assert.notInclude(JSON.stringify([decided, yield* operatorActions]), "s3cret")
    })
  )

  it.effect("is refused where operators may not decide", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ operators: { calls: true } })
      const decide = { _tag: "DecideApproval", ...target, id: "x", action: "deny" } as const
      assert.deepInclude(yield* Effect.flip(execute(decide)), { code: 403 })
    })
  )
})
