import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { JsonObject } from "../../../../../src/domain/json.ts"
import { maxCapturedLength } from "../../../../../src/application/server/watch/CallBodies.ts"
import type { OfficeWatchOptions } from "../../../../../src/application/server/watch/OfficeWatch.ts"
import { makeCall, olga, startWatched, toolCall, toolResult } from "../watchedServer.ts"

/** An office with an open stream, and calls in it. */
const officeWith = Effect.fnUntraced(function* (reply: unknown, watch: OfficeWatchOptions = { bodies: {} }) {
  const server = yield* startWatched({ watch })
  yield* server.computer("pc", { answer: () => Effect.succeed(reply) })
  const agent = yield* server.agent()
  const scope = yield* Scope.make()
  yield* Scope.provide(server.watch.open, scope)
  const getBody = (id: string) => server.watch.execute({ _tag: "GetCallBody", id }, olga)
  /** Makes a call and gives its id. */
  const call = Effect.fnUntraced(function* (params: JsonObject = {}) {
    yield* makeCall(agent, { params })
    return (yield* Effect.scoped(server.watch.open)).snapshot.calls.at(-1)?.id ?? ""
  })
  return { ...server, agent, call, getBody, close: Scope.close(scope, Exit.void) }
})

/** The captured texts of a call. */
const capture = Effect.fnUntraced(function* (reply: unknown, params: JsonObject = {}) {
  const { call, getBody } = yield* officeWith(reply)
  const body = yield* Effect.flatMap(call(params), getBody)
  return "params" in body ? body : assert.fail("no body")
})

describe("the capture of bodies", () => {
  it.effect("is off by default", () =>
    Effect.gen(function* () {
      const { call, getBody, watch } = yield* officeWith(toolResult("ok"), {})
      assert.isFalse(watch.hasBodies)
      assert.strictEqual((yield* Effect.flip(Effect.flatMap(call(), getBody))).code, 404)
    })
  )

  it.effect("gives the arguments and the result of a call as JSON", () =>
    Effect.gen(function* () {
      const { params, result } = yield* capture(toolResult("fine"), { path: "/tmp", deep: [{ a: 1 }] })
      assert.deepStrictEqual(JSON.parse(params), { path: "/tmp", deep: [{ a: 1 }] })
      assert.deepStrictEqual(JSON.parse(result), toolResult("fine"))
    })
  )

  it.effect("announces itself", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* officeWith({})).watch.hasBodies)
    })
  )

  it.effect("redacts members with secret names, at every depth", () =>
    Effect.gen(function* () {
      const secrets = { password: "hunter2", list: [{ "X-API-Key": "hunter2", ok: 1 }], token: { of: "hunter2" } }
      const { params, result } = yield* capture(toolResult("", { structuredContent: secrets }), secrets)
      assert.deepStrictEqual(JSON.parse(params), {
        password: "<redacted>",
        list: [{ "X-API-Key": "<redacted>", ok: 1 }],
        token: "<redacted>"
      })
      assert.notInclude(result, "hunter2")
    })
  )

  it.effect("omits the answer to a question", () =>
    Effect.gen(function* () {
      const { agent, getBody, watch } = yield* officeWith({ approval: {}, req_id: "r1" })
      const decision = { agent: "ada", req_id: "r1", computer: "pc", approval_id: "1", action: "allow" }
      yield* agent.request("client:decide_approval", { ...decision, content: { pin: "hunter2" } })
      const id = (yield* Effect.scoped(watch.open)).snapshot.calls.at(-1)?.id ?? ""
      const body = yield* getBody(id)
      assert.deepStrictEqual("params" in body && JSON.parse(body.params), { ...decision, content: "<redacted>" })
    })
  )

  it.effect("shows a request about an approval without an answer, and other content, as it is", () =>
    Effect.gen(function* () {
      const { agent, getBody, watch } = yield* officeWith({ approvals: [], req_id: "r1" })
      const requests = [
        { agent: "ada", req_id: "r1", computer: "pc", approval_id: "1" },
        { agent: "ada", req_id: "r2", computer: "pc", content: "mine" }
      ]
      for (const request of requests) {
        yield* agent.request("client:get_approvals", request)
        const id = (yield* Effect.scoped(watch.open)).snapshot.calls.find(({ reqId }) => reqId === request.req_id)?.id
        const body = yield* getBody(id ?? "")
        assert.deepStrictEqual("params" in body && JSON.parse(body.params), request)
      }
    })
  )

  it.effect("gives the message of an error in place of a result", () =>
    Effect.gen(function* () {
      const { agent, getBody, watch } = yield* officeWith({})
      yield* makeCall(agent, { computer: "other" })
      const [call] = (yield* watch.open).snapshot.calls
      assert.deepInclude(yield* getBody(call?.id ?? ""), { result: "Computer 'other' not found in the office" })
    })
  )

  it.effect("gives the whole request where it has no arguments", () =>
    Effect.gen(function* () {
      const { agent, getBody, watch } = yield* officeWith({ tools: [], req_id: "r" })
      const request = { agent: "ada", req_id: "r", computer: "pc" }
      yield* agent.request("client:get_tools", request)
      const [call] = (yield* watch.open).snapshot.calls
      const body = yield* getBody(call?.id ?? "")
      assert.deepStrictEqual("params" in body ? JSON.parse(body.params) : undefined, request)
    })
  )

  it.effect("indents short texts only", () =>
    Effect.gen(function* () {
      const list = Array<number>(5000).fill(1)
      const { params, result } = yield* capture({ content: [] }, { list })
      assert.deepStrictEqual([params, result], [JSON.stringify({ list }), '{\n  "content": []\n}'])
    })
  )

  it.effect("truncates long texts", () =>
    Effect.gen(function* () {
      const { params } = yield* capture(toolResult(""), { text: "x".repeat(2 * maxCapturedLength) })
      assert.strictEqual(params.length, maxCapturedLength)
      assert.isTrue(params.endsWith("x…"))
    })
  )

  it.effect("gives the size of a very large body only", () =>
    Effect.gen(function* () {
      const { result } = yield* capture(toolResult("x".repeat(300 * 1024)))
      assert.match(result, /^\d+ bytes, too large to capture$/)
    })
  )

  it.effect("keeps texts up to its bound, and drops the oldest ones", () =>
    Effect.gen(function* () {
      const { call, getBody } = yield* officeWith(toolResult("x".repeat(1000)), { bodies: { maxBytes: 5000 } })
      const ids = yield* Effect.replicateEffect(call(), 6)
      const kept = yield* Effect.forEach(ids, (id) => Effect.isSuccess(getBody(id)))
      assert.deepStrictEqual(kept, [false, false, true, true, true, true])
    })
  )

  it.effect("keeps as much as before after all was forgotten", () =>
    Effect.gen(function* () {
      const { call, close, getBody, watch } = yield* officeWith(toolResult("x".repeat(1000)), {
        bodies: { maxBytes: 5000 }
      })
      yield* Effect.replicateEffect(call(), 4)
      yield* close
      yield* TestClock.adjust("300 seconds")
      yield* watch.open
      const ids = yield* Effect.replicateEffect(call(), 4)
      const kept = yield* Effect.forEach(ids, (id) => Effect.isSuccess(getBody(id)))
      assert.deepStrictEqual(kept, [true, true, true, true])
    })
  )

  it.effect("keeps nothing of calls while no stream is open", () =>
    Effect.gen(function* () {
      const { agent, close, getBody, watch } = yield* officeWith(toolResult(""))
      yield* close
      yield* agent.request("client:tool_call", toolCall("ada"))
      yield* watch.open
      assert.strictEqual((yield* Effect.flip(getBody("node-1/1"))).code, 404)
    })
  )

  it.effect("is forgotten five minutes after the last page has closed", () =>
    Effect.gen(function* () {
      const { call, close, getBody } = yield* officeWith(toolResult(""))
      const id = yield* call()
      yield* close
      yield* TestClock.adjust("299 seconds")
      yield* getBody(id)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(getBody(id))).code, 404)
    })
  )
})
