import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import {
  decodeInputAnswer,
  encodeInputRequest,
  inputModesOf,
  makeOpenQuestions
} from "../../../../src/adapters/mcp/publish/inputRounds.ts"
import type { InputAnswer, InputRequest } from "../../../../src/domain/model/InputRequest.ts"

const schema = { type: "object", properties: { name: { type: "string" } } }
const form: InputRequest = { mode: "form", message: "who?", schema }
const page: InputRequest = { mode: "url", message: "open", url: "https://x/1" }

describe("a question to a client", () => {
  it("has the parameters of its kind", () => {
    assert.deepStrictEqual<unknown>(encodeInputRequest(form), { message: "who?", requestedSchema: schema })
    assert.deepStrictEqual<unknown>(encodeInputRequest(page), { mode: "url", message: "open", url: "https://x/1" })
  })

  it.each([
    [undefined, []],
    [{}, []],
    [{ elicitation: true }, []],
    [{ elicitation: {} }, ["form"]],
    [{ elicitation: { form: {} } }, ["form"]],
    [{ elicitation: { url: {} } }, ["url"]],
    [{ elicitation: { form: {}, url: {} } }, ["form", "url"]]
  ])("is of a kind in the client's capabilities %j", (capabilities, modes) => {
    assert.deepStrictEqual<unknown>(inputModesOf(capabilities), modes)
  })

  it.each<readonly [unknown, InputAnswer | undefined]>([
    [
      { action: "accept", content: { name: "Ada" } },
      { action: "accept", content: { name: "Ada" } }
    ],
    [{ action: "accept" }, { action: "accept" }],
    [{ action: "accept", content: "Ada" }, { action: "accept" }],
    [{ action: "decline", content: { name: "Ada" } }, { action: "decline" }],
    [{ action: "cancel" }, { action: "cancel" }],
    [{ action: "maybe" }, undefined],
    [{}, undefined],
    ["accept", undefined]
  ])("is answered by %j", (value, answer) => {
    assert.deepStrictEqual<unknown>(decodeInputAnswer(value), answer)
  })
})

/** The open questions of a call that asks these at once. */
const asking = Effect.fnUntraced(function* (...requests: ReadonlyArray<InputRequest>) {
  const questions = makeOpenQuestions()
  const waiting = yield* Effect.forEach(requests, (request) =>
    Effect.forkChild(questions.answer(request), { startImmediately: true })
  )
  return { questions, waiting }
})

describe("a question that waits for the next request of a client", () => {
  it.effect("is listed with its id until its answer", () =>
    Effect.gen(function* () {
      const { questions, waiting } = yield* asking(form, page)
      const encoded = {
        question_1: { method: "elicitation/create", params: encodeInputRequest(form) },
        question_2: { method: "elicitation/create", params: encodeInputRequest(page) }
      }
      yield* questions.asked
      assert.deepStrictEqual<unknown>(questions.encode(), encoded)
      // An unknown id and a malformed answer change nothing.
      questions.accept({
        question_2: { action: "accept" },
        question_3: { action: "accept" },
        question_1: { action: 1 }
      })
      const { question_1 } = encoded
      assert.deepStrictEqual<unknown>(questions.encode(), { question_1 })
      questions.accept({ question_1: { action: "decline" }, question_2: { action: "cancel" } })
      assert.deepStrictEqual<unknown>(yield* Effect.forEach(waiting, Fiber.join), [
        { action: "decline" },
        { action: "accept" }
      ])
      assert.strictEqual(questions.size, 0)
      const asked = yield* Effect.forkChild(questions.asked, { startImmediately: true })
      assert.isUndefined(asked.pollUnsafe())
    })
  )

  it.effect("has an id that no earlier question had, whose answer a client may repeat", () =>
    Effect.gen(function* () {
      const { questions, waiting } = yield* asking(form)
      const first = { question_1: { action: "accept", content: { name: "Ada" } } }
      questions.accept(first)
      yield* Effect.forEach(waiting, Fiber.join)
      const later = yield* Effect.forkChild(questions.answer(page), { startImmediately: true })
      questions.accept(first)
      assert.deepStrictEqual([Object.keys(questions.encode()), questions.size], [["question_2"], 1])
      questions.accept({ question_2: { action: "decline" } })
      assert.deepStrictEqual<unknown>(yield* Fiber.join(later), { action: "decline" })
    })
  )

  it.effect("is asked in turn with the others, also when it comes meanwhile", () =>
    Effect.gen(function* () {
      const { questions, waiting } = yield* asking(form, page)
      const asked: Array<string> = []
      const later: Array<Fiber.Fiber<InputAnswer>> = []
      const answer = (request: InputRequest): Effect.Effect<InputAnswer> =>
        Effect.gen(function* () {
          asked.push(request.message)
          if (asked.length === 1) {
            const third = questions.answer({ ...page, message: "third" })
            later.push(yield* Effect.forkDetach(third, { startImmediately: true }))
          }
          return { action: asked.length === 2 ? "decline" : "accept" }
        })
      yield* questions.askAll({ modes: ["form", "url"], answer })
      assert.deepStrictEqual(asked, ["who?", "open", "third"])
      assert.deepStrictEqual<unknown>(yield* Effect.forEach([...waiting, ...later], Fiber.join), [
        { action: "accept" },
        { action: "decline" },
        { action: "accept" }
      ])
    })
  )

  it.effect("is no longer open once its call has ended", () =>
    Effect.gen(function* () {
      const { questions, waiting } = yield* asking(form, page)
      yield* Effect.forEach(waiting.slice(0, 1), Fiber.interrupt)
      assert.deepStrictEqual(Object.keys(questions.encode()), ["question_2"])
    })
  )
})
