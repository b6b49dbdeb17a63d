import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { Agent, type ToolCall } from "../../../src/application/agent/Agent.ts"
import { TransportClient } from "../../../src/application/ports/Transport.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { elapse, startWatched } from "../server/watch/watchedServer.ts"

/** A Computer of a test: what it replies, and after how long. */
interface Behavior {
  /** Seconds until it lists its tools; it never does without it. */
  readonly lists?: number | undefined
  readonly tools?: ReadonlyArray<string>
  /** Tools of later lists. */
  readonly later?: ReadonlyArray<string>
  /** The number of lists that fail at first. */
  readonly failures?: number
  /** Never replies about its desktop. */
  readonly hidesDesktop?: boolean
  /** Never replies to a call. */
  readonly hangsCalls?: boolean
}

const hangs: Behavior = {}
const owns: Behavior = { lists: 0, tools: ["t"] }
const lacks: Behavior = { lists: 0, tools: ["u"] }

const answerOf = (
  name: string,
  { failures = 0, hangsCalls = false, hidesDesktop = false, later, lists, tools = [] }: Behavior
) => {
  let count = 0
  return (event: string, value: unknown): Effect.Effect<unknown> => {
    const { req_id } = value as JsonObject
    if (event === "client:tool_call" && hangsCalls) return Effect.never
    if (event === "client:tool_call") return Effect.succeed({ content: [{ type: "text", text: name }] })
    if (event !== "client:get_tools") return hidesDesktop ? Effect.never : Effect.succeed({ desktops: [], req_id })
    count++
    if (lists === undefined) return Effect.never
    if (count <= failures) return Effect.succeed({ code: 500, message: "not now" })
    const listed = count > 1 && later !== undefined ? later : tools
    const items = listed.map((tool) => ({ name: tool, description: "", params_schema: {}, return_schema: null }))
    return Effect.delay(Effect.succeed({ tools: items, req_id }), Duration.seconds(lists))
  }
}

/** Calls the tool in an office of these Computers; gives the Computer that ran it or the error, and the seconds until then. */
const callIn = Effect.fnUntraced(function* (
  computers: { readonly [name: string]: Behavior },
  call: Partial<ToolCall> = {},
  beforeCall: Duration.Input = 0
) {
  const server = yield* startWatched()
  for (const [name, behavior] of Object.entries(computers)) {
    yield* server.computer(name, { answer: answerOf(name, behavior) })
  }
  const context = yield* Agent.layer({ office: "O", name: "ada" }).pipe(
    Layer.provide(Layer.succeed(TransportClient, server.transport)),
    Layer.build
  )
  const agent = Context.get(context, Agent)
  yield* elapse(beforeCall)
  const start = yield* Clock.currentTimeMillis
  const calling = yield* Effect.forkChild(
    Effect.result(
      Effect.map(agent.callTool({ tool: "t", ...call }), ({ content }) => content.map((block) => block["text"]).join())
    )
  )
  for (let step = 0; step < 1000 && calling.pollUnsafe() === undefined; step++) yield* TestClock.adjust("100 millis")
  const seconds = Math.round(((yield* Clock.currentTimeMillis) - start) / 1000)
  const outcome = yield* Fiber.join(calling)
  return { outcome: Result.getOrElse(outcome, ({ message }) => message), seconds }
})

const none = 'No Computer of this office has a tool "t"'
const silent = (...names: ReadonlyArray<string>) =>
  `${none}; Computers that did not list their tools: ${names.join(", ")}`
const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`hanging-${index}`, hangs]))

describe("call without a Computer", () => {
  it.effect.each<[string, { readonly [name: string]: Behavior }, string, number]>([
    ["calls the owner at once when all lists are there", { a: owns, b: lacks }, "a", 0],
    ["calls the owner after two seconds beside a Computer that hangs", { a: owns, z: hangs }, "a", 2],
    ["calls the owner after two seconds beside two Computers that hang", { a: owns, y: hangs, z: hangs }, "a", 2],
    ["calls the owner after two seconds beside forty Computers that hang", { ...many, owner: owns }, "owner", 2],
    ["calls the owner that joined before a hanging one", { z: hangs, owner: owns, b: lacks }, "owner", 2],
    ["calls a slow owner once all lists are there", { a: { ...owns, lists: 5 }, b: lacks }, "a", 5],
    ["calls a slow owner two seconds after its list", { a: { ...owns, lists: 5 }, z: hangs }, "a", 7],
    ["waits for the list of another Computer within two seconds", { a: owns, b: { ...lacks, lists: 1 } }, "a", 1],
    [
      "fails with both owners when the second one lists its tools within two seconds",
      { a: owns, b: { ...owns, lists: 1 } },
      'Several Computers have a tool "t": name one of a, b',
      1
    ],
    ["calls the first owner when the second one is slower", { a: owns, b: { ...owns, lists: 4 } }, "a", 2],
    ["calls the owner at once beside a hanging desktop", { a: { ...owns, hidesDesktop: true }, b: lacks }, "a", 0],
    ["asks again for a list that failed", { a: { ...owns, failures: 1 }, b: lacks }, "a", 0],
    ["calls the owner beside a Computer whose lists fail", { a: owns, b: { ...lacks, failures: 9 } }, "a", 0],
    ["fails after ten seconds when the only Computer hangs", { z: hangs }, silent("z"), 10],
    ["fails after ten seconds without an owner beside a hanging one", { b: lacks, z: hangs }, silent("z"), 10],
    ["fails at once when no Computer has the tool", { a: lacks, b: lacks }, none, 0],
    ["fails at once in an office without Computers", {}, 'The office has no Computer, so there is no tool "t"', 0],
    [
      "finds a tool that came without a notification, beside a hanging one",
      { a: { ...lacks, later: ["t"] }, z: hangs },
      "a",
      4
    ]
  ])("%s", ([, computers, outcome, seconds]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* callIn(computers), { outcome, seconds })
    })
  )

  it.effect("ends within the timeout of the call", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* callIn({ z: hangs }, { timeout: 3 }), { outcome: silent("z"), seconds: 3 })
    })
  )

  it.effect("ends within its timeout, of which the search is a part", () =>
    Effect.gen(function* () {
      const { seconds } = yield* callIn({ a: { ...owns, lists: 3, hangsCalls: true } }, { timeout: 5 })
      assert.strictEqual(seconds, 5)
    })
  )

  it.effect("waits for a list that failed by its timeout", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* callIn({ a: owns, z: hangs }, {}, "40 seconds"), { outcome: "a", seconds: 2 })
    })
  )

  it.effect("does not wait for other Computers when it names one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* callIn({ a: owns, z: hangs }, { computer: "a" }), { outcome: "a", seconds: 0 })
    })
  )
})
