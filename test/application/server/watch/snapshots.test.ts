import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { allowAll } from "../../../../src/application/ports/Authenticator.ts"
import { TestClock } from "effect/testing"
import { maxEndedCalls, maxRunningCalls } from "../../../../src/application/server/watch/pageEvents.ts"
import { maxSnapshotMembers } from "../../../../src/application/server/watch/OfficeWatch.ts"
import { packageVersion } from "../../../../src/domain/packageVersion.ts"
import { PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { maxCallsPerBatch } from "../../../../src/application/shared/page/StreamBuffer.ts"
import { settle } from "../../../settle.ts"
import {
  elapse,
  line,
  makeCall,
  node,
  openStream,
  outcomesOf,
  startCall,
  startOffice,
  startWatched
} from "./watchedServer.ts"
import { effectWith } from "../../../testWith.ts"
import { partsOf } from "../../../page/scripted/snapshotParts.ts"

const noFeatures = { inspection: false, operatorCalls: false, approvals: false }

/** The ids of the latest of these calls, without the first two. */
const latestIds = (count: number) => Array.from({ length: count - 2 }, (_, index) => `${node}/${index + 3}`)

const test = effectWith(startWatched())
const testOffice = effectWith(startOffice())
const testRunning = effectWith(startOffice(Effect.never))

describe("the snapshot of a stream", () => {
  test("lists the members with their features", function* (server) {
    const agent = yield* server.agent()
    const computer = yield* server.computer("pc", {
      auth: { a2c_features: ["operator_calls", "later", "inspection"] }
    })
    yield* server.connect("agent")
    const { snapshot } = yield* server.watch.open
    const common = { node, line, office: "O", version: PROTOCOL_VERSION, joinedAt: 0, subject: "anonymous" }
    const features = { inspection: true, operatorCalls: true, approvals: false }
    assert.deepStrictEqual(partsOf(snapshot).members, [
      { ...common, sid: agent.sid, role: "agent", name: "ada", features: noFeatures },
      { ...common, sid: computer.sid, role: "computer", name: "pc", features }
    ])
  })

  test("has the time at which a member has joined its office last", function* (server) {
    yield* TestClock.adjust("5 seconds")
    const computer = yield* server.computer()
    const times = Effect.map(Effect.scoped(server.watch.open), ({ snapshot }) =>
      partsOf(snapshot).members.map(({ joinedAt }) => joinedAt)
    )
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(yield* times, [5000])
    yield* computer.request("server:join_office", { role: "computer", name: "pc", office_id: "P" })
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(yield* times, [10_000])
  })

  for (const features of ["inspection", { inspection: true }, [["inspection"]], null]) {
    test(`shows no features for ${JSON.stringify(features)} instead of an array of words`, function* (server) {
      yield* server.computer("pc", { auth: { a2c_features: features } })
      const { snapshot } = yield* server.watch.open
      assert.deepStrictEqual(partsOf(snapshot).members[0]?.features, noFeatures)
    })
  }

  test("shows the node", function* (server) {
    yield* server.agent()
    const { snapshot } = yield* server.watch.open
    const [shown] = partsOf(snapshot).nodes
    assert.strictEqual(partsOf(snapshot).nodes.length, 1)
    assert.deepInclude(shown, { node, version: packageVersion, state: "ready", connections: 1, callsInFlight: 0 })
    assert.include(shown?.lines ?? [], line)
  })

  testRunning("has calls that run, although they started before the stream", function* ({ ada, watch }) {
    yield* startCall(ada, { tool_name: "fs:read" })
    const { snapshot } = yield* watch.open
    const members = { line, office: "O", agent: "ada", subject: "anonymous", computer: "pc" }
    const call = { node, ...members, event: "client:tool_call", tool: "fs:read", reqId: "r", startedAt: 0 }
    assert.deepStrictEqual(partsOf(snapshot).calls, [{ id: `${node}/1`, ...call }])
  })

  testRunning(
    "has the last status of a call that another stream shows, with the decision before it",
    function* (server) {
      const other = yield* openStream(server)
      yield* startCall(server.ada)
      yield* elapse()
      assert.strictEqual(other.tagged("Call").length, 1)
      const report = (status: object) =>
        server.pc.notify("server:update_tool_call", { computer: "pc", req_id: "r", ...status })
      yield* report({ status: "decided", allowed: true, decided_by: "operator:otto" })
      yield* report({ status: "progress", progress: 3 })
      yield* elapse()
      const { snapshot } = yield* server.watch.open
      const decision = { _tag: "Decided", computer: "pc", isAllowed: true, by: "operator:otto" } as const
      assert.deepStrictEqual(
        partsOf(snapshot).calls.map(({ decision, status }) => ({ decision, status })),
        [{ decision, status: { _tag: "Progressing", computer: "pc", progress: 3 } }]
      )
    }
  )

  it.effect("counts a connection that has not authenticated yet", () =>
    Effect.gen(function* () {
      const server = yield* startWatched({ authenticator: { ...allowAll, authenticate: () => Effect.never } })
      yield* Effect.forkChild(server.connect("agent"), { startImmediately: true })
      yield* settle
      const { snapshot } = yield* server.watch.open
      assert.deepStrictEqual(
        partsOf(snapshot).nodes.map(({ connections }) => connections),
        [1]
      )
    })
  )

  testOffice("has the calls that ended while another stream was open", function* ({ ada, watch }) {
    yield* watch.open
    yield* makeCall(ada)
    assert.deepStrictEqual(outcomesOf(partsOf((yield* watch.open).snapshot).calls), ["fs:list: ok"])
  })

  test("omits members beyond the maximum", function* (server) {
    const count = maxSnapshotMembers + 3
    yield* Effect.forEach(Array(count).keys(), (index) => server.agent("ada", { office: `O${index}` }))
    const { snapshot } = yield* server.watch.open
    assert.deepStrictEqual([partsOf(snapshot).members.length, snapshot.omittedMembers], [maxSnapshotMembers, 3])
  })

  it.effect("has the latest running calls up to the maximum", () =>
    Effect.gen(function* () {
      const count = maxRunningCalls + 2
      const limits = { callsPerAgent: count, callsPerComputer: count, messagesPerSecond: 1e6, messageBurst: 1e6 }
      const server = yield* startOffice(Effect.never, { limits })
      yield* Effect.forEach(Array(count).keys(), () => startCall(server.ada))
      const { calls } = partsOf((yield* server.watch.open).snapshot)
      const ids = calls.map(({ id }) => id)
      assert.deepStrictEqual(ids, latestIds(count))
    })
  )

  it.effect("has the latest ended calls that a stream has shown, up to the maximum, oldest first", () =>
    Effect.gen(function* () {
      const count = maxEndedCalls + 2
      const server = yield* startOffice(undefined, { limits: { messagesPerSecond: 1e6, messageBurst: 1e6 } })
      yield* openStream(server)
      for (let call = 1; call <= count; call += 1) {
        yield* makeCall(server.ada)
        if (call % maxCallsPerBatch === 0) yield* elapse()
      }
      const { calls } = partsOf((yield* server.watch.open).snapshot)
      const ids = calls.map(({ id }) => id)
      assert.deepStrictEqual(ids, latestIds(count))
    })
  )

  testOffice("has no ended calls that all streams have omitted", function* (server) {
    yield* openStream(server)
    yield* Effect.forEach(Array(maxCallsPerBatch + 2).keys(), () => makeCall(server.ada))
    const { calls } = partsOf((yield* server.watch.open).snapshot)
    assert.deepStrictEqual([calls.length, calls.at(-1)?.id], [maxCallsPerBatch, `${node}/${maxCallsPerBatch}`])
  })

  test("identifies each stream", function* (server) {
    const one = yield* server.watch.open
    const two = yield* server.watch.open
    assert.notStrictEqual(one.snapshot.stream, two.snapshot.stream)
  })
})

describe("a call while no stream is open", () => {
  testOffice("leaves no trace in the next stream", function* ({ ada, watch }) {
    yield* makeCall(ada)
    assert.deepStrictEqual(partsOf((yield* watch.open).snapshot).calls, [])
  })

  testRunning("disappears when it ends, although a stream has shown it", function* (server) {
    const scope = yield* Scope.make()
    yield* Scope.provide(openStream(server), scope)
    yield* startCall(server.ada)
    yield* Scope.close(scope, Exit.void)
    yield* server.pc.close
    assert.deepStrictEqual(partsOf((yield* server.watch.open).snapshot).calls, [])
  })
})
