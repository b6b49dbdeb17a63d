import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import type { ComputerOptions } from "../../../src/application/computer/Computer.ts"
import { asObject, type JsonObject } from "../../../src/domain/json.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { type Link, LinkClosed, type TransportClient, Unreachable } from "../../../src/application/ports/Transport.ts"
import { hangingTool, tool } from "../../conformance/members.ts"
import { autoApply, counted, joined, link, startedComputer, testComputer } from "./testComputer.ts"

/** A Server that admits every member, and the events that it receives. */
const admitting = (change: (link: Link) => Link = (given) => given) => {
  const received: Array<readonly [event: string, body: unknown]> = []
  const open: Link = {
    ...link,
    request: (event, body) => {
      received.push([event, Result.getOrThrow(body.value())])
      return Effect.succeed([jsonBody(true), jsonBody(null)])
    },
    notify: (event, body) => Effect.sync(() => void received.push([event, Result.getOrThrow(body.value())]))
  }
  const transport: TransportClient["Service"] = { connect: () => Effect.succeed(change(open)) }
  return { received, transport, events: () => received.map(([event]) => event) }
}

describe("start of a Computer with an office", () => {
  const starting = (duration: "3 seconds" | "1 minute") =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const { events, transport } = admitting()
      const alpha = { connect: Effect.delay(memory.connect, duration) }
      const building = yield* Effect.forkScoped(testComputer({ servers: { alpha }, office: "o", transport }), {
        startImmediately: true
      })
      return { building, events, isReady: () => building.pollUnsafe() !== undefined }
    })

  it.effect("joins before its servers start, and is ready when they have started", () =>
    Effect.gen(function* () {
      const { building, events, isReady } = yield* starting("3 seconds")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual([events(), isReady()], [["server:join_office"], false])
      yield* TestClock.adjust("1 second")
      const { computer } = yield* Fiber.join(building)
      assert.deepStrictEqual(
        [yield* computer.office, events()],
        ["o", ["server:join_office", "server:update_tool_list"]]
      )
    })
  )

  it.effect("is ready after five seconds while a server is still starting", () =>
    Effect.gen(function* () {
      const { building, isReady } = yield* starting("1 minute")
      yield* TestClock.adjust("4 seconds")
      assert.isFalse(isReady())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(building)
    })
  )

  it.effect("starts no server when the join is rejected", () =>
    Effect.gen(function* () {
      const reply = [jsonBody(false), jsonBody("Computer with name 'pc' already exists in room 'o'")]
      const { transport } = admitting((open) => ({ ...open, request: () => Effect.succeed(reply) }))
      const alpha = counted(yield* makeMemoryMcpServer())
      let prepared = 0
      const prepare = Effect.sync(() => void prepared++)
      const error = yield* Effect.flip(testComputer({ servers: { alpha }, office: "o", transport, prepare }))
      assert.strictEqual(error._tag, "JoinRejected")
      assert.deepStrictEqual([prepared, alpha.starts.count], [0, 0])
    })
  )

  it.effect("prepares after the join and before its servers start", () =>
    Effect.gen(function* () {
      const { events, transport } = admitting()
      const alpha = counted(yield* makeMemoryMcpServer())
      const seen: Array<unknown> = []
      const prepare = Effect.sync(() => void seen.push(events(), alpha.starts.count))
      yield* testComputer({ servers: { alpha }, office: "o", transport, prepare })
      assert.deepStrictEqual([seen, alpha.starts.count], [[["server:join_office"], 0], 1])
    })
  )

  it.effect("keeps its servers running when it rejoins", () =>
    Effect.gen(function* () {
      const lost = yield* Deferred.make<string>()
      const { events, transport } = admitting((open) => ({
        ...open,
        closed: events().length > 0 ? Effect.never : Deferred.await(lost)
      }))
      const alpha = counted(yield* makeMemoryMcpServer())
      yield* testComputer({ servers: { alpha }, office: "o", transport })
      yield* Deferred.succeed(lost, "gone")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(
        [events(), alpha.starts.count],
        [["server:join_office", "server:update_tool_list", "server:join_office"], 1]
      )
    })
  )

  it.effect("fails when the Server cannot be reached", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(testComputer({ servers: {}, office: "o" })))._tag, "Unreachable")
    })
  )
})

describe("notification of changes", () => {
  it.effect("skips changes that happened outside an office", () =>
    Effect.gen(function* () {
      const { events, transport } = admitting()
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("a")] })
      const { computer } = yield* startedComputer({ servers: { alpha }, transport })
      yield* alpha.setTools([tool("b")])
      yield* TestClock.adjust(0)
      yield* computer.join({ office: "o" })
      assert.deepStrictEqual(events(), ["server:join_office"])
    })
  )

  it.effect.each([[1], [2], [3]] as const)("follows once after the rejoin %i when it failed until then", ([failures]) =>
    Effect.gen(function* () {
      const closing = yield* Effect.forEach(Array.from({ length: failures + 2 }), () => Deferred.make<string>())
      let connections = 0
      const { events, transport } = admitting((open) => {
        const lost = closing[connections++] ?? assert.fail()
        const fail = new LinkClosed({ reason: "gone" })
        return {
          ...open,
          closed: Deferred.await(lost),
          notify: connections <= failures ? () => Effect.fail(fail) : open.notify
        }
      })
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("a")] })
      const { computer } = yield* startedComputer({ servers: { alpha }, transport })
      yield* computer.join({ office: "o" })
      yield* alpha.setTools([tool("b")])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(events(), ["server:join_office"])
      for (const lost of closing.slice(0, -1)) {
        yield* Deferred.succeed(lost, "gone")
        yield* TestClock.adjust("1 minute")
      }
      assert.deepStrictEqual(events(), [
        ...closing.slice(0, -1).map(() => "server:join_office"),
        "server:update_tool_list",
        "server:join_office"
      ])
    })
  )
})

describe("call of the Agent", () => {
  /** A Computer in an office by this connection; `call` is a call of a tool that runs until it is interrupted. */
  const calling = Effect.fnUntraced(function* (connect: Effect.Effect<Link, never, Scope.Scope>) {
    const { hanging, started, stopped } = yield* hangingTool("hang")
    const alpha = yield* makeMemoryMcpServer({ tools: [hanging] })
    const { computer, request } = yield* joined({ servers: { alpha }, configure: { alpha: autoApply } }, connect)
    const call = Effect.suspend(() => request("client:tool_call", { tool_name: "hang", params: {}, timeout: 60 }))
    return { call, computer, request, started, stopped }
  })

  it.effect("ends when it arrives while the Computer leaves", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const closing = Effect.acquireRelease(Effect.succeed(link), () => Deferred.await(closed))
      const { call, computer, started, stopped } = yield* calling(closing)
      const leaving = yield* Effect.forkChild(computer.leave, { startImmediately: true })
      yield* TestClock.adjust(0)
      yield* Effect.forkChild(call)
      yield* started
      yield* Deferred.succeed(closed, undefined)
      yield* Fiber.join(leaving)
      yield* stopped
    })
  )

  it.effect("goes on in the next office, which the Computer joins while it still leaves the last one", () =>
    Effect.gen(function* () {
      let opened = 0
      const connect = Effect.acquireRelease(
        Effect.sync(() => ++opened),
        (count) => (count === 1 ? Effect.sleep("1 second") : Effect.void)
      )
      const { call, computer, request } = yield* calling(Effect.as(connect, link))
      const task = { id: "t1", tool: "hang", params: {}, timeout: 60 }
      const taskState = (method: string, params: JsonObject) =>
        Effect.suspend(() => request("client:mcp", { method, params })).pipe(
          Effect.map((reply) => asObject(asObject(reply)["result"])["state"])
        )
      const leaving = yield* Effect.forkChild(computer.leave, { startImmediately: true })
      const running = yield* computer
        .join({ office: "o2" })
        .pipe(
          Effect.andThen(taskState("tasks/start", task)),
          Effect.andThen(call),
          Effect.forkChild({ startImmediately: true })
        )
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(leaving)
      assert.isUndefined(running.pollUnsafe())
      assert.strictEqual(yield* taskState("tasks/get", { id: "t1" }), "working")
      assert.strictEqual(yield* computer.office, "o2")
    })
  )

  it.effect("ends before the connection does when the Computer leaves", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const ending = (what: string) => Effect.sync(() => void ended.push(what))
      const closing = Effect.acquireRelease(Effect.succeed(link), () => ending("connection"))
      const { call, computer, started } = yield* calling(closing)
      const running = yield* Effect.forkChild(Effect.tap(call, ending("call")))
      yield* started
      yield* computer.leave
      yield* Fiber.join(running)
      assert.deepStrictEqual(ended, ["call", "connection"])
    })
  )
})

describe("end of a Computer", () => {
  it.effect("leaves the office before the servers stop", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const ending = (name: string) => Effect.addFinalizer(() => Effect.sync(() => void ended.push(name)))
      const memory = yield* makeMemoryMcpServer()
      const alpha = { connect: Effect.andThen(ending("server"), memory.connect) }
      const transport: TransportClient["Service"] = { connect: () => Effect.as(ending("connection"), link) }
      const scope = yield* Scope.make()
      const { computer } = yield* Scope.provide(testComputer({ servers: { alpha }, transport }), scope)
      yield* TestClock.adjust(0)
      yield* computer.join({ office: "o" })
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(ended, ["connection", "server"])
    })
  )

  it.effect("ends its membership", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { computer } = yield* Scope.provide(joined({ servers: {} }), scope)
      yield* Scope.close(scope, Exit.void)
      assert.isUndefined(yield* computer.office)
    })
  )
})

describe("naming of an office", () => {
  it.effect("logs the tools that it hides without secrets", () =>
    Effect.gen(function* () {
      const secret = "wonderland"
      const alpha = yield* makeMemoryMcpServer({ tools: [tool(`read_${secret}`)] })
      const { transport } = admitting()
      const { computer, logged, logs } = yield* startedComputer({
        servers: { alpha },
        configure: {
          alpha: {
            forbidden_tools: [`read_${secret}`],
            server_parameters: { command: "memory", env: { TOKEN: "${env:TOKEN}" } }
          }
        },
        environment: { TOKEN: secret },
        transport
      })
      logs.length = 0
      yield* logged(computer.join({ office: "o", protocol: "0.3" }))
      yield* TestClock.adjust(0)
      const hidden = logs.filter((line) => line.includes("tool hidden"))
      assert.lengthOf(hidden, 1)
      assert.notInclude(hidden[0], secret)
    })
  )
})

describe("a join after a leave", () => {
  /** A Server that gives these replies to the joins, the last one to all others, and what it receives. */
  const answering = (...replies: ReadonlyArray<ReadonlyArray<unknown>>) => {
    const joins: Array<{ readonly version: string; readonly auth: JsonObject; readonly body: unknown }> = []
    const transport: TransportClient["Service"] = {
      connect: ({ auth, version }) =>
        Effect.succeed({
          ...link,
          request: (_, body) => {
            joins.push({ version, auth, body: Result.getOrThrow(body.value()) })
            return Effect.succeed((replies[joins.length - 1] ?? replies.at(-1) ?? [true, null]).map(jsonBody))
          }
        })
    }
    return { joins, transport }
  }
  const taken = [false, "Computer with name 'pc' already exists in room 'o'"]

  it.effect.each([
    ["the protocol line", { protocol: "0.3" }, ({ version }) => version],
    ["another protocol line", { protocol: "0.4" }, ({ version }) => version],
    ["the choice of the line", { protocol: "auto" }, ({ version }) => version],
    ["the secret of its reconnects", {}, ({ auth }) => auth["instance"]],
    ["its features", { operators: { calls: true } }, ({ auth }) => auth["a2c_features"]],
    ["the takeover", { protocol: "0.4", takeOver: true }, ({ body }) => body]
  ] satisfies ReadonlyArray<
    [string, Partial<ComputerOptions>, (join: ReturnType<typeof answering>["joins"][number]) => unknown]
  >)("keeps %s", ([, membership, of]) =>
    Effect.gen(function* () {
      const { joins, transport } = answering()
      const { computer } = yield* testComputer({ servers: {}, office: "o", membership, transport })
      yield* computer.leave
      yield* computer.join({ office: "o" })
      const [before, after] = joins.map(of)
      assert.isDefined(before)
      assert.deepStrictEqual(after, before)
    })
  )

  it.effect("waits for its place as long as at the start", () =>
    Effect.gen(function* () {
      const { joins, transport } = answering([true, null], taken, [true, null])
      const membership = { wait: Duration.minutes(1) }
      const { computer } = yield* testComputer({ servers: {}, office: "o", membership, transport })
      yield* computer.leave
      const joining = yield* Effect.forkChild(computer.join({ office: "o" }), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(joining)
      assert.lengthOf(joins, 3)
    })
  )

  it.effect("tries again while the Server is unreachable, as at the start", () =>
    Effect.gen(function* () {
      let connects = 0
      const transport: TransportClient["Service"] = {
        connect: () => (++connects === 2 ? Effect.fail(new Unreachable({ message: "away" })) : Effect.succeed(link))
      }
      const membership = { retryInitialConnect: true }
      const { computer } = yield* testComputer({ servers: {}, office: "o", membership, transport })
      yield* computer.leave
      const joining = yield* Effect.forkChild(computer.join({ office: "o" }), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(joining)
      assert.strictEqual(connects, 3)
    })
  )

  it.effect("takes the options of its request before those of the Computer, and no undefined ones", () =>
    Effect.gen(function* () {
      const { joins, transport } = answering()
      const { computer } = yield* testComputer({ servers: {}, membership: { protocol: "0.4" }, transport })
      yield* computer.join({ office: "o", protocol: "0.3" })
      yield* computer.leave
      yield* computer.join({ office: "o" })
      yield* computer.leave
      yield* computer.join({ office: "o", ...({ protocol: undefined } as object) })
      const versions = joins.map(({ version }) => version.slice(0, 3))
      assert.deepStrictEqual(versions, ["0.3", "0.4", "0.4"])
    })
  )
})
