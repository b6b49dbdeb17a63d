import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import type * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../src/application/bridge/OfficeMcpSession.ts"
import type { OfficeMcpSessionOptions } from "../../../src/application/bridge/officeModelSession.ts"
import type { InputResponder, McpCallOptions, McpProgress } from "../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import type { InputRequest } from "../../../src/domain/model/InputRequest.ts"
import { agentUnderTest, computerUnderTest, type Cut, textResult, tool } from "../../conformance/members.ts"
import { makePlace, type Place } from "../../main/computers.ts"

/** An office whose Computers have one MCP server with one tool each. */
const officeOf = Effect.fnUntraced(function* (
  computers: ReadonlyArray<{ readonly name: string; readonly server: string; readonly tool: MemoryMcp.MemoryTool }>,
  cut: Partial<Cut> = {}
) {
  const place = yield* makePlace
  for (const one of computers) {
    yield* computerUnderTest(place, { name: one.name, servers: { [one.server]: { tools: [one.tool] } }, ...cut })
  }
  return place
})

/** An office with the Computer `desk`, whose MCP server `alpha` has one tool. */
const deskWith = (it: MemoryMcp.MemoryTool, cut: Partial<Cut> = {}) =>
  officeOf([{ name: "desk", server: "alpha", tool: it }], cut)

/** The tasks of the published office, of one process. */
const publish = Effect.fnUntraced(function* (place: Place, options: Partial<OfficeMcpSessionOptions>) {
  const agent = yield* agentUnderTest(place)
  const { tasks } = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1", ...options }), Agent, agent)
  yield* agent.settled
  return tasks ?? (yield* Effect.die("no tasks"))
})

const places = ["where it was started", "after a restart of the process that published it"] as const

interface Wanted {
  readonly tool: string
  readonly options?: McpCallOptions
  readonly office?: Partial<OfficeMcpSessionOptions>
}

/** Starts a task and gives its handle, in the same process or in the next one, which finds it by its id. */
const taskAt = Effect.fnUntraced(function* (
  where: (typeof places)[number],
  place: Place,
  { office = {}, options = {}, tool: name }: Wanted
) {
  const first = yield* Scope.make()
  const tasks = yield* Scope.provide(publish(place, office), first)
  const task = (yield* tasks.start(name, {}, where === places[0] ? options : {})) ?? (yield* Effect.die("no task"))
  if (where === places[0]) {
    yield* Effect.addFinalizer(() => Scope.close(first, Exit.void))
    return task
  }
  yield* Scope.close(first, Exit.void)
  return yield* (yield* publish(place, office)).find(task.id, options)
})

const linked = (name: string) =>
  tool(name, () => Effect.succeed({ content: [{ type: "resource_link", uri: "ui://app/1", name: "app" }] }))

const schema = { type: "object", properties: { name: { type: "string" } } }

/** A tool that waits for `go`, asks for a name, and gives the answer. */
const asking = Effect.map(Deferred.make<void>(), (go) => ({
  go: Deferred.succeed(go, undefined),
  greet: tool("greet", (_, { ask: request, progress }) =>
    Deferred.await(go).pipe(
      Effect.andThen(progress({ progress: 1, total: 2 })),
      Effect.andThen(request({ mode: "form", message: "who?", schema })),
      Effect.map((answer) => textResult(JSON.stringify(answer)))
    )
  )
}))

const answering = (requests: Array<InputRequest>): InputResponder => ({
  modes: ["form"],
  answer: (request) =>
    Effect.sync(() => {
      requests.push(request)
      return { action: "accept", content: { name: "Ada" } }
    })
})

describe.each(places)("a task of a published office, %s", (where) => {
  it.effect("asks its host the questions of the MCP server", () =>
    Effect.gen(function* () {
      const { go, greet } = yield* asking
      const place = yield* deskWith(greet)
      const requests: Array<InputRequest> = []
      // The Computer asks the callers that announced themselves when the task was started.
      const first = yield* Scope.make()
      const tasks = yield* Scope.provide(publish(place, {}), first)
      const options = { responder: answering(requests) }
      let task = (yield* tasks.start("desk__greet", {}, options)) ?? (yield* Effect.die("no task"))
      if (where === places[1]) {
        yield* Scope.close(first, Exit.void)
        task = yield* (yield* publish(place, {})).find(task.id, options)
      }
      const waiting = yield* Effect.forkChild(task.result)
      yield* go
      yield* TestClock.adjust("2 seconds")
      const answer = JSON.stringify({ action: "accept", content: { name: "Ada" } })
      assert.deepStrictEqual((yield* Fiber.join(waiting))["content"], [{ type: "text", text: answer }])
      assert.deepStrictEqual(
        requests.map(({ message }) => message),
        ["who?"]
      )
      yield* Scope.close(first, Exit.void)
    })
  )

  it.effect("reports the progress of its call", () =>
    Effect.gen(function* () {
      const { go, greet } = yield* asking
      const place = yield* deskWith(greet)
      const reported: Array<McpProgress> = []
      const options = { onProgress: (step: McpProgress) => Effect.sync(() => void reported.push(step)) }
      const { result } = yield* taskAt(where, place, { tool: "desk__greet", options })
      const waiting = yield* Effect.forkChild(result)
      yield* go
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(waiting)
      assert.deepInclude(reported, { progress: 1, total: 2 })
    })
  )

  it.effect("links to the MCP server of its Computer, where another Computer has a tool of this name", () =>
    Effect.gen(function* () {
      const place = yield* officeOf([
        { name: "attic", server: "other", tool: linked("draw") },
        { name: "desk", server: "alpha", tool: linked("draw") }
      ])
      const { result } = yield* taskAt(where, place, { tool: "desk__draw" })
      const [link] = (yield* result)["content"] as ReadonlyArray<JsonObject>
      assert.strictEqual(link?.["uri"], "ui://desk/alpha/app/1")
    })
  )

  it.effect("has its large result limited", () =>
    Effect.gen(function* () {
      const long = tool("long", () => Effect.succeed(textResult("word ".repeat(20_000))))
      const place = yield* deskWith(long)
      const { result } = yield* taskAt(where, place, { tool: "desk__long", office: { maxResult: 16_384 } })
      const given = yield* result
      assert.isBelow(JSON.stringify(given).length, 16_384)
      assert.include(JSON.stringify(given), "result_read")
    })
  )

  it.effect("tells the host what to do about a call that needs consent", () =>
    Effect.gen(function* () {
      const place = yield* deskWith(tool("wipe"), {
        configure: { alpha: { default_tool_meta: { auto_apply: false } } }
      })
      const { result } = yield* taskAt(where, place, { tool: "desk__wipe" })
      assert.include(JSON.stringify(yield* result), "Tell the user")
    })
  )

  it.effect("has the time of its start", () =>
    Effect.gen(function* () {
      const place = yield* deskWith(tool("work"))
      yield* TestClock.adjust("7 seconds")
      assert.strictEqual((yield* taskAt(where, place, { tool: "desk__work" })).createdAt, 7000)
    })
  )
})

describe("tasks of a published office", () => {
  it.effect("lets a task run for an hour", () =>
    Effect.gen(function* () {
      const never = tool("never", () => Effect.never)
      const place = yield* deskWith(never)
      const { result } = yield* taskAt(places[0], place, { tool: "desk__never" })
      yield* TestClock.adjust("3599 seconds")
      const waiting = yield* Effect.forkChild(result, { startImmediately: true })
      yield* TestClock.adjust(0)
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.isTrue((yield* Fiber.join(waiting))["isError"])
    })
  )

  it.effect("leaves out the tools of the office itself", () =>
    Effect.gen(function* () {
      const place = yield* deskWith(tool("work"))
      const tasks = yield* publish(place, {})
      assert.isUndefined(yield* tasks.start("computers_list", {}))
    })
  )

  it.effect.each(["nothing", "a@absent", "a@desk", "@desk", "a@"])("does not find the id %s", (id) =>
    Effect.gen(function* () {
      const place = yield* deskWith(tool("work"))
      const tasks = yield* publish(place, {})
      const failure = yield* Effect.flip(tasks.find(id))
      assert.isTrue(failure.code === -32602 || failure.code === -32603)
    })
  )
})
