import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeInputRounds } from "../../../../src/adapters/mcp/publish/inputRounds.ts"
import type { InputResponder, McpProgress } from "../../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"

/** A call that asks two questions at once, works, and then asks a third. */
const start = ({ answer }: InputResponder) =>
  Effect.gen(function* () {
    const request = (message: string) =>
      answer({ mode: "form", message, schema: { type: "object", properties: { name: { type: "string" } } } })
    const both = yield* Effect.all([request("a"), request("b")], { concurrency: "unbounded" })
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    return { answers: [...both, yield* request("c")].map(({ action }) => action) }
  })

const messagesOf = (response: JsonObject) =>
  Object.values(asObject(response["inputRequests"])).map((request) => asObject(asObject(request)["params"])["message"])

describe("the rounds of a call that asks two questions at once", () => {
  const play = (answered: number) =>
    Effect.gen(function* () {
      const runRound = yield* makeInputRounds
      const next = (response: JsonObject, count: number) => {
        const ids = Object.keys(asObject(response["inputRequests"])).slice(0, count)
        return runRound(start, {
          modes: ["form"],
          requestState: response["requestState"] as string | undefined,
          responses: Object.fromEntries(ids.map((id) => [id, { action: "decline" }])),
          sendProgress: undefined
        })
      }
      const first = yield* next({}, 0)
      return { next, first, second: yield* next(first, answered) }
    })

  it.effect("asks the third question once both are answered", () =>
    Effect.gen(function* () {
      const { second } = yield* play(2)
      assert.deepStrictEqual(messagesOf(second), ["c"])
    })
  )

  it.effect("asks the one again that has no answer", () =>
    Effect.gen(function* () {
      const { second } = yield* play(1)
      assert.deepStrictEqual(messagesOf(second), ["b"])
    })
  )

  it.effect("gives each round its own state, and the same questions for the state of an earlier one", () =>
    Effect.gen(function* () {
      const { first, next, second } = yield* play(2)
      assert.notStrictEqual(second["requestState"], first["requestState"])
      assert.deepStrictEqual(yield* next(first, 0), second)
    })
  )

  it.effect.each([
    ["a later round", (state: string) => state.replace(/\d+$/, (count) => String(Number(count) + 1))],
    ["no round", (state: string) => state.replace(/\.\d+$/, "")],
    ["round 0", (state: string) => state.replace(/\d+$/, "0")],
    ["another end", (state: string) => `${state}-changed`],
    ["another call", (state: string) => `x${state}`]
  ] as const)("rejects a state with %s", ([, change]) =>
    Effect.gen(function* () {
      const { first, next } = yield* play(0)
      const rejected = yield* Effect.flip(next({ ...first, requestState: change(String(first["requestState"])) }, 0))
      assert.strictEqual("code" in rejected && rejected.code, -32602)
    })
  )

  it.effect("gives the result once all are answered", () =>
    Effect.gen(function* () {
      const { next, second } = yield* play(2)
      assert.deepStrictEqual(yield* next(second, 1), { answers: ["decline", "decline", "decline"] })
    })
  )
})

describe("a call that waits for answers", () => {
  /** A call that asks once, reports progress, and ends. */
  const world = Effect.gen(function* () {
    const runRound = yield* makeInputRounds
    let interrupted = 0
    const request = ({ answer }: InputResponder, progress: (step: McpProgress) => Effect.Effect<void>) =>
      Effect.gen(function* () {
        yield* progress({ progress: 1 })
        const { action } = yield* answer({ mode: "form", message: "who?", schema: { type: "object" } })
        yield* progress({ progress: 2 })
        return { action }
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => void interrupted++)))
    const round = (previous: JsonObject, responses: JsonObject = {}, sent?: Array<number>) =>
      runRound(request, {
        modes: ["form"],
        requestState: previous["requestState"] as string | undefined,
        responses,
        sendProgress: sent && (({ progress }) => Effect.sync(() => void sent.push(progress)))
      })
    const answersTo = (requests: JsonObject): JsonObject =>
      Object.fromEntries(Object.keys(asObject(requests["inputRequests"])).map((id) => [id, { action: "decline" }]))
    return { answersTo, round, interrupted: () => interrupted }
  })

  it.effect("waits for an hour, and is interrupted then", () =>
    Effect.gen(function* () {
      const { answersTo, interrupted, round } = yield* world
      const requests = yield* round({})
      yield* TestClock.adjust("3599999 millis")
      assert.strictEqual(interrupted(), 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(interrupted(), 1)
      const late = yield* Effect.flip(round(requests, answersTo(requests)))
      assert.strictEqual("code" in late && late.code, -32602)
    })
  )

  it.effect("waits for an hour again after each round", () =>
    Effect.gen(function* () {
      const { answersTo, round } = yield* world
      const requests = yield* round({})
      yield* TestClock.adjust("40 minutes")
      const again = yield* round(requests)
      yield* TestClock.adjust("40 minutes")
      assert.deepStrictEqual(yield* round(again, answersTo(again)), { action: "decline" })
    })
  )

  it.effect("sends its progress to the request that waits at that time", () =>
    Effect.gen(function* () {
      const { answersTo, round } = yield* world
      const [first, second]: [Array<number>, Array<number>] = [[], []]
      const requests = yield* round({}, {}, first)
      yield* round(requests, answersTo(requests), second)
      assert.deepStrictEqual([first, second], [[1], [2]])
    })
  )

  it.effect("sends progress that its tool prepared before the answer to the request that waits then", () =>
    Effect.gen(function* () {
      const runRound = yield* makeInputRounds
      const work = ({ answer }: InputResponder, progress: (step: McpProgress) => Effect.Effect<void>) =>
        answer({ mode: "form", message: "who?", schema: { type: "object" } }).pipe(
          Effect.andThen(progress({ progress: 1 })),
          Effect.as<JsonObject>({ done: true })
        )
      const [first, second]: [Array<number>, Array<number>] = [[], []]
      const send =
        (sent: Array<number>) =>
        ({ progress }: McpProgress) =>
          Effect.sync(() => void sent.push(progress))
      const round = { modes: ["form"] as const, requestState: undefined, responses: {} }
      const asking = yield* runRound(work, { ...round, sendProgress: send(first) })
      const [question = ""] = Object.keys(asObject(asking["inputRequests"]))
      yield* runRound(work, {
        ...round,
        requestState: String(asking["requestState"]),
        responses: { [question]: { action: "decline" } },
        sendProgress: send(second)
      })
      assert.deepStrictEqual([first, second], [[], [1]])
    })
  )

  it.effect.each(["the first request", "a request with an answer"])("is interrupted with %s", (which) =>
    Effect.gen(function* () {
      const runRound = yield* makeInputRounds
      let interrupted = 0
      const work = ({ answer }: InputResponder) =>
        (which === "the first request"
          ? Effect.void
          : answer({ mode: "form", message: "who?", schema: { type: "object" } })
        ).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Effect.sync(() => void interrupted++))
        )
      const round = { modes: ["form"] as const, sendProgress: undefined, requestState: undefined, responses: {} }
      const first = yield* Effect.forkChild(runRound(work, round))
      yield* TestClock.adjust(0)
      if (which === "the first request") yield* Fiber.interrupt(first)
      else {
        const { inputRequests, requestState } = yield* Fiber.join(first)
        const responses = Object.fromEntries(
          Object.keys(asObject(inputRequests)).map((id) => [id, { action: "decline" }])
        )
        const next = { ...round, requestState: String(requestState), responses }
        const second = yield* Effect.forkChild(runRound(work, next))
        yield* TestClock.adjust(0)
        assert.strictEqual(interrupted, 0)
        yield* Fiber.interrupt(second)
        yield* Effect.flip(runRound(work, next))
      }
      assert.strictEqual(interrupted, 1)
    })
  )

  it.effect("does not ask again what another responder has answered meanwhile", () =>
    Effect.gen(function* () {
      const runRound = yield* makeInputRounds
      const work = ({ answer }: InputResponder) => {
        const ask = (message: string) => answer({ mode: "form", message, schema: { type: "object" } })
        const withdrawn = Effect.delay(Effect.timeoutOption(ask("b"), "1 second"), "1 second")
        return Effect.all([ask("a"), withdrawn], { concurrency: "unbounded" }).pipe(
          Effect.andThen(Effect.sleep("1 second")),
          Effect.as<JsonObject>({ done: true })
        )
      }
      const round = { modes: ["form"] as const, sendProgress: undefined }
      const asking = yield* runRound(work, { ...round, requestState: undefined, responses: {} })
      assert.deepStrictEqual(messagesOf(asking), ["a"])
      yield* TestClock.adjust("3 seconds")
      const responses = { question_1: { action: "decline" } }
      const next = { ...round, requestState: String(asking["requestState"]), responses }
      const answered = yield* Effect.forkChild(runRound(work, next))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(answered), { done: true })
    })
  )

  it.effect("is one of 1024 at once", () =>
    Effect.gen(function* () {
      const { answersTo, round } = yield* world
      const requests = yield* Effect.forEach(Array.from({ length: 1024 }), () => round({}))
      const rejected = yield* Effect.flip(round({}))
      assert.strictEqual("code" in rejected && rejected.code, -32603)
      const [one = {}] = requests
      yield* round(one, answersTo(one))
      assert.strictEqual((yield* round({}))["resultType"], "input_required")
    })
  )

  it.effect("is not interrupted while it works after the answer", () =>
    Effect.gen(function* () {
      const runRound = yield* makeInputRounds
      const work = ({ answer }: InputResponder) =>
        answer({ mode: "form", message: "who?", schema: { type: "object" } }).pipe(
          Effect.andThen(Effect.sleep("40 minutes")),
          Effect.as<JsonObject>({ done: true })
        )
      const round = { modes: ["form"] as const, sendProgress: undefined }
      const requests = yield* runRound(work, { ...round, requestState: undefined, responses: {} })
      yield* TestClock.adjust("40 minutes")
      const [question = ""] = Object.keys(asObject(requests["inputRequests"]))
      const working = yield* Effect.forkChild(
        runRound(work, {
          ...round,
          requestState: String(requests["requestState"]),
          responses: { [question]: { action: "decline" } }
        })
      )
      yield* TestClock.adjust("40 minutes")
      assert.deepStrictEqual(yield* Fiber.join(working), { done: true })
    })
  )
})
