import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import * as JsonSchemaValidator from "../../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import { layer as memoryMcp, makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeApprovals } from "../../../../src/application/computer/approvals/Approvals.ts"
import { makeToolCalls } from "../../../../src/application/computer/calls/ToolCalls.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets, redactLogs } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerSupervisor } from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import { type AuditEvent, AuditLog } from "../../../../src/application/ports/AuditLog.ts"
import { VrlEngine } from "../../../../src/application/ports/VrlEngine.ts"
import type { ApprovalAnswer, Question } from "../../../../src/domain/approvals/Approval.ts"
import type { CallPlace } from "../../../../src/domain/approvals/standingApprovals.ts"
import type { CallStatus } from "../../../../src/domain/model/CallStatus.ts"
import type { InputAnswer, InputRequest } from "../../../../src/domain/model/InputRequest.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { firstText } from "../../../firstText.ts"
import { setupOf } from "../testComputer.ts"
import { officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import { settle } from "../../../settle.ts"
import { Policy } from "../../../../src/application/ports/approvals/Policy.ts"
import { ApprovalStore } from "../../../../src/application/ports/approvals/ApprovalStore.ts"

const form: InputRequest = {
  mode: "form",
  message: "Who?",
  schema: {
    type: "object",
    properties: { name: { type: "string", minLength: 2 }, pin: { type: "string", format: "password" } },
    required: ["name"]
  }
}

const ada = officeCaller("ada", 1, true)

const page: InputRequest = { mode: "url", message: "Sign in", url: "https://example.com/sign-in" }

/** A tool that asks these questions so many at a time, and gives the answers. */
const askingAtATime = (concurrency: number, ...requests: ReadonlyArray<InputRequest>) =>
  tool("ask", (_, { ask: request }) =>
    Effect.map(Effect.forEach(requests, request, { concurrency }), (answers) => textResult(JSON.stringify(answers)))
  )

const asking = (...requests: ReadonlyArray<InputRequest>) => askingAtATime(1, ...requests)

/** A Computer with one tool that asks, whose callers wait for answers. */
const fixture = Effect.fnUntraced(function* (
  requests = asking(form),
  settings: Partial<ComputerSettings> = {},
  isExtended = true,
  autoApply = true,
  more = {}
) {
  const alpha = yield* makeMemoryMcpServer({ tools: [requests] })
  const setup = setupOf(["alpha"], { configure: { alpha: { default_tool_meta: { auto_apply: autoApply }, ...more } } })
  const statuses: Array<CallStatus> = []
  const logs: Array<string> = []
  const audited: Array<AuditEvent> = []
  const secrets = makeSecrets()
  const reporter = {
    report: ({ status }: { readonly status: CallStatus }) => Effect.sync(() => void statuses.push(status)),
    announceWait: ({ status }: { readonly status: CallStatus }) =>
      Effect.sync(() => (statuses.push(status), isExtended))
  }
  const logging = Layer.merge(
    Logger.layer([Logger.make<unknown, void>(({ message }) => void logs.push(JSON.stringify(message)))]),
    Layer.succeed(References.MinimumLogLevel, "All" as const)
  )
  let place: CallPlace | undefined
  return yield* Effect.gen(function* () {
    const supervisor = yield* makeServerSupervisor(setup, secrets, () => Effect.void)
    const approvals = yield* makeApprovals("pc", supervisor)
    const calls = yield* makeToolCalls({
      approvals,
      computer: "pc",
      currentOffice: () => place,
      reporter,
      secrets,
      servers: supervisor
    })
    yield* settle
    const call = (inputModes: ReadonlyArray<string> = ["form", "url"], timeout = 60) =>
      Effect.tap(
        calls
          .call({ agent: "ada", computer: "pc", reqId: "r", toolName: "ask", params: {}, timeout, inputModes }, ada)
          .pipe(redactLogs(secrets), Effect.provide(logging), Effect.forkScoped),
        () => settle
      )
    /** The only open question. */
    const question = (): Question => {
      const [one, ...others] = approvals.open()
      assert.isEmpty(others)
      assert.isDefined(one?.input)
      return one as Question
    }
    const decide = (answer: ApprovalAnswer) => approvals.decide(question().id, answer, { _tag: "agent", caller: ada })
    const moveTo = (next: CallPlace | undefined) => void (place = next)
    return { approvals, audited, call, calls, decide, logs, moveTo, question, statuses }
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        memoryMcp(new Map([["alpha", alpha]])),
        Inputs.layer(),
        JsonSchemaValidator.layer,
        Layer.succeed(AuditLog, { record: (event) => void audited.push(event), lostCount: () => 0 })
      )
    ),
    Effect.provideService(ComputerSettings, { ...ComputerSettings.defaultValue(), ...settings }),
    Effect.provide([Policy.layerNone, ApprovalStore.layerNone])
  )
})

const once: ApprovalAnswer = { action: "allow", scope: "once" }

const accept = (content: { readonly [name: string]: unknown }): ApprovalAnswer => ({
  action: "allow",
  scope: "once",
  content
})

const answersOf = (result: Parameters<typeof firstText>[0]): ReadonlyArray<InputAnswer> =>
  JSON.parse(firstText(result)) as ReadonlyArray<InputAnswer>

const large = 2 ** 53

describe("question with integers beyond 2^53", () => {
  it.effect.each([
    ["default", { type: "integer", default: large }, { type: "integer" }, "/default"],
    ["enum", { enum: [1, large] }, {}, "/enum"],
    ["minimum", { type: "integer", minimum: -large, maximum: 9 }, { type: "integer", maximum: 9 }, "/minimum"],
    ["maximum", { type: "number", maximum: 2 * large }, { type: "number" }, "/maximum"],
    [
      "items",
      { type: "array", items: { type: "integer", enum: [large] } },
      { type: "array", items: { type: "integer" } },
      "/items/enum"
    ]
  ] as const)("is asked without %s, which the log names", ([, field, exact, place]) =>
    Effect.gen(function* () {
      const schema = { type: "object", properties: { id: field } }
      const { call, logs, question } = yield* fixture(asking({ ...form, schema }))
      yield* call()
      const { input } = question()
      assert.deepStrictEqual(input, { ...form, schema: { type: "object", properties: { id: exact } } })
      const line = JSON.stringify([
        "rounded integers omitted from question",
        { tool: "ask", places: [`/properties/id${place}`] }
      ])
      assert.include(logs, line)
    })
  )

  it.effect("stays open when an answer has one", () =>
    Effect.gen(function* () {
      const schema = { type: "object", properties: { id: { type: "integer" } } }
      const { call, decide, question } = yield* fixture(asking({ ...form, schema }))
      const calling = yield* call()
      const { code, message } = yield* Effect.flip(decide(accept({ id: large })))
      assert.deepStrictEqual([code, /\/id: integers beyond .*/.test(message)], [400, true])
      assert.isDefined(question())
      yield* decide(accept({ id: large - 1 }))
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [{ action: "accept", content: { id: large - 1 } }])
    })
  )
})

describe("question of a call", () => {
  it.effect.each([
    ["half a minute, within the time that the question did not use", "30 seconds", true],
    ["longer than the time that is left", "61 seconds", false]
  ] as const)("leaves the script of its server its time: it runs %s", ([, duration, isDone]) =>
    Effect.gen(function* () {
      const run = () => Effect.delay(Effect.succeed({ seen: true }), duration)
      const { call, decide } = yield* Effect.provideService(
        fixture(asking(form), {}, true, true, { vrl: ".seen = true" }),
        VrlEngine,
        { check: () => Effect.succeed(undefined), run }
      )
      const calling = yield* call()
      yield* TestClock.adjust("4 minutes")
      yield* decide(accept({ name: "Ada" }))
      yield* TestClock.adjust("2 minutes")
      const { meta } = yield* Fiber.join(calling)
      assert.deepStrictEqual(meta, isDone ? { a2c_vrl_transformed: '{"seen":true}' } : undefined)
    })
  )

  it.effect("states the place where it is asked: the Computer may have moved during its call", () =>
    Effect.gen(function* () {
      const { audited, calls, decide, moveTo, question } = yield* fixture(asking(form, form, form), {
        onInput: () => Effect.never
      })
      const calling = yield* Effect.forkScoped(
        calls.callLocally({ tool: "ask", params: {}, timeout: Duration.minutes(1) })
      )
      const places = [undefined, { office: "o", line: "0.2" }, { office: "p", line: "0.4" }]
      const seen: Array<unknown> = []
      for (const place of places) {
        moveTo(place)
        if (seen.length > 0) yield* decide(accept({ name: "Ada" }))
        yield* settle
        const { line, office } = question()
        seen.push(office && { office, line })
      }
      yield* decide(accept({ name: "Ada" }))
      yield* Fiber.join(calling)
      assert.deepStrictEqual(seen, places)
      const answered = audited.filter(({ fields }) => fields["question"] !== undefined)
      const offices = answered.map(({ fields }) => fields["office"])
      assert.deepStrictEqual(offices, [undefined, "o", "p"])
    })
  )

  it.effect("passes the other answers on, and that to a question with a URL", () =>
    Effect.gen(function* () {
      const { call, decide } = yield* fixture(asking(form, form, page))
      const calling = yield* call()
      for (const answer of [{ action: "deny" }, { action: "cancel" }, { action: "allow", scope: "once" }] as const) {
        yield* decide(answer)
        yield* settle
      }
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [
        { action: "decline" },
        { action: "cancel" },
        { action: "accept" }
      ])
    })
  )

  it.effect.each<[string, ReadonlyArray<InputRequest>, ReadonlyArray<string>, boolean]>([
    ["neither the caller nor another responder answers", [form, page], [], true],
    ["the caller does not answer this kind", [page], ["form"], true],
    ["the caller cannot be told", [form], ["form", "url"], false]
  ])("is declined at once when %s", ([, requests, inputModes, isExtended]) =>
    Effect.gen(function* () {
      const { approvals, call, statuses } = yield* fixture(asking(...requests), {}, isExtended)
      assert.deepStrictEqual(
        answersOf(yield* Fiber.join(yield* call(inputModes))),
        requests.map(() => ({ action: "decline" }))
      )
      assert.isEmpty(approvals.open())
      assert.lengthOf(statuses, isExtended ? 0 : 1)
    })
  )

  it.effect("reaches the hook and operators, beside the caller; the first answer counts", () =>
    Effect.gen(function* () {
      const { approvals, call, question } = yield* fixture(asking(form), {
        approvers: ["page"],
        onInput: () => Effect.delay(Effect.succeed({ action: "accept", content: { name: "Bob" } }), "1 minute")
      })
      const calling = yield* call([])
      const { id } = question()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [{ action: "accept", content: { name: "Bob" } }])
      const late = yield* Effect.flip(approvals.decide(id, { action: "deny" }, { _tag: "page", name: "operator:eve" }))
      assert.strictEqual(late.code, 409)
      assert.strictEqual(late.message, "The question was answered by program")
    })
  )

  it.effect("stays open after an answer that does not fit the form, or has a scope", () =>
    Effect.gen(function* () {
      const { call, decide, question } = yield* fixture()
      const calling = yield* call()
      const short = accept({ name: "A" })
      assert.include((yield* Effect.flip(decide(short))).message, "/name")
      const long = accept({ name: "x".repeat(70_000) })
      for (const answer of [short, once, { action: "allow", scope: "tool" } as const, long]) {
        assert.strictEqual((yield* Effect.flip(decide(answer))).code, 400)
      }
      question()
      yield* decide(accept({ name: "Ada" }))
      yield* Fiber.join(calling)
    })
  )

  it.effect("is asked of the hook again after an invalid answer, with the error, and then declined", () =>
    Effect.gen(function* () {
      const messages: Array<string> = []
      const { call } = yield* fixture(asking(form), {
        onInput: ({ input }) =>
          Effect.sync(() => (messages.push(input.message), { action: "accept", content: { name: "A" } } as const))
      })
      assert.deepStrictEqual(answersOf(yield* Fiber.join(yield* call([]))), [{ action: "decline" }])
      assert.lengthOf(messages, 3)
      assert.strictEqual(messages[0], "Who?")
      assert.match(messages[1] ?? "", /^The answer does not fit its form: \/name: .*\n\nWho\?$/)
    })
  )

  it.effect("is cancelled when the hook fails", () =>
    Effect.gen(function* () {
      const { call, logs } = yield* fixture(asking(form), { onInput: () => Effect.die("broken") })
      assert.deepStrictEqual(answersOf(yield* Fiber.join(yield* call([]))), [{ action: "cancel" }])
      assert.isTrue(logs.some((line) => line.includes("question not answered")))
    })
  )

  it.effect("is cancelled when no answer comes in time, and the call continues", () =>
    Effect.gen(function* () {
      const { call, statuses } = yield* fixture(asking(form), { approvalTimeout: Duration.minutes(2) })
      const calling = yield* call()
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [{ action: "cancel" }])
      assert.deepInclude(statuses.at(-1), { _tag: "Decided", isAllowed: false, by: "" })
    })
  )

  it.effect("leaves the execution time as it is", () =>
    Effect.gen(function* () {
      const hanging = tool("ask", (_, { ask: request }) => Effect.andThen(request(form), Effect.never))
      const { call, decide } = yield* fixture(hanging)
      const calling = yield* call(undefined, 16)
      yield* TestClock.adjust("1 minute")
      yield* decide(accept({ name: "Ada" }))
      yield* TestClock.adjust("15 seconds")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isTrue((yield* Fiber.join(calling)).isError)
    })
  )

  it.effect("waits one hour in total with the others of its call", () =>
    Effect.gen(function* () {
      const { call } = yield* fixture(asking(form, form, form), { approvalTimeout: Duration.minutes(50) })
      const calling = yield* call(undefined, 60)
      yield* TestClock.adjust("50 minutes")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [
        { action: "cancel" },
        { action: "cancel" },
        { action: "decline" }
      ])
    })
  )

  it.effect("waits one hour in total with the approval of its call", () =>
    Effect.gen(function* () {
      const settings = { approvers: ["agent"] as const, approvalTimeout: Duration.minutes(50) }
      const { approvals, call } = yield* fixture(asking(form), settings, true, false)
      const calling = yield* call(undefined, 60)
      yield* TestClock.adjust("40 minutes")
      const [approval] = approvals.open()
      yield* approvals.decide(approval?.id ?? "", accept({}), { _tag: "agent", caller: ada })
      yield* settle
      assert.isDefined(approvals.open()[0]?.input)
      yield* TestClock.adjust("20 minutes")
      assert.deepStrictEqual(answersOf(yield* Fiber.join(calling)), [{ action: "cancel" }])
    })
  )

  it.effect("is one of at most 256 that are open", () =>
    Effect.gen(function* () {
      const { approvals, audited, calls } = yield* fixture()
      const call = (reqId: string) =>
        calls.call(
          { agent: "ada", computer: "pc", reqId, toolName: "ask", params: {}, timeout: 60, inputModes: ["form"] },
          ada
        )
      for (let count = 0; count < 256; count++) yield* Effect.forkScoped(call(`r${count}`))
      yield* settle
      assert.strictEqual(approvals.open().length, 256)
      assert.deepStrictEqual(answersOf(yield* call("further")), [{ action: "decline" }])
      assert.deepInclude(audited.at(-1)?.fields, { action: "deny", by: "limit" })
      yield* calls.cancel("r0", ada)
      yield* Effect.forkScoped(call("next"))
      yield* settle
      assert.strictEqual(approvals.open().length, 256)
    })
  )

  it.effect("is asked after the others of its call, which are limited in number", () =>
    Effect.gen(function* () {
      const { call, decide } = yield* fixture(askingAtATime(40, ...Array.from({ length: 40 }, () => form)))
      const calling = yield* call()
      for (let count = 0; count < 32; count++) {
        yield* decide(accept({ name: "Ada" }))
        yield* settle
      }
      const answers = answersOf(yield* Fiber.join(calling))
      const actions = answers.map(({ action }) => action)
      assert.deepStrictEqual(actions, [
        ...Array.from({ length: 32 }, () => "accept"),
        ...Array.from({ length: 8 }, () => "decline")
      ])
    })
  )

  it.effect("ends with its call", () =>
    Effect.gen(function* () {
      const { approvals, audited, call, calls, question } = yield* fixture()
      yield* call()
      const { id } = question()
      yield* calls.cancel("r", ada)
      assert.isEmpty(approvals.open())
      assert.deepInclude(approvals.decided()[0]?.decision, { state: "cancelled" })
      assert.strictEqual(
        (yield* Effect.flip(approvals.decide(id, { action: "deny" }, { _tag: "page", name: "x" }))).code,
        409
      )
      assert.deepInclude(audited.at(-1)?.fields, { action: "cancelled", question: "form" })
    })
  )

  it.effect("keeps answers out of the log, the audit, the statuses and the decisions", () =>
    Effect.gen(function* () {
      const leaking = tool("ask", (_, { ask: request, progress }) =>
        Effect.flatMap(request(form), (answer) =>
          Effect.as(progress({ progress: 1, message: JSON.stringify(answer) }), textResult("done"))
        )
      )
      const { approvals, audited, call, decide, logs, statuses } = yield* fixture(leaking, {
        onProgress: (report) => Effect.logInfo("progress", report)
      })
      const calling = yield* call()
      yield* decide(accept({ name: "Visible", pin: "s3cret-pin" }))
      yield* Fiber.join(calling)
      assert.isTrue(logs.some((line) => line.includes("Visible")))
      assert.isFalse(logs.join("\n").includes("s3cret-pin"))
      const kept = JSON.stringify([approvals.decided(), audited, statuses.filter(({ _tag }) => _tag !== "Progressing")])
      assert.notInclude(kept, "s3cret-pin")
      assert.notInclude(kept, "Visible")
      assert.deepInclude(audited.at(-1)?.fields, { action: "allow", by: "agent ada", question: "form" })
    })
  )
})
