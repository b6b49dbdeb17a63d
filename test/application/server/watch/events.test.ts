import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { admissionRejected, allowAll } from "../../../../src/application/ports/Authenticator.ts"
import { PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { elapse, line, makeCall, node, openStream, startWatched, toolResult } from "./watchedServer.ts"
import { effectWith } from "../../../testWith.ts"
import { partsOf } from "../../../page/scripted/snapshotParts.ts"

const test = effectWith(startWatched())

describe("a stream of batches", () => {
  it.effect("gives one a second without other events, with the node and the activity", () =>
    Effect.gen(function* () {
      const stream = yield* openStream(yield* startWatched())
      yield* elapse("3 seconds")
      assert.deepStrictEqual(
        stream.batches.map(({ at, events }) => [at, ...events.map(({ _tag }) => _tag)]),
        [1000, 2000, 3000].map((at) => [at, "Activity", "Node"])
      )
    })
  )

  test("gives one every 100 milliseconds while there are events", function* (server) {
    const stream = yield* openStream(server)
    for (const name of ["a", "b", "c"]) {
      yield* server.computer(name)
      yield* elapse()
    }
    assert.deepStrictEqual(
      stream.batches.map(({ at, events }) => [at, events.length]),
      [
        [100, 1],
        [200, 1],
        [300, 1]
      ]
    )
  })

  test("collects the events since the last one, in their order", function* (server) {
    const stream = yield* openStream(server)
    const one = yield* server.computer("one")
    const two = yield* server.computer("two")
    yield* one.close
    yield* elapse()
    const [batch] = stream.batches
    assert.deepStrictEqual(
      batch?.events.map((event) => (event._tag === "Entered" ? event.member.sid : event)),
      [one.sid, two.sid, { _tag: "Left", sid: one.sid, at: 0 }]
    )
    assert.deepInclude(batch, { omittedCalls: 0, droppedEvents: 0 })
  })
})

describe("a stream", () => {
  test("shows a member that enters as a snapshot does", function* (server) {
    const stream = yield* openStream(server)
    yield* TestClock.adjust(50)
    yield* server.computer("pc", { auth: { a2c_features: ["inspection"] } })
    yield* elapse()
    const { snapshot } = yield* server.watch.open
    const [entered] = stream.tagged("Entered")
    assert.deepInclude(entered?.member, { line, version: PROTOCOL_VERSION, joinedAt: 50, node })
    assert.deepStrictEqual(
      stream.tagged("Entered").map(({ member }) => member),
      partsOf(snapshot).members
    )
  })

  test("shows a member that leaves", function* (server) {
    const computer = yield* server.computer()
    const stream = yield* openStream(server)
    yield* computer.request("server:leave_office", { office_id: "O" })
    yield* elapse()
    assert.deepStrictEqual(stream.events(), [{ _tag: "Left", sid: computer.sid, at: 0 }])
  })

  for (const [event, part] of [
    ["server:update_tool_list", "toolList"],
    ["server:update_desktop", "desktop"],
    ["server:update_config", "config"]
  ]) {
    test(`shows ${event} of a Computer`, function* (server) {
      const computer = yield* server.computer()
      const stream = yield* openStream(server)
      yield* computer.notify(event ?? "", { computer: "pc" })
      yield* elapse()
      assert.deepStrictEqual(stream.events() as ReadonlyArray<unknown>, [
        { _tag: "Updated", line, office: "O", computer: "pc", part, at: 0 }
      ])
    })
  }

  it.effect("shows a rejected connection", () =>
    Effect.gen(function* () {
      const authenticate = () => Effect.fail(admissionRejected("missing_credentials", "no key"))
      const server = yield* startWatched({ authenticator: { ...allowAll, authenticate } })
      const stream = yield* openStream(server)
      yield* Effect.flip(Effect.scoped(server.connect("agent")))
      yield* elapse()
      assert.deepStrictEqual(stream.events(), [
        { _tag: "Rejected", node, at: 0, what: "connection", code: 401, reason: "no key", remoteAddress: "memory" }
      ])
    })
  )

  test("shows a rejected join", function* (server) {
    yield* server.agent()
    const stream = yield* openStream(server)
    yield* server.agent("bob")
    yield* elapse()
    const [rejected] = stream.tagged("Rejected")
    assert.deepInclude(rejected, { node, what: "join", subject: "anonymous" })
    assert.include(rejected?.reason, "already has an agent")
  })

  test("shows a rejected request", function* (server) {
    const agent = yield* server.agent()
    const stream = yield* openStream(server)
    yield* agent.request("server:dance", {})
    yield* elapse()
    const rejected = { code: 404, reason: 'Unknown event "server:dance"', subject: "anonymous" }
    assert.deepStrictEqual(stream.events(), [{ _tag: "Rejected", node, at: 0, what: "request", ...rejected }])
  })

  test("shortens the reasons of rejections", function* (server) {
    const agent = yield* server.agent()
    const stream = yield* openStream(server)
    yield* agent.request(`server:${"x".repeat(1000)}`, {})
    yield* elapse()
    assert.strictEqual(stream.tagged("Rejected")[0]?.reason.length, 256)
  })

  test("counts the calls and the failed calls of each office in a second", function* (server) {
    const answer = (_: string, request: unknown) =>
      Effect.succeed(toolResult("", { isError: JSON.stringify(request).includes("fail") }))
    for (const office of ["A", "B"]) yield* server.computer("pc", { office, answer })
    const [ada, bob] = [yield* server.agent("ada", { office: "A" }), yield* server.agent("ada", { office: "B" })]
    const stream = yield* openStream(server)
    for (const tool of ["list", "fail", "list"]) yield* makeCall(ada, { tool_name: tool })
    yield* makeCall(bob)
    yield* Effect.forkChild(ada.request("client:get_tools", { agent: "ada", computer: "pc", req_id: "listing" }))
    yield* elapse("2 seconds")
    const offices = [
      { line, node, office: "A", calls: 3, failed: 1 },
      { line, node, office: "B", calls: 1, failed: 0 }
    ]
    assert.deepStrictEqual(stream.tagged("Activity"), [
      { _tag: "Activity", at: 1000, offices },
      { _tag: "Activity", at: 2000, offices: [] }
    ])
  })

  test("reports the node every second", function* (server) {
    yield* server.computer("pc", { answer: () => Effect.as(Effect.sleep(Duration.millis(20)), toolResult("")) })
    const agent = yield* server.agent()
    const stream = yield* openStream(server)
    yield* Effect.forkChild(makeCall(agent))
    yield* elapse("1 second")
    const [{ node: status } = assert.fail("no node")] = stream.tagged("Node")
    assert.deepInclude(status, { node, state: "ready", connections: 2, callsInFlight: 0, startedAt: 0 })
    assert.isAbove(status.callsPerSecond, 0)
    assert.isAbove(status.latency?.p50 ?? 0, 0)
  })
})
