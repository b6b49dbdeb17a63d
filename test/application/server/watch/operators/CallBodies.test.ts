import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { JsonObject } from "../../../../../src/domain/json.ts"
import { maxCapturedLength } from "../../../../../src/application/server/watch/CallBodies.ts"
import type { PageReplies } from "../../../../../src/domain/page/PageCommand.ts"
import type { OfficeWatchOptions } from "../../../../../src/application/server/watch/OfficeWatch.ts"
import { makeCall, olga, startOffice, toolResult } from "../watchedServer.ts"
import { partsOf } from "../../../../page/scripted/snapshotParts.ts"

/** An office with an open stream, and calls in it. */
const officeWith = Effect.fnUntraced(function* (reply: unknown, watch: OfficeWatchOptions = { bodies: {} }) {
  const server = yield* startOffice(Effect.succeed(reply), { watch })
  const scope = yield* Scope.make()
  yield* Scope.provide(server.watch.open, scope)
  const getBody = (id: string) => server.watch.execute({ _tag: "GetCallBody", id }, olga)
  const lastId = Effect.map(
    Effect.scoped(server.watch.open),
    ({ snapshot }) => partsOf(snapshot).calls.at(-1)?.id ?? ""
  )
  return {
    ...server,
    getBody,
    /** Makes a tool call and gives its id. */
    call: (fields: JsonObject = {}) => Effect.andThen(makeCall(server.ada, fields), lastId),
    /** Makes a request and gives its captured texts. */
    captureRequest: (event: string, body: JsonObject) =>
      Effect.andThen(server.ada.request(event, body), Effect.map(Effect.flatMap(lastId, getBody), textsOf)),
    close: Scope.close(scope, Exit.void)
  }
})

const textsOf = (reply: object) => ("params" in reply ? (reply as PageReplies["GetCallBody"]) : assert.fail("no body"))

/** The captured texts of a call. */
const capture = Effect.fnUntraced(function* (reply: unknown, params: JsonObject = {}) {
  const { call, getBody } = yield* officeWith(reply)
  return textsOf(yield* Effect.flatMap(call({ params }), getBody))
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

  const request = { agent: "ada", req_id: "r1", computer: "pc" }
  const decision = { ...request, approval_id: "1", action: "allow" }

  it.effect.each([
    [
      "omits the answer to a question",
      "client:decide_approval",
      { ...decision, content: { pin: "hunter2" } },
      { ...decision, content: "<redacted>" }
    ],
    ["shows a request about an approval as it is", "client:get_approvals", { ...request, approval_id: "1" }],
    ["shows other content as it is", "client:get_approvals", { ...request, content: "mine" }],
    ["gives the whole request where it has no arguments", "client:get_tools", request]
  ] as ReadonlyArray<readonly [string, string, JsonObject, JsonObject?]>)("%s", ([, event, body, captured = body]) =>
    Effect.gen(function* () {
      const { captureRequest } = yield* officeWith({ approval: {}, approvals: [], tools: [], req_id: "r1" })
      assert.deepStrictEqual(JSON.parse((yield* captureRequest(event, body)).params), captured)
    })
  )

  it.effect("gives the message of an error instead of a result", () =>
    Effect.gen(function* () {
      const { call, getBody } = yield* officeWith({})
      const body = yield* Effect.flatMap(call({ computer: "other" }), getBody)
      assert.deepInclude(body, { result: "Computer 'other' not found in the office" })
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
      const { ada, close, getBody, watch } = yield* officeWith(toolResult(""))
      yield* close
      yield* makeCall(ada)
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
