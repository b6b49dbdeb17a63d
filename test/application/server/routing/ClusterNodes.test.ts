import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../../src/adapters/memory/MemoryCluster.ts"
import { type Body, jsonBody } from "../../../../src/application/ports/Body.ts"
import type { NodeMessageHandler } from "../../../../src/application/server/nodes/nodeMessages.ts"
import { LinkClosed, requestUsing, type Link, type ReplyExit } from "../../../../src/application/ports/Transport.ts"
import { makeClusterNodes, operatorsTarget } from "../../../../src/application/server/routing/ClusterNodes.ts"
import { parseMemberFeatures } from "../../../../src/domain/office/memberFeatures.ts"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import { recordGauges } from "../../../recordGauges.ts"
import { settle } from "../../../settle.ts"
import { makeLink, makeParts, openMember, recordMetrics } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

const minute = Duration.minutes(1)
const valueOf = (body: Body) => Result.getOrElse(body.value(), ({ code }) => `fault ${code}`)

/** A node of the cluster and its parts. */
const start = Effect.fnUntraced(function* (cluster: MemoryCluster.MemoryCluster, name: string) {
  const parts = yield* makeParts({}, undefined, MemoryCluster.layerNode(cluster, name))
  const nodes = yield* parts.provide(makeClusterNodes(parts.connections))
  return { ...parts, nodes }
})

/** The requests and notifications of a node to a member of another node. */
const remoteLink = ({ nodeLink, nodes }: Effect.Success<ReturnType<typeof start>>, sid: string, office: string) => {
  const member = { node: "two", sid, membership: { role: "computer", name: "pc", office } } as const
  return {
    request: requestUsing((event, body, timeout, onReply) => nodes.startRequest(member, event, body, timeout, onReply)),
    notify: (event: string, body: Body) => Effect.sync(() => nodeLink.notify("two", [sid], event, body))
  }
}

/** A link that replies with the event and the body, unless the event is `never`. */
const linkOf = (id: string, received: Array<unknown>, forgotten: Deferred.Deferred<void>): Link => {
  const startRequest: Link["startRequest"] = (event, body, _, onReply) => {
    received.push(event)
    if (event !== "never") queueMicrotask(() => onReply(Exit.succeed([jsonBody(event), body])))
    return () => Deferred.doneUnsafe(forgotten, Exit.void)
  }
  return makeLink(id, {
    startRequest,
    request: requestUsing(startRequest),
    post: (event, body) => {
      received.push([id, event, valueOf(body)])
      return undefined
    }
  }).link
}

/** Two nodes, and two Computers of the second one in an office. */
const world = Effect.gen(function* () {
  const cluster = MemoryCluster.makeCluster()
  const received: Array<unknown> = []
  const forgotten = yield* Deferred.make<void>()
  const one = yield* start(cluster, "one")
  const home = yield* Scope.make()
  const two = yield* Scope.provide(start(cluster, "two"), home)
  for (const sid of ["c1", "c2"]) {
    yield* Scope.provide(openMember(two, linkOf(sid, received, forgotten), "computer"), home)
  }
  const linkTo = (sid: string, office = "O") => remoteLink(one, sid, office)
  return { forgotten, received, home, linkTo, one, two }
})

const test = effectWith(world)

describe("a member of another node", () => {
  test("replies to requests", function* ({ linkTo, two }) {
    const reply = yield* linkTo("c1").request("client:x", jsonBody({ a: 1 }), minute)
    assert.deepStrictEqual(reply.map(valueOf), ["client:x", { a: 1 }])
    assert.strictEqual(two.connections.get("c1")?.inboundCalls.size, 0)
  })

  test("fails requests with LinkClosed after it has disconnected", function* ({ linkTo }) {
    const failed = yield* Effect.flip(linkTo("gone").request("client:x", jsonBody({}), minute))
    assert.strictEqual(failed._tag, "LinkClosed")
  })

  test("gets no requests of an office that it left, except during a membership change", function* ({
    received,
    linkTo,
    two
  }) {
    const asking = linkTo("c1", "P").request("client:x", jsonBody({}), minute)
    assert.strictEqual((yield* Effect.flip(asking))._tag, "LinkClosed")
    assert.deepStrictEqual(received, [])
    const connection = two.connections.get("c1")
    assert.isDefined(connection)
    connection.pendingMembershipChanges = 1
    yield* asking
    assert.deepStrictEqual(received, ["client:x"])
  })

  test("fails requests with 503 and the name of the Computer when its node is lost", function* ({ home, linkTo }) {
    yield* Scope.close(home, Exit.void)
    const failed = yield* Effect.flip(linkTo("c1").request("client:x", jsonBody({}), minute))
    const error = failed._tag === "SendFailed" ? failed.error : undefined
    assert.strictEqual(error?.code, 503)
    assert.include(error?.message, "'pc'")
  })

  test("shares one notification with the other members of its node", function* ({ received, linkTo, one }) {
    one.nodeLink.notify("two", ["c1", "gone", "c2"], "notify:x", jsonBody(1))
    yield* linkTo("c1").notify("notify:y", jsonBody(2))
    while (received.length < 3) yield* Effect.yieldNow
    assert.deepStrictEqual(received, [
      ["c1", "notify:x", 1],
      ["c2", "notify:x", 1],
      ["c1", "notify:y", 2]
    ])
  })

  test("cancels the request when the caller is interrupted", function* ({ forgotten, received, linkTo, one, two }) {
    const asking = yield* Effect.forkChild(linkTo("c1").request("never", jsonBody({}), minute))
    while (received.length === 0) yield* Effect.yieldNow
    assert.strictEqual(two.connections.get("c1")?.inboundCalls.size, 1)
    yield* Fiber.interrupt(asking)
    yield* Deferred.await(forgotten)
    while (two.connections.get("c1")?.inboundCalls.size !== 0) yield* Effect.yieldNow
    assert.strictEqual(two.nodeLink.load().inboundRequests, 0)
    assert.strictEqual(one.nodeLink.load().outboundRequests, 0)
  })
})

/** The handler of messages from other nodes, which a test calls in their place. */
const startHandler = Effect.fnUntraced(function* (given: Parameters<typeof makeParts>[0] = {}) {
  let handler: NodeMessageHandler | undefined
  const parts = yield* makeParts(given, ({ nodeLink }) => ({
    nodeLink: { ...nodeLink, serve: (served) => Effect.sync(() => void (handler = served)) }
  }))
  const nodes = yield* parts.provide(makeClusterNodes(parts.connections))
  assert.isDefined(handler)
  return { ...parts, handler, nodes }
})

const testHandler = effectWith(startHandler())

describe("a message from another node", () => {
  testHandler("gets no reply when it is cancelled at once, though its member is absent", function* ({ handler }) {
    const replies: Array<ReplyExit> = []
    const to = { sid: "gone", office: "O" }
    const onReply = (exit: ReplyExit) => void replies.push(exit)
    handler.startRequest(to, "client:x", jsonBody({}), minute, onReply)()
    yield* settle
    assert.deepStrictEqual(replies, [])
    handler.startRequest(to, "client:x", jsonBody({}), minute, onReply)
    yield* settle
    assert.strictEqual(replies.length, 1)
  })

  testHandler(
    "is forwarded as the status of a call only while its Agent waits for this call",
    function* ({ handler, ...parts }) {
      const { link, sent } = makeLink("ada")
      const agent = yield* openMember(parts, link, "agent")
      Object.assign(agent, { features: parseMemberFeatures({ a2c_features: ["call_status"] }) })
      const describe = () => assert.fail("no observer")
      const origin = { computer: "pc", reqId: "r1", serial: 1, startedAt: 0, describe }
      const call = new InFlightCall("O", (_exit, _isReplied, ended) => void agent.calls.delete(ended), origin)
      agent.calls.add(call)
      const notify = (body: unknown) => {
        handler.notify(["ada"], "notify:update_tool_call", jsonBody(body))
        return settle
      }
      yield* notify({ computer: "pc", req_id: "r1", status: "x" })
      yield* notify({ computer: "other", req_id: "r1", status: "x" })
      yield* notify({ computer: "pc", req_id: "r2", status: "x" })
      yield* notify("malformed")
      call.cancel()
      yield* notify({ computer: "pc", req_id: "r1", status: "x" })
      assert.deepStrictEqual(
        sent.map(({ body }) => valueOf(body)),
        [{ computer: "pc", req_id: "r1", status: "x" }]
      )
    }
  )

  testHandler("counts as activity of its member, as does the reply, but not a failure", function* (parts) {
    const ends: Array<(exit: ReplyExit) => void> = []
    const { link } = makeLink("pc", {
      startRequest: (_event, _body, _timeout, onReply) => {
        ends.push(onReply)
        return () => undefined
      }
    })
    const connection = yield* openMember(parts, link, "computer")
    for (let count = 0; count < 2; count++) {
      yield* TestClock.adjust("10 seconds")
      parts.handler.startRequest({ sid: "pc", office: "O" }, "client:x", jsonBody({}), minute, () => undefined)
    }
    assert.strictEqual(connection.lastActivityAt, 20_000)
    yield* TestClock.adjust("10 seconds")
    ends[0]?.(Exit.fail(new LinkClosed({ reason: "gone" })))
    assert.strictEqual(connection.lastActivityAt, 20_000)
    ends[1]?.(Exit.succeed([]))
    assert.strictEqual(connection.lastActivityAt, 30_000)
  })

  testHandler("counts as activity of its member when it is a notification", function* (parts) {
    const connection = yield* openMember(parts, makeLink("pc").link, "computer")
    yield* TestClock.adjust("10 seconds")
    parts.handler.notify(["pc"], "notify:x", jsonBody({}))
    assert.strictEqual(connection.lastActivityAt, 10_000)
  })

  testHandler("ends for the operators when the other node cancels it", function* ({ handler, nodes }) {
    const ended = yield* Deferred.make<void>()
    yield* nodes.serveOperators(() => Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined)))
    const cancel = handler.startRequest(operatorsTarget, "a2c:operators", jsonBody({}), minute, () =>
      assert.fail("reply")
    )
    yield* settle
    cancel()
    yield* Deferred.await(ended)
  })

  testHandler("is omitted when it is a notification to a connection that is being closed", function* (parts) {
    const { link, sent } = makeLink("pc")
    const connection = yield* openMember(parts, link, "computer")
    connection.closing = true
    parts.handler.notify(["pc"], "notify:x", jsonBody({}))
    yield* settle
    assert.deepStrictEqual(sent, [])
  })

  it.effect("is dropped and counted when it is a notification and the member reads too slowly", () =>
    Effect.gen(function* () {
      const { dropped, metrics } = recordMetrics()
      const parts = yield* startHandler({ metrics, limits: { notificationBacklogBytes: 100 } })
      const { link, sent, setBacklog } = makeLink("pc")
      yield* openMember(parts, link, "computer")
      setBacklog(100)
      parts.handler.notify(["pc"], "notify:x", jsonBody({}))
      yield* settle
      assert.deepStrictEqual([sent.length, dropped], [1, []])
      setBacklog(101)
      parts.handler.notify(["pc"], "notify:x", jsonBody({}))
      yield* settle
      assert.deepStrictEqual([sent.length, dropped], [1, ["notification"]])
    })
  )
})

describe("the report of a node", () => {
  it.effect("has the load of its link", () =>
    Effect.gen(function* () {
      const { metrics, read } = recordGauges()
      const load = {
        outboundRequests: 1,
        inboundRequests: 2,
        queuedBytes: 3,
        links: 4,
        unsent: 5
      }
      const { connections, provide } = yield* makeParts({ metrics }, ({ nodeLink }) => ({
        nodeLink: { ...nodeLink, load: () => load }
      }))
      yield* provide(makeClusterNodes(connections))
      const gauges = [
        'node_requests{"direction":"out"}',
        'node_requests{"direction":"in"}',
        "node_queued_bytes",
        "node_links",
        "node_dropped_messages_total"
      ]
      assert.deepStrictEqual(gauges.map(read), [1, 2, 3, 4, 5])
    })
  )
})
