import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { allowAll } from "../../../../src/application/ports/Authenticator.ts"
import { TestClock } from "effect/testing"
import { maxEndedCalls, maxRunningCalls } from "../../../../src/application/server/watch/CallTable.ts"
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
  startWatched,
  toolResult
} from "./watchedServer.ts"

describe("the snapshot of a stream", () => {
  it.effect("lists the members with their features", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const agent = yield* server.agent()
      const computer = yield* server.computer("pc", {
        auth: { a2c_features: ["operator_calls", "later", "inspection"] }
      })
      yield* server.connect("agent")
      const { snapshot } = yield* server.watch.open
      const common = { node, line, office: "O", version: PROTOCOL_VERSION, joinedAt: 0 }
      const noFeatures = { inspection: false, operatorCalls: false, approvals: false }
      assert.deepStrictEqual(snapshot.members, [
        { ...common, sid: agent.sid, role: "agent", name: "ada", subject: "anonymous", features: noFeatures },
        {
          ...common,
          sid: computer.sid,
          role: "computer",
          name: "pc",
          subject: "anonymous",
          features: { inspection: true, operatorCalls: true, approvals: false }
        }
      ])
    })
  )

  it.effect("has the time at which a member has joined its office last", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* TestClock.adjust("5 seconds")
      const computer = yield* server.computer()
      const times = Effect.map(Effect.scoped(server.watch.open), ({ snapshot }) =>
        snapshot.members.map(({ joinedAt }) => joinedAt)
      )
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* times, [5000])
      yield* computer.request("server:join_office", { role: "computer", name: "pc", office_id: "P" })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* times, [10_000])
    })
  )

  for (const features of ["inspection", { inspection: true }, [["inspection"]], null]) {
    it.effect(`shows no features for ${JSON.stringify(features)} in place of an array of words`, () =>
      Effect.gen(function* () {
        const server = yield* startWatched()
        yield* server.computer("pc", { auth: { a2c_features: features } })
        const { snapshot } = yield* server.watch.open
        assert.deepStrictEqual(snapshot.members[0]?.features, {
          inspection: false,
          operatorCalls: false,
          approvals: false
        })
      })
    )
  }

  it.effect("shows the node", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* server.agent()
      const { snapshot } = yield* server.watch.open
      const [shown] = snapshot.nodes
      assert.strictEqual(snapshot.nodes.length, 1)
      assert.deepInclude(shown, { node, version: packageVersion, state: "ready", connections: 1, callsInFlight: 0 })
      assert.include(shown?.lines ?? [], line)
    })
  )

  it.effect("has calls that run, although they started before the stream", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* server.computer("pc", { answer: () => Effect.never })
      const agent = yield* server.agent()
      yield* startCall(agent, { tool_name: "fs:read" })
      const { snapshot } = yield* server.watch.open
      const { id, reqId, startedAt, ...call } = snapshot.calls[0] ?? assert.fail("no call")
      assert.deepStrictEqual(call, {
        node,
        line,
        office: "O",
        agent: "ada",
        subject: "anonymous",
        computer: "pc",
        event: "client:tool_call",
        tool: "fs:read"
      })
      assert.deepStrictEqual([id, reqId, startedAt], [`${node}/1`, "r", 0])
    })
  )

  it.effect("has the last status of a call that another stream shows, with the decision before it", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const computer = yield* server.computer("pc", { answer: () => Effect.never })
      const agent = yield* server.agent()
      const other = yield* openStream(server)
      yield* startCall(agent)
      yield* elapse()
      assert.strictEqual(other.tagged("Call").length, 1)
      const report = (status: object) =>
        computer.notify("server:update_tool_call", { computer: "pc", req_id: "r", ...status })
      yield* report({ status: "decided", allowed: true, decided_by: "operator:otto" })
      yield* report({ status: "progress", progress: 3 })
      yield* elapse()
      const { snapshot } = yield* server.watch.open
      const decision = { _tag: "Decided", computer: "pc", isAllowed: true, by: "operator:otto" } as const
      assert.deepStrictEqual(
        snapshot.calls.map(({ decision, status }) => ({ decision, status })),
        [{ decision, status: { _tag: "Progressing", computer: "pc", progress: 3 } }]
      )
    })
  )

  it.effect("counts a connection that has not authenticated yet", () =>
    Effect.gen(function* () {
      const server = yield* startWatched({ authenticator: { ...allowAll, authenticate: () => Effect.never } })
      yield* Effect.forkChild(server.connect("agent"), { startImmediately: true })
      yield* settle
      const { snapshot } = yield* server.watch.open
      assert.deepStrictEqual(
        snapshot.nodes.map(({ connections }) => connections),
        [1]
      )
    })
  )

  it.effect("has the calls that ended while another stream was open", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("ok")) })
      const agent = yield* server.agent()
      yield* server.watch.open
      yield* makeCall(agent)
      assert.deepStrictEqual(outcomesOf((yield* server.watch.open).snapshot.calls), ["fs:list: ok"])
    })
  )

  it.effect("omits members beyond the maximum", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const count = maxSnapshotMembers + 3
      yield* Effect.forEach(Array(count).keys(), (index) => server.agent("ada", { office: `O${index}` }))
      const { snapshot } = yield* server.watch.open
      assert.deepStrictEqual([snapshot.members.length, snapshot.omittedMembers], [maxSnapshotMembers, 3])
    })
  )

  it.effect("has the latest running calls up to the maximum", () =>
    Effect.gen(function* () {
      const count = maxRunningCalls + 2
      const limits = { callsPerAgent: count, callsPerComputer: count, messagesPerSecond: 1e6, messageBurst: 1e6 }
      const server = yield* startWatched({ limits })
      yield* server.computer("pc", { answer: () => Effect.never })
      const agent = yield* server.agent()
      yield* Effect.forEach(Array(count).keys(), () => startCall(agent))
      const { calls } = (yield* server.watch.open).snapshot
      assert.deepStrictEqual(
        [calls.length, calls[0]?.id, calls.at(-1)?.id],
        [count - 2, `${node}/3`, `${node}/${count}`]
      )
    })
  )

  it.effect("has the latest ended calls that a stream has shown, up to the maximum, oldest first", () =>
    Effect.gen(function* () {
      const count = maxEndedCalls + 2
      const server = yield* startWatched({ limits: { messagesPerSecond: 1e6, messageBurst: 1e6 } })
      yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("ok")) })
      const agent = yield* server.agent()
      yield* openStream(server)
      for (let call = 1; call <= count; call += 1) {
        yield* makeCall(agent)
        if (call % maxCallsPerBatch === 0) yield* elapse()
      }
      const { calls } = (yield* server.watch.open).snapshot
      assert.deepStrictEqual(
        [calls.length, calls[0]?.id, calls.at(-1)?.id],
        [count - 2, `${node}/3`, `${node}/${count}`]
      )
    })
  )

  it.effect("has no ended calls that all streams have omitted", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("ok")) })
      const agent = yield* server.agent()
      yield* openStream(server)
      yield* Effect.forEach(Array(maxCallsPerBatch + 2).keys(), () => makeCall(agent))
      const { calls } = (yield* server.watch.open).snapshot
      assert.deepStrictEqual([calls.length, calls.at(-1)?.id], [maxCallsPerBatch, `${node}/${maxCallsPerBatch}`])
    })
  )

  it.effect("identifies each stream", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const one = yield* server.watch.open
      const two = yield* server.watch.open
      assert.notStrictEqual(one.snapshot.stream, two.snapshot.stream)
    })
  )
})

describe("a call while no stream is open", () => {
  it.effect("leaves no trace in the next stream", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("ok")) })
      const agent = yield* server.agent()
      yield* makeCall(agent)
      assert.deepStrictEqual((yield* server.watch.open).snapshot.calls, [])
    })
  )

  it.effect("disappears when it ends, although a stream has shown it", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const computer = yield* server.computer("pc", { answer: () => Effect.never })
      const agent = yield* server.agent()
      const scope = yield* Scope.make()
      yield* Scope.provide(openStream(server), scope)
      yield* startCall(agent)
      yield* Scope.close(scope, Exit.void)
      yield* computer.close
      assert.deepStrictEqual((yield* server.watch.open).snapshot.calls, [])
    })
  )
})
