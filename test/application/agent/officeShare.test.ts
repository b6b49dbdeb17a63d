import { assert, describe } from "@effect/vitest"
import {
  Context,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Queue,
  Result,
  Scope,
  Stream,
  SubscriptionRef
} from "effect"
import * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { makeShareHandler, shareOffice } from "../../../src/application/agent/officeShare.ts"
import { NotPermitted } from "../../../src/application/member/OfficeMember.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import {
  type Link,
  LinkClosed,
  RequestTimeout,
  SendFailed,
  TransportClient,
  TransportServer
} from "../../../src/application/ports/Transport.ts"
import type { CallStatus } from "../../../src/domain/model/CallStatus.ts"
import { payloadTooLarge } from "../../../src/domain/model/ProtocolError.ts"
import {
  agentUnderTest,
  computerUnderTest,
  hangingTool,
  resource,
  textResult,
  tool
} from "../../conformance/members.ts"
import { conform, conformInMemory, type World } from "../../conformance/World.ts"

/** An office whose Agent shares its connection on a second transport, and ways to connect to that. */
const sharedOffice = Effect.fnUntraced(function* (world: World) {
  const { hanging, started, stopped } = yield* hangingTool("hang")
  const alpha = yield* MemoryMcp.makeMemoryMcpServer({
    tools: [tool("echo", (args) => Effect.succeed(textResult(JSON.stringify(args)))), hanging],
    resources: [resource("window://h/1")]
  })
  const computer = yield* computerUnderTest(world, { servers: { alpha } })
  const holder = yield* agentUnderTest(world)
  const context = yield* Layer.build(Layer.fresh(MemoryTransport.layer()))
  const transport = Context.get(context, TransportServer)
  const unused = yield* shareOffice(holder, { name: "agent-1", office: "O1" }).pipe(
    Effect.provideService(TransportServer, transport)
  )
  const links: Array<Link> = []
  const { connect } = Context.get(context, TransportClient)
  const client = TransportClient.of({
    connect: (request) => Effect.tap(connect(request), (link) => Effect.sync(() => void links.push(link)))
  })
  const second = (name = "agent-1", office = "O1"): Effect.Effect<Agent["Service"], unknown, Scope.Scope> =>
    Effect.map(
      Agent.layer({ name, office }).pipe(
        Layer.provide(Layer.succeed(TransportClient, client)),
        Layer.provide(world.logging),
        Layer.fresh,
        Layer.build
      ),
      Context.get(Agent)
    )
  return { alpha, computer, holder, links, second, started, stopped, unused }
})

/** Handles the requests of a second process that shares the connection of this Agent. */
const handlerOf = (holder: Agent["Service"]) =>
  makeShareHandler(holder, { name: "agent-1", office: "O1" }, { notify: () => Effect.void })

describe("shared office", () => {
  conform("serves the requests of a second process as those of the Agent", (world) =>
    Effect.gen(function* () {
      const { holder, second } = yield* sharedOffice(world)
      const agent = yield* second()
      assert.deepStrictEqual(yield* agent.members, yield* holder.members)
      assert.deepStrictEqual(yield* agent.getTools("pc-1"), yield* holder.getTools("pc-1"))
      assert.deepStrictEqual(yield* agent.getConfig("pc-1"), yield* holder.getConfig("pc-1"))
      assert.deepStrictEqual(yield* agent.getDesktop("pc-1"), ["window://h/1\n\nT"])
      const { content } = yield* agent.callTool({ tool: "echo", params: { x: 1 } })
      assert.deepStrictEqual(content, [{ type: "text", text: '{"x":1}' }])
    })
  )

  conform("passes on the errors of the office", (world) =>
    Effect.gen(function* () {
      const { second } = yield* sharedOffice(world)
      const agent = yield* second()
      const error = yield* Effect.flip(agent.getTools("absent"))
      assert.isTrue(error._tag === "ProtocolError" && error.code === 404)
    })
  )

  conform("cancels a call that the second process cancels", (world) =>
    Effect.gen(function* () {
      const { second, started, stopped } = yield* sharedOffice(world)
      const agent = yield* second()
      const call = yield* Effect.forkChild(agent.callTool({ computer: "pc-1", tool: "hang" }), {
        startImmediately: true
      })
      yield* started
      yield* Fiber.interrupt(call)
      yield* stopped
    })
  )

  conform("cancels the calls of a second process that is gone", (world) =>
    Effect.gen(function* () {
      const { links, second, started, stopped } = yield* sharedOffice(world)
      const agent = yield* second()
      yield* Effect.forkChild(agent.callTool({ computer: "pc-1", tool: "hang" }), { startImmediately: true })
      yield* started
      yield* links[0]?.close("gone") ?? Effect.void
      yield* stopped
    })
  )

  conform("knows when no second process uses it", (world) =>
    Effect.gen(function* () {
      const { second, unused } = yield* sharedOffice(world)
      yield* unused
      const scope = yield* Scope.make()
      yield* Scope.provide(second(), scope)
      const waiting = yield* Effect.forkChild(unused, { startImmediately: true })
      assert.isUndefined(waiting.pollUnsafe())
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(waiting)
    })
  )

  conform("rejects another Agent and another office", (world) =>
    Effect.gen(function* () {
      const { second } = yield* sharedOffice(world)
      assert.propertyVal(yield* Effect.flip(second("agent-2")), "_tag", "JoinRejected")
      assert.propertyVal(yield* Effect.flip(second("agent-1", "O2")), "_tag", "JoinRejected")
    })
  )

  conform("rejects requests that an Agent may not send, and never leaves for others", (world) =>
    Effect.gen(function* () {
      const { holder, links, second } = yield* sharedOffice(world)
      yield* second()
      const [link] = links
      if (link === undefined) return assert.fail("no link")
      const request = (event: string, body: unknown) =>
        Effect.map(link.request(event, jsonBody(body), Duration.minutes(1)), (reply) => reply.map(({ head }) => head))
      const leave = yield* request("server:leave_office", { office_id: "O1" })
      assert.deepInclude(leave[0], { success: false })
      for (const event of ["server:update_config", "server:unknown"]) {
        assert.include(JSON.stringify(yield* request(event, { computer: "pc-1" })), "404")
      }
      assert.include(JSON.stringify(yield* request("client:get_tools", { computer: 7 })), "400")
      assert.strictEqual((yield* SubscriptionRef.get(holder.member.status))._tag, "Joined")
    })
  )

  conform("rejects a second process while the Agent is disconnected from the Server", (world) =>
    Effect.gen(function* () {
      const { holder, second } = yield* sharedOffice(world)
      yield* SubscriptionRef.set(holder.member.status, { _tag: "Disconnected", reason: "test" })
      assert.propertyVal(yield* Effect.flip(second()), "_tag", "JoinRejected")
    })
  )

  conform("passes the notifications of the office on to the second process", (world) =>
    Effect.gen(function* () {
      const { second } = yield* sharedOffice(world)
      const agent = yield* second()
      yield* agent.settled
      yield* computerUnderTest(world, { name: "pc-2", servers: {} })
      const [seen] = yield* agent.changes.pipe(
        Stream.filter(({ computers }) => computers.has("pc-2")),
        Stream.take(1),
        Stream.runCollect
      )
      assert.deepStrictEqual([...(seen?.computers.keys() ?? [])].toSorted(), ["pc-1", "pc-2"])
    })
  )

  conform("keeps the view of the second process current: tools that change, and Computers that leave", (world) =>
    Effect.gen(function* () {
      const { alpha, computer, second } = yield* sharedOffice(world)
      const agent = yield* second()
      yield* agent.settled
      const toolsOf = (tools: ReadonlyArray<string> | undefined) =>
        agent.changesOf("pc-1").pipe(
          Stream.map((view) => view?.tools?.map(({ name }) => name)),
          Stream.filter((names) => names?.join() === tools?.join()),
          Stream.runHead
        )
      yield* toolsOf(["echo", "hang"])
      yield* alpha.setTools([tool("other")])
      yield* toolsOf(["other"])
      yield* computer.leave
      yield* agent.changes.pipe(
        Stream.filter(({ computers }) => !computers.has("pc-1")),
        Stream.runHead
      )
    })
  )

  /** A call of the second process that waits for its approval, which `go` gives. */
  const waitingCall = Effect.fnUntraced(function* (world: World) {
    const { second } = yield* sharedOffice(world)
    const agent = yield* second()
    const requested = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    yield* computerUnderTest(world, {
      name: "pc-2",
      servers: { beta: { tools: [tool("careful")] } },
      configure: { beta: { default_tool_meta: null } },
      settings: {
        confirm: () => Effect.andThen(Deferred.succeed(requested, undefined), Effect.as(Deferred.await(go), true))
      }
    })
    const statuses = yield* Queue.unbounded<CallStatus>()
    const onStatus = (status: CallStatus) => Effect.asVoid(Queue.offer(statuses, status))
    const calling = yield* Effect.forkChild(agent.callTool({ computer: "pc-2", tool: "careful", onStatus }))
    yield* Deferred.await(requested)
    yield* world.elapse("1 second")
    const status = yield* Queue.take(statuses)
    const allowed = Effect.andThen(Deferred.succeed(go, undefined), Fiber.join(calling))
    return { allowed, status }
  })

  conform("passes the status of a call on to the second process", (world) =>
    Effect.gen(function* () {
      const { allowed, status } = yield* waitingCall(world)
      assert.strictEqual(status._tag === "WaitingForConsent" ? status.approval?.tool : status._tag, "careful")
      assert.isFalse((yield* allowed).isError ?? false)
    })
  )

  conform("waits for the approval of a call of the second process longer than for the call", (world) =>
    Effect.gen(function* () {
      const { allowed } = yield* waitingCall(world)
      yield* world.elapse("4 minutes")
      assert.isFalse((yield* allowed).isError ?? false)
    })
  )

  const failures = [
    [new LinkClosed({ reason: "gone" }), 503],
    [new RequestTimeout({ timeout: Duration.seconds(90) }), 408],
    [new SendFailed({ error: payloadTooLarge(7) }), 413],
    [new NotPermitted({ event: "client:get_tools", role: "agent" }), 403]
  ] as const

  conformInMemory("waits thirty seconds longer than a request states, or ninety seconds", (world) =>
    Effect.gen(function* () {
      const { holder } = yield* sharedOffice(world)
      const timeouts: Array<number> = []
      const request = (_event: string, _body: unknown, timeout: Duration.Duration) =>
        Effect.suspend(() => {
          timeouts.push(Duration.toSeconds(timeout))
          return Effect.fail(new LinkClosed({ reason: "test" }))
        })
      const handle = handlerOf({ ...holder, member: { ...holder.member, request } })
      const base = { agent: "agent-1", computer: "pc-1", req_id: "r" }
      yield* handle("client:tool_call", jsonBody({ ...base, tool_name: "echo", params: {}, timeout: 7 }))
      yield* handle("client:get_dpe", jsonBody({ ...base, uri: "dpe://a/b", timeout: 8 }))
      yield* handle("client:get_tools", jsonBody(base))
      assert.deepStrictEqual(timeouts, [37, 38, 90])
    })
  )

  conform("replies with the error of a request that the connection of the Agent could not transport", (world) =>
    Effect.gen(function* () {
      const { holder } = yield* sharedOffice(world)
      const body = jsonBody({ agent: "agent-1", computer: "pc-1", req_id: "r" })
      for (const [failure, code] of failures) {
        const member = { ...holder.member, request: () => Effect.fail(failure) }
        const [reply] = yield* handlerOf({ ...holder, member })("client:get_tools", body)
        assert.propertyVal(reply && Result.getOrThrow(reply.head), "code", code)
      }
      const timeout = new RequestTimeout({ timeout: Duration.seconds(90) })
      const member = { ...holder.member, request: () => Effect.fail(timeout) }
      const handle = handlerOf({ ...holder, member })
      const [late] = yield* handle("client:get_tools", body)
      assert.include(JSON.stringify(late && Result.getOrThrow(late.head)), "90")
    })
  )

  conformInMemory("rejects a Computer of the name of the Agent", (world) =>
    Effect.gen(function* () {
      const { holder } = yield* sharedOffice(world)
      const handle = handlerOf(holder)
      const join = (role: string) =>
        Effect.map(
          handle("server:join_office", jsonBody({ role, name: "agent-1", office_id: "O1" })),
          ([accepted]) => accepted && Result.getOrThrow(accepted.head)
        )
      assert.deepStrictEqual([yield* join("agent"), yield* join("computer")], [true, false])
    })
  )
})
