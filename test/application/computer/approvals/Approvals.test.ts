import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryApprovalStore from "../../../adapters/approvals/MemoryApprovalStore.ts"
import { type ApprovalRequest, makeApprovals } from "../../../../src/application/computer/approvals/Approvals.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { ApprovalStore } from "../../../../src/application/ports/approvals/ApprovalStore.ts"
import { SchemaValidator } from "../../../../src/application/ports/SchemaValidator.ts"
import type { InputRequest } from "../../../../src/domain/model/InputRequest.ts"
import type { Approval, ApprovalAnswer } from "../../../../src/domain/approvals/Approval.ts"
import type { Approver, Caller } from "../../../../src/domain/approvals/Caller.ts"
import type { ServerConfig } from "../../../../src/domain/config/computerConfig.ts"
import type { CatalogueEntry } from "../../../../src/domain/tools/catalogue.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { settle } from "../../../settle.ts"
import { portDefaults } from "../../../portDefaults.ts"

const toolNamed = (name: string, description = "", server = "notes"): CatalogueEntry => ({
  tool: { name, description, paramsSchema: {}, returnSchema: null },
  server,
  serverId: server,
  originalName: name,
  shortName: name,
  autoApply: false
})

const write = toolNamed("write")

const ann: Approver = { _tag: "page", name: "ann" }
const eve: Approver = { _tag: "page", name: "eve" }

const ada: Caller = { _tag: "Agent", name: "ada", membership: 1 }

const lab = { office: "lab", line: "0.2" }

const callOf = (entry = write, params: JsonObject = {}, place = lab): ApprovalRequest => ({
  reqId: "r1",
  caller: ada,
  params,
  askedBy: "default",
  reason: undefined,
  entry,
  place
})

const once: ApprovalAnswer = { action: "allow", scope: "once" }
const always: ApprovalAnswer = { action: "allow", scope: "tool" }

/** The approvals of a Computer whose operators may decide. `isExtended` tells whether callers wait on, after `delay`. */
const deciding = Effect.fnUntraced(function* (
  settings: Partial<ComputerSettings> = {},
  isExtended = false,
  delay = Duration.zero,
  find: Parameters<typeof makeApprovals>[1]["find"] = () => undefined
) {
  const approvals = yield* makeApprovals("pc", { find }).pipe(
    Effect.provideService(ComputerSettings, { ...ComputerSettings.defaultValue(), approvers: ["page"], ...settings }),
    Effect.provide(portDefaults)
  )
  const start = Effect.fnUntraced(function* (call = callOf(), limit = Duration.minutes(1)) {
    const announce = () => Effect.as(Duration.isZero(delay) ? Effect.void : Effect.sleep(delay), isExtended)
    const waiting = yield* Effect.forkScoped(
      Effect.map(approvals.request(call, { limit, announce }), ({ decision }) => decision)
    )
    yield* settle
    return waiting
  })
  const form: InputRequest = { mode: "form", message: "who?", schema: { type: "object" } }
  const startQuestion = Effect.tap(
    Effect.forkScoped(
      approvals.request(
        { ...callOf(), elicitation: form },
        { limit: Duration.minutes(1), announce: () => Effect.succeed(isExtended) }
      )
    ),
    settle
  )
  /** The only open approval. */
  const open = (): Approval => {
    const [one, ...others] = approvals.open()
    assert.isDefined(one)
    assert.isEmpty(others)
    return one as Approval
  }
  /** Requests an approval, and gives the answer. */
  const decideNext = Effect.fnUntraced(function* (answer: ApprovalAnswer, call = callOf(), by: Approver = ann) {
    const waiting = yield* start(call)
    const approval = open()
    yield* Effect.orDie(approvals.decide(approval.id, answer, by))
    yield* Fiber.join(waiting)
    return approval
  })
  /** Tells whether a grant covers a call of a tool there. */
  const covers = (entry = write, place: typeof lab | "outside an office" = lab) =>
    approvals.standingFor(entry, {
      caller: ada,
      place: place === "outside an office" ? undefined : place
    }) !== undefined
  return { approvals, covers, decideNext, open, start, startQuestion }
})

type Deciding = Effect.Success<ReturnType<typeof deciding>>

/** Runs a Computer of the same name until the end of this effect. */
const inEarlierRun = <A, E, R>(
  body: (run: Deciding) => Effect.Effect<A, E, R>,
  settings: Partial<ComputerSettings> = {}
) => Effect.scoped(Effect.flatMap(deciding(settings), body))

const codeOf = <A>(result: Result.Result<A, { readonly code: number }>): number | undefined =>
  Result.isFailure(result) ? result.failure.code : undefined

describe("Approvals", () => {
  it.effect("shows an open approval with the call, its digest and its expiry", () =>
    Effect.gen(function* () {
      const { open, start } = yield* deciding()
      yield* TestClock.adjust("10 seconds")
      yield* start({ ...callOf(write, { text: "x" }), reason: "it writes", askedBy: "rule 2" })
      const { argumentsDigest, id, toolDigest, ...shown } = open()
      assert.match(argumentsDigest, /^[0-9a-f]{64}$/)
      assert.match(toolDigest, /^[0-9a-f]{64}$/)
      assert.isNotEmpty(id)
      assert.deepStrictEqual<unknown>(shown, {
        reqId: "r1",
        office: "lab",
        line: "0.2",
        computer: "pc",
        server: "notes",
        tool: "write",
        shortName: "write",
        caller: ada,
        requester: "ada",
        params: { text: "x" },
        requestedAt: 10_000,
        expiresAt: 70_000,
        askedBy: "rule 2",
        reason: "it writes"
      })
    })
  )

  it.effect("ends with the decision of an approver", () =>
    Effect.gen(function* () {
      const { approvals, open, start } = yield* deciding()
      const waiting = yield* start()
      const decision = yield* approvals.decide(open().id, { action: "deny", reason: "not now" }, ann)
      assert.deepStrictEqual(decision, { state: "denied", by: "ann", at: 0, reason: "not now" })
      assert.deepStrictEqual(yield* Fiber.join(waiting), decision)
      assert.isEmpty(approvals.open())
    })
  )

  it.effect("accepts the first answer, and tells later approvers who decided", () =>
    Effect.gen(function* () {
      const { approvals, open, start } = yield* deciding()
      const waiting = yield* start()
      const { id } = open()
      const results = yield* Effect.forEach(
        [
          [once, ann],
          [{ action: "deny" }, { _tag: "page", name: "bob" }]
        ] as const,
        ([answer, by]) => Effect.result(approvals.decide(id, answer, by)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.map(codeOf), [undefined, 409])
      const late = yield* Effect.flip(approvals.decide(id, once, eve))
      assert.strictEqual(late.message, "The approval was allowed by ann")
      assert.strictEqual((yield* Fiber.join(waiting)).state, "allowed")
    })
  )

  it.effect("accepts the first of two answers to a question that are validated at the same time", () =>
    Effect.gen(function* () {
      const { approvals, open, startQuestion } = yield* Effect.provideService(deciding(), SchemaValidator, {
        check: () => Effect.delay(Effect.succeed([]), "1 second")
      })
      yield* startQuestion
      const { id } = open()
      const answer: ApprovalAnswer = { action: "allow", scope: "once", content: {} }
      const answering = yield* Effect.forEach([ann, eve], (by) =>
        Effect.forkChild(Effect.result(approvals.decide(id, answer, by)))
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* Effect.forEach(answering, Fiber.join)).map(codeOf), [undefined, 409])
    })
  )

  it.effect("rejects an answer to an unknown approval, and one whose time has passed", () =>
    Effect.gen(function* () {
      const { approvals, open, start } = yield* deciding()
      assert.strictEqual(codeOf(yield* Effect.result(approvals.decide("x", once, ann))), 404)
      yield* start()
      yield* TestClock.adjust("1 second")
      const passed = { ...always, until: 1000 }
      assert.strictEqual(codeOf(yield* Effect.result(approvals.decide(open().id, passed, ann))), 400)
      open()
    })
  )

  const tenMinutes = { approvalTimeout: Duration.minutes(10) }

  it.effect.each<[string, Partial<ComputerSettings>, boolean, number]>([
    ["at its limit", {}, false, 60_000],
    ["at the end of the approval timeout where the caller waits on", tenMinutes, true, 600_000],
    ["at the end of an approval timeout below its limit", { approvalTimeout: Duration.seconds(5) }, false, 5000]
  ])("expires %s", ([, settings, isExtended, at]) =>
    Effect.gen(function* () {
      const { approvals, open, start } = yield* deciding(settings, isExtended)
      const waiting = yield* start()
      const { expiresAt, id } = open()
      assert.strictEqual(expiresAt, at)
      yield* TestClock.adjust(at - 1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(waiting), { state: "expired", at })
      assert.strictEqual(codeOf(yield* Effect.result(approvals.decide(id, once, ann))), 409)
    })
  )

  it.effect("is cancelled with its call", () =>
    Effect.gen(function* () {
      const { approvals, open, start } = yield* deciding()
      const waiting = yield* start()
      const { id } = open()
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(approvals.find(id)?.decision, { state: "cancelled", at: 0 })
      assert.isEmpty(approvals.open())
    })
  )

  it.effect("streams the open approvals", () =>
    Effect.gen(function* () {
      const { approvals, decideNext } = yield* deciding()
      const counts: Array<number> = []
      yield* Effect.forkScoped(
        Stream.runForEach(approvals.changes, (open) => Effect.sync(() => void counts.push(open.length)))
      )
      yield* settle
      yield* decideNext(once)
      yield* settle
      assert.deepStrictEqual([counts[0], Math.max(...counts), counts.at(-1)], [0, 1, 0])
    })
  )
})

describe("the hook of a host", () => {
  it.effect.each<[string, ReturnType<NonNullable<ComputerSettings["confirm"]>>, string]>([
    ["allows the call with true", Effect.succeed(true), "allowed"],
    ["denies the call with false", Effect.succeed(false), "denied"],
    ["denies the call when it fails", Effect.fail("no screen"), "denied"]
  ])("%s", ([, answer, state]) =>
    Effect.gen(function* () {
      const { start } = yield* deciding({ confirm: () => answer })
      const decision = yield* Fiber.join(yield* start())
      assert.deepStrictEqual([decision.state, "by" in decision && decision.by], [state, "program"])
    })
  )

  it.effect("decides with an answer in its own name", () =>
    Effect.gen(function* () {
      const { approvals, start } = yield* deciding({ confirm: () => Effect.succeed({ ...always, by: "terminal" }) })
      yield* start()
      const grants = approvals.standing().map(({ by, tool }) => [by, tool])
      assert.deepStrictEqual(grants, [["terminal", "write"]])
    })
  )
})

describe("a grant", () => {
  it.effect("covers the tool in its office until it is revoked", () =>
    Effect.gen(function* () {
      const { approvals, covers, decideNext } = yield* deciding()
      yield* decideNext(always)
      assert.isTrue(covers())
      assert.isFalse(covers(write, { ...lab, office: "other" }))
      // Another office, although its id is the same.
      assert.isFalse(covers(write, { ...lab, line: "0.3" }))
      assert.isFalse(covers(write, "outside an office"))
      assert.isFalse(covers(toolNamed("erase")))
      assert.isFalse(covers(toolNamed("write", "", "other")))
      const id = approvals.standing()[0]?.id ?? ""
      assert.isFalse(yield* approvals.revoke("ghost"))
      assert.isTrue(covers())
      assert.deepStrictEqual([yield* approvals.revoke(id), yield* approvals.revoke(id)], [true, false])
      assert.isFalse(covers())
    })
  )

  it.effect("ends at its time", () =>
    Effect.gen(function* () {
      const { approvals, covers, decideNext } = yield* deciding()
      yield* decideNext({ ...always, until: 5000 })
      yield* TestClock.adjust("4999 millis")
      assert.isTrue(covers())
      yield* TestClock.adjust("1 millis")
      assert.isFalse(covers())
      assert.isEmpty(approvals.standing())
    })
  )

  it.effect("allows the other calls of the tool that wait in this office", () =>
    Effect.gen(function* () {
      const { approvals, start } = yield* deciding()
      const first = yield* start()
      const same = yield* start(callOf(write, { n: 2 }))
      const otherLine = yield* start(callOf(write, {}, { ...lab, line: "0.3" }))
      const elsewhere = yield* start(callOf(write, {}, { ...lab, office: "other" }))
      const [one] = approvals.open()
      yield* approvals.decide(one?.id ?? "", always, ann)
      assert.strictEqual((yield* Fiber.join(first)).state, "allowed")
      assert.strictEqual((yield* Fiber.join(same)).state, "allowed")
      yield* settle
      assert.isUndefined(elsewhere.pollUnsafe())
      assert.isUndefined(otherLine.pollUnsafe())
    })
  )

  it.effect("is no part of an answer for one call", () =>
    Effect.gen(function* () {
      const { approvals, decideNext } = yield* deciding()
      yield* decideNext(once)
      assert.isEmpty(approvals.standing())
    })
  )
})

describe("an approved tool", () => {
  it.effect("is pinned: a later definition is shown with its change", () =>
    Effect.gen(function* () {
      const { decideNext, open, start } = yield* deciding()
      yield* TestClock.adjust("1 hour")
      assert.isUndefined((yield* decideNext(once)).change)
      yield* TestClock.adjust("1 minute")
      yield* start(callOf(toolNamed("write", "sends everything away")))
      assert.deepStrictEqual(open().change, {
        approvedAt: 60 * 60_000,
        approvedBy: "ann",
        differences: [{ part: "description", before: "", after: "sends everything away" }]
      })
    })
  )

  it.effect("loses its grant when it changes, and the new definition is pinned when it is approved", () =>
    Effect.gen(function* () {
      const { covers, decideNext } = yield* deciding()
      yield* decideNext(always)
      const changed = toolNamed("write", "new")
      assert.isFalse(covers(changed))
      assert.isDefined((yield* decideNext(once, callOf(changed))).change)
      assert.isUndefined((yield* decideNext(once, callOf(changed))).change)
    })
  )

  it.effect("is not pinned by a denial", () =>
    Effect.gen(function* () {
      const { decideNext } = yield* deciding()
      yield* decideNext({ action: "deny" })
      assert.isUndefined((yield* decideNext(once, callOf(toolNamed("write", "new")))).change)
    })
  )

  it.effect("has the arguments of its last approved call", () =>
    Effect.gen(function* () {
      const { decideNext } = yield* deciding()
      assert.isUndefined((yield* decideNext(once, callOf(write, { n: 1 }))).previousParams)
      yield* decideNext({ action: "deny" }, callOf(write, { n: 2 }))
      assert.deepStrictEqual((yield* decideNext(once, callOf(write, { n: 3 }))).previousParams, { n: 1 })
      assert.isUndefined((yield* decideNext(once, callOf(toolNamed("erase")))).previousParams)
    })
  )
})

describe("Approvals within bounds", () => {
  it.effect("keeps 100 decisions for late approvers", () =>
    Effect.gen(function* () {
      const { approvals, decideNext } = yield* deciding()
      const { id } = yield* decideNext(once)
      for (let count = 0; count < 99; count++) yield* decideNext(once)
      assert.strictEqual((yield* Effect.flip(approvals.decide(id, once, eve))).code, 409)
      yield* decideNext(once)
      assert.strictEqual((yield* Effect.flip(approvals.decide(id, once, eve))).code, 404)
    })
  )

  const contentOf = (length: number) => {
    const empty = JSON.stringify({ text: "" }).length
    return { action: "allow", scope: "once", content: { text: "x".repeat(length - empty) } } as const
  }

  it.effect("accepts answers of 64 Ki characters", () =>
    Effect.gen(function* () {
      const { approvals, open, startQuestion } = yield* deciding()
      const waiting = yield* startQuestion
      const { id } = open()
      const rejected = yield* Effect.flip(approvals.decide(id, contentOf(64 * 1024 + 1), ann))
      assert.strictEqual(rejected.code, 400)
      const accepted = contentOf(64 * 1024)
      yield* approvals.decide(id, accepted, ann)
      assert.deepStrictEqual((yield* Fiber.join(waiting)).answer, { action: "accept", content: accepted.content })
    })
  )

  it.effect("keeps the last arguments of 100 tools", () =>
    Effect.gen(function* () {
      const { decideNext, open, start } = yield* deciding()
      for (let count = 0; count < 101; count++) yield* decideNext(once, callOf(toolNamed(`t${count}`), { count }))
      const previousOf = Effect.fnUntraced(function* (name: string) {
        const waiting = yield* start(callOf(toolNamed(name)))
        const { previousParams } = open()
        yield* Fiber.interrupt(waiting)
        return previousParams
      })
      assert.deepStrictEqual([yield* previousOf("t0"), yield* previousOf("t1")], [undefined, { count: 1 }])
    })
  )

  it.effect("keeps arguments of 64 Ki characters, and forgets older ones for larger ones", () =>
    Effect.gen(function* () {
      const { decideNext, open, start } = yield* deciding()
      const paramsOf = (length: number) => ({ text: "x".repeat(length - JSON.stringify({ text: "" }).length) })
      const previousAfter = Effect.fnUntraced(function* (length: number) {
        yield* decideNext(once, callOf(write, paramsOf(length)))
        const waiting = yield* start()
        const { previousParams } = open()
        yield* Fiber.interrupt(waiting)
        return previousParams === undefined ? undefined : JSON.stringify(previousParams).length
      })
      assert.strictEqual(yield* previousAfter(64 * 1024), 64 * 1024)
      assert.isUndefined(yield* previousAfter(64 * 1024 + 1))
    })
  )
})

describe("the expiry of an approval whose caller waits on", () => {
  it.effect("is shown to approvers when it is extended", () =>
    Effect.gen(function* () {
      const { approvals, start } = yield* deciding({ approvalTimeout: Duration.minutes(5) }, true)
      const seen: Array<ReadonlyArray<number>> = []
      const note = (all: ReadonlyArray<Approval>) => void seen.push(all.map(({ expiresAt }) => expiresAt))
      yield* Effect.forkScoped(Stream.runForEach(approvals.changes, (all) => Effect.sync(() => note(all))))
      yield* settle
      yield* start(callOf(), Duration.minutes(1))
      yield* settle
      assert.deepStrictEqual(seen.at(-1), [5 * 60_000])
    })
  )

  it.effect("counts from the request, also when its announcement takes long", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 hour")
      const { open, start } = yield* deciding({ approvalTimeout: Duration.minutes(5) }, true, Duration.seconds(20))
      const waiting = yield* start(callOf(), Duration.minutes(1))
      assert.strictEqual(open().expiresAt, 61 * 60_000)
      yield* TestClock.adjust("20 seconds")
      assert.deepInclude(open(), { requestedAt: 60 * 60_000, expiresAt: 65 * 60_000 })
      yield* TestClock.adjust("279999 millis")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Fiber.join(waiting), { state: "expired", at: 65 * 60_000 })
    })
  )
})

describe("the store of approvals", () => {
  it.effect("keeps them for the next start of the Computer", () =>
    Effect.gen(function* () {
      yield* inEarlierRun(({ decideNext }) => decideNext(always))
      const { covers, open, start } = yield* deciding()
      assert.isTrue(covers())
      yield* start(callOf(toolNamed("write", "new")))
      assert.isDefined(open().change)
    }).pipe(Effect.provide(MemoryApprovalStore.layer))
  )

  it.effect("compares a tool with those of the same configuration", () =>
    Effect.gen(function* () {
      const store = yield* ApprovalStore
      /** Asks about the tool of a configuration that starts its MCP server like this; gives the changed parts. */
      const ask = (configSource: string, command: string) => {
        const config = { type: "stdio", parameters: { command } } as unknown as ServerConfig
        return Effect.scoped(
          Effect.gen(function* () {
            const run = yield* deciding({}, false, Duration.zero, () => ({ config }) as never)
            const { change } = yield* run.decideNext(once)
            return change?.differences
          })
        ).pipe(Effect.provideService(ApprovalStore, { ...store, configSource }))
      }
      assert.isUndefined(yield* ask("home.json", "a"))
      assert.isUndefined(yield* ask("work.json", "b"))
      assert.isUndefined(yield* ask("home.json", "a"))
      assert.deepStrictEqual(yield* ask("home.json", "c"), [{ part: "server", before: "a", after: "c" }])
    }).pipe(Effect.provide(MemoryApprovalStore.layer))
  )

  it.effect("has no grants of Agents, which end with their membership", () =>
    Effect.gen(function* () {
      const { approvals, decideNext } = yield* deciding({ approvers: ["agent", "page"] })
      const { load } = yield* ApprovalStore
      yield* decideNext(always, callOf(toolNamed("read")))
      yield* decideNext(always, callOf(), { _tag: "agent", caller: ada })
      assert.lengthOf(approvals.standing(), 2)
      const { grants, pins } = yield* load("pc")
      assert.deepStrictEqual([grants.map(({ tool }) => tool), pins.length], [["read"], 2])
    }).pipe(Effect.provide(MemoryApprovalStore.layer))
  )

  it.effect("gives no Agent the grants of an Agent of an earlier run", () =>
    Effect.gen(function* () {
      yield* inEarlierRun(({ decideNext }) => decideNext(always))
      const { load, save } = yield* ApprovalStore
      const stored = yield* load("pc")
      const ofAgent = { by: "agent ada", approver: "agent" as const }
      yield* save("pc", { ...stored, grants: stored.grants.map((grant) => ({ ...grant, ...ofAgent })) })
      const { approvals, covers } = yield* deciding({ approvers: ["agent"] })
      assert.isEmpty(approvals.standing())
      assert.isFalse(covers())
    }).pipe(Effect.provide(MemoryApprovalStore.layer))
  )

  it.effect.each<[string, Approver, ReadonlyArray<"page" | "agent">, boolean]>([
    ["an operator that may decide", ann, ["page"], true],
    ["an operator that may not decide any more", ann, ["agent"], false],
    ["the terminal", { _tag: "owner", name: "terminal" }, [], true],
    ["an Agent that may decide", { _tag: "agent", caller: ada }, ["page", "agent"], false],
    ["an Agent that may not decide any more", { _tag: "agent", caller: ada }, [], false]
  ])("holds the grant of %s in the next run", ([, approver, approvers, isHeld]) =>
    Effect.gen(function* () {
      const grant = Effect.fnUntraced(function* ({ approvals, covers, decideNext }: Deciding) {
        yield* decideNext(always, callOf(), approver)
        assert.deepStrictEqual([approvals.standing().length, covers()], [1, true])
      })
      yield* inEarlierRun(grant, { approvers: ["page", "agent"] })
      const { approvals, covers } = yield* deciding({ approvers })
      assert.deepStrictEqual([approvals.standing().length, covers()], [isHeld ? 1 : 0, isHeld])
    }).pipe(Effect.provide(MemoryApprovalStore.layer))
  )
})
