import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeAgentRequests } from "../../../../src/application/agent/AgentRequests.ts"
import { makeKnownPeers } from "../../../../src/application/agent/mcpChannel.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { referenceOf } from "../../../../src/domain/blobs/binaryContent.ts"
import type { CallStatus } from "../../../../src/domain/model/CallStatus.ts"
import { agentUnderTest, computerUnderTest, textResult, tool } from "../../../conformance/members.ts"
import { makePlace } from "../../../main/computers.ts"

/** An office whose Computer has the tool `work`, which runs until `done`. */
const makeWorld = Effect.gen(function* () {
  const place = yield* makePlace
  const started = yield* Deferred.make<void>()
  const done = yield* Deferred.make<void>()
  let runs = 0
  let cancelled = 0
  const work = tool("work", (_, { progress }) =>
    Effect.sync(() => void runs++).pipe(
      Effect.andThen(progress({ progress: 1, total: 2 })),
      Effect.andThen(Deferred.succeed(started, undefined)),
      Effect.andThen(Deferred.await(done)),
      Effect.as(textResult("done")),
      Effect.onInterrupt(() => Effect.sync(() => void cancelled++))
    )
  )
  const desk = yield* computerUnderTest(place, { name: "desk", servers: { alpha: { tools: [work] } } })
  return { place, desk, started, done, runs: () => runs, cancelled: () => cancelled }
})

/** An Agent of that office that has started the tool. */
const runningTask = Effect.fnUntraced(function* (options: { readonly timeout?: number } = {}) {
  const world = yield* makeWorld
  const agent = yield* agentUnderTest(world.place)
  const task = yield* agent.startTool({ computer: "desk", tool: "work", ...options })
  yield* Deferred.await(world.started)
  return { ...world, task }
})

/** A task of an Agent that has left. Its Computer stays. */
const abandonedTask = Effect.gen(function* () {
  const world = yield* makeWorld
  const scope = yield* Scope.make()
  const agent = yield* Scope.provide(agentUnderTest(world.place), scope)
  const { id } = yield* agent.startTool({ computer: "desk", tool: "work" })
  yield* Deferred.await(world.started)
  yield* Scope.close(scope, Exit.void)
  return { ...world, id }
})

const data = "AAAA".repeat(100_000)
const draw = tool("draw", () => Effect.succeed({ content: [{ type: "image", mimeType: "image/png", data }] }))

describe("tool tasks", () => {
  it.effect("gives the result of its call, and its state before", () =>
    Effect.gen(function* () {
      const { done, place, started } = yield* makeWorld
      const agent = yield* agentUnderTest(place)
      const statuses: Array<CallStatus> = []
      const onStatus = (status: CallStatus) => Effect.sync(() => void statuses.push(status))
      const task = yield* agent.startTool({ computer: "desk", tool: "work", onStatus })
      yield* Deferred.await(started)
      const { latest, state } = yield* task.status
      assert.deepStrictEqual([state, latest?._tag], ["working", "Progressing"])
      const waiting = yield* Effect.forkChild(task.result)
      yield* Deferred.succeed(done, undefined)
      assert.deepStrictEqual((yield* Fiber.join(waiting)).content, [{ type: "text", text: "done" }])
      assert.strictEqual((yield* task.status).state, "completed")
      assert.deepStrictEqual(
        statuses.map(({ _tag }) => _tag),
        ["Progressing"]
      )
    })
  )

  it.effect("passes each status once to all who wait for the result", () =>
    Effect.gen(function* () {
      const { done, place, started } = yield* makeWorld
      const agent = yield* agentUnderTest(place)
      const { id } = yield* agent.startTool({ computer: "desk", tool: "work" })
      const received: Array<string> = []
      const waitAs = (name: string) => {
        const onStatus = ({ _tag }: CallStatus) => Effect.sync(() => void received.push(`${name} ${_tag}`))
        return Effect.forkChild(agent.task("desk", id, { onStatus }).result, { startImmediately: true })
      }
      const waiting = yield* Effect.all([waitAs("one"), waitAs("other")])
      yield* Deferred.await(started)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(received.toSorted(), ["one Progressing", "other Progressing"])
      yield* Deferred.succeed(done, undefined)
      yield* Effect.forEach(waiting, Fiber.join)
      assert.strictEqual(received.length, 2)
    })
  )

  it.effect("asks a question that is answered while its result is awaited, also by a later Agent", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const requests = yield* Deferred.make<void>()
      const schema = { type: "object", properties: { name: { type: "string" } } }
      const greet = tool("greet", (_, { ask: request }) =>
        Deferred.succeed(requests, undefined).pipe(
          Effect.andThen(request({ mode: "form", message: "who?", schema })),
          Effect.map((answer) => textResult(JSON.stringify(answer)))
        )
      )
      yield* computerUnderTest(place, { name: "desk", servers: { alpha: { tools: [greet] } } })
      const first = yield* Scope.make()
      const agent = yield* Scope.provide(agentUnderTest(place), first)
      const onInput = () => Effect.succeed({ action: "accept", content: { name: "Ada" } } as const)
      const { id } = yield* agent.startTool({ computer: "desk", tool: "greet", onInput })
      yield* Deferred.await(requests)
      yield* Scope.close(first, Exit.void)
      const later = yield* agentUnderTest(place)
      const waiting = yield* Effect.forkChild(later.task("desk", id, { onInput }).result)
      yield* TestClock.adjust("2 seconds")
      const answer = { action: "accept", content: { name: "Ada" } }
      assert.deepStrictEqual((yield* Fiber.join(waiting)).content, [{ type: "text", text: JSON.stringify(answer) }])
    })
  )

  it.effect("asks the Agent that started it, while it awaits the result", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const greet = tool("greet", (_, { ask: request }) =>
        Effect.map(request({ mode: "form", message: "who?", schema: { type: "object" } }), ({ action }) =>
          textResult(action)
        )
      )
      yield* computerUnderTest(place, { name: "desk", servers: { alpha: { tools: [greet] } } })
      const agent = yield* agentUnderTest(place)
      const onInput = () => Effect.succeed({ action: "accept", content: {} } as const)
      const { result } = yield* agent.startTool({ computer: "desk", tool: "greet", onInput })
      const waiting = yield* Effect.forkChild(result)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual((yield* Fiber.join(waiting)).content, [{ type: "text", text: "accept" }])
    })
  )

  it.effect("has the large data of its result, not handles", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      yield* computerUnderTest(place, { name: "desk", protocol: "0.3", servers: { alpha: { tools: [draw] } } })
      const agent = yield* agentUnderTest(place, { protocol: "0.3" })
      const [exposed] = yield* agent.getTools("desk")
      const { result } = yield* agent.startTool({ computer: "desk", tool: exposed?.name ?? "" })
      assert.deepStrictEqual((yield* result).content, [{ type: "image", mimeType: "image/png", data }])
    })
  )

  it.effect("survives the Agent that started it, and its result is fetched by its id", () =>
    Effect.gen(function* () {
      const { cancelled, done, id, place, runs } = yield* abandonedTask
      yield* Deferred.succeed(done, undefined)
      const later = yield* agentUnderTest(place)
      const result = yield* later.task("desk", id).result
      assert.deepStrictEqual(result.content, [{ type: "text", text: "done" }])
      assert.deepStrictEqual([runs(), cancelled()], [1, 0])
    })
  )

  it.effect("runs once when its start is repeated, and rejects another call under its id", () =>
    Effect.gen(function* () {
      const { done, place, runs } = yield* makeWorld
      const { member } = yield* agentUnderTest(place)
      const requests = makeAgentRequests(member, { name: "agent-1", office: "O1", peers: makeKnownPeers() })
      const { id } = yield* requests.startTool({ computer: "desk", tool: "work" })
      const repeat = (params: object) =>
        requests.mcpRequest("desk", {
          server: "desk",
          method: "tasks/start" as "prompts/get",
          params: { id, tool: "work", timeout: 60, params }
        })
      yield* repeat({})
      const failure = yield* Effect.flip(repeat({ other: true }))
      assert.instanceOf(failure, McpSessionError)
      yield* Deferred.succeed(done, undefined)
      yield* requests.task("desk", id).result
      assert.strictEqual(runs(), 1)
    })
  )

  it.effect("is cancelled by its handle, also at the MCP server", () =>
    Effect.gen(function* () {
      const { cancelled, task } = yield* runningTask()
      yield* task.cancel
      const { meta } = yield* task.result
      assert.strictEqual(meta?.["a2c_cancelled"], true)
      assert.strictEqual(cancelled(), 1)
    })
  )

  it.effect("belongs to the Agent that started it", () =>
    Effect.gen(function* () {
      const { id, place } = yield* abandonedTask
      const other = yield* agentUnderTest(place, { name: "agent-2" })
      const failure = yield* Effect.flip(other.task("desk", id).result)
      assert.strictEqual(failure._tag, "TaskLost")
    })
  )

  it.effect("is forgotten an hour after its end, and says so", () =>
    Effect.gen(function* () {
      const { done, task } = yield* runningTask()
      yield* Deferred.succeed(done, undefined)
      yield* task.result
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual((yield* task.status).state, "completed")
      yield* TestClock.adjust("1 minute")
      const failure = yield* Effect.flip(task.status)
      assert.deepStrictEqual([failure._tag, failure.message.includes("after an hour")], ["TaskLost", true])
    })
  )

  it.effect("ends with a timeout like a call", () =>
    Effect.gen(function* () {
      const { task } = yield* runningTask({ timeout: 7 })
      yield* TestClock.adjust("7 seconds")
      assert.strictEqual((yield* task.result).meta?.["a2c_timeout"], true)
    })
  )

  it.effect("runs for longer than one request waits", () =>
    Effect.gen(function* () {
      const { done, task } = yield* runningTask({ timeout: 600 })
      const waiting = yield* Effect.forkChild(task.result)
      yield* TestClock.adjust("65 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* Deferred.succeed(done, undefined)
      assert.isFalse((yield* Fiber.join(waiting)).isError)
    })
  )
})

describe("a task of a Computer that leaves its office", () => {
  /** A Computer that has left while its task ran, and is in another office, with an Agent of the same name. */
  const moved = Effect.gen(function* () {
    const world = yield* runningTask()
    yield* world.desk.leave
    yield* world.desk.join({ office: "O2" })
    return { ...world, next: yield* agentUnderTest(world.place, { office: "O2" }) }
  })

  it.effect("is cancelled", () => Effect.map(moved, ({ cancelled }) => assert.strictEqual(cancelled(), 1)))

  it.effect("is unknown to an Agent of the same name in its next office", () =>
    Effect.gen(function* () {
      const { next, task } = yield* moved
      assert.strictEqual((yield* Effect.flip(next.task("desk", task.id).status))._tag, "TaskLost")
    })
  )

  it.effect("is unknown to its Agent when the Computer returns", () =>
    Effect.gen(function* () {
      const { desk, task } = yield* moved
      yield* desk.leave
      yield* desk.join({ office: "O1" })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(task.result))._tag, "TaskLost")
    })
  )

  it.effect("frees its id for the next office", () =>
    Effect.gen(function* () {
      const { next, runs, task } = yield* moved
      yield* next.mcpRequest("desk", {
        server: "desk",
        method: "tasks/start" as "prompts/get",
        params: { id: task.id, tool: "work", timeout: 60, params: { other: true } }
      })
      yield* TestClock.adjust(0)
      assert.strictEqual(runs(), 2)
    })
  )
})

describe("a blob of a Computer that leaves its office", () => {
  it.effect("is gone for an Agent of the same name in its next office", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const desk = yield* computerUnderTest(place, {
        name: "desk",
        protocol: "0.3",
        servers: { alpha: { tools: [draw] } }
      })
      const agent = yield* agentUnderTest(place, { protocol: "0.3" })
      const [exposed] = yield* agent.getTools("desk")
      const { content } = yield* agent.callTool({ computer: "desk", tool: exposed?.name ?? "", blobs: "keep" })
      const handle = content[0] === undefined ? "" : (referenceOf(content[0])?.handle ?? "")
      assert.strictEqual((yield* agent.blob("desk", handle)).totalSize, 300_000)
      yield* desk.leave
      yield* desk.join({ office: "O2", protocol: "0.3" })
      const next = yield* agentUnderTest(place, { office: "O2", protocol: "0.3" })
      const failure = yield* Effect.flip(next.blob("desk", handle))
      assert.strictEqual(failure._tag === "ProtocolError" && failure.code, 4018)
    })
  )
})
