import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import type { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import type { Link } from "../../../../src/application/ports/Transport.ts"
import { operatorRequests } from "../../../../src/domain/page/operatorRequests.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { tool } from "../../../conformance/members.ts"
import { joined, link, nextApproval, openApprovals, places, provingLink } from "../testComputer.ts"

const { decideApproval, getApproval } = operatorRequests

/** A Computer in an office, with one tool that needs consent, whose operators may decide. */
const deciding = Effect.fnUntraced(function* (
  [protocol, lifecycle]: (typeof places)[number] = places[0],
  approvers: ComputerSettings["approvers"] = ["page"],
  server: Link = provingLink
) {
  const { computer, receive, request } = yield* joined(
    {
      servers: { alpha: yield* makeMemoryMcpServer({ tools: [tool("write")] }) },
      configure: { alpha: { lifecycle } },
      settings: { approvers, confirm: () => Effect.never }
    },
    Effect.succeed(server),
    protocol
  )
  const [name = assert.fail()] = (yield* computer.catalogue).entries.keys()
  /** Calls the tool, and gives the id of the approval that it waits for. */
  const call = Effect.fnUntraced(function* (reqId: string, params: JsonObject, agent = "ada") {
    const calling = yield* Effect.forkScoped(
      request("client:tool_call", { agent, req_id: reqId, tool_name: name, params, timeout: 60 })
    )
    return { calling, id: (yield* nextApproval(computer)).id }
  })
  const ask = (event: string, body: JsonObject) => Effect.map(receive(event, body), ([reply]) => asObject(reply))
  const get = (id: string) => ask(getApproval.event, { id })
  const decide = (id: string, answer: JsonObject, by = "operator:ann") =>
    ask(decideApproval.event, { id, by, ...answer })
  return { ask, call, computer, decide, get, name }
})

describe("an approval at an operator", () => {
  it.effect.each(places)("is shown as a whole, with the arguments of the last approved call (%s, %s)", (place) =>
    Effect.gen(function* () {
      const { call, decide, get, name } = yield* deciding(place)
      const before = yield* call("r1", { path: "a" })
      yield* decide(before.id, { action: "allow" })
      yield* Fiber.join(before.calling)
      yield* TestClock.adjust("3 seconds")
      const { id } = yield* call("r2", { path: "b" }, "bob")
      yield* TestClock.adjust("2 seconds")
      const { arguments_sha256, ...view } = yield* get(id)
      assert.match(String(arguments_sha256), /^[0-9a-f]{64}$/)
      assert.deepStrictEqual<unknown>(view, {
        id,
        computer: "pc",
        server: "alpha",
        tool: name,
        requester: "bob",
        arguments: '{\n  "path": "b"\n}',
        previous_arguments: '{\n  "path": "a"\n}',
        asked_by: "default",
        requested_at: 3000,
        expires_in_ms: 56_000,
        state: "open"
      })
    })
  )

  it.effect("is shown without its length where it does not fit into a message", () =>
    Effect.gen(function* () {
      const long = { text: "x".repeat(20_000) }
      for (const [maxBytes, isWhole] of [
        [50_000, true],
        [10_000, false]
      ] as const) {
        const fits: Link["fits"] = (body) => body.byteLength() <= maxBytes
        const { call, get } = yield* deciding(places[0], ["page"], { ...provingLink, maxBytes: () => maxBytes, fits })
        const { id } = yield* call("r1", long)
        const text = String((yield* get(id))["arguments"])
        if (isWhole) assert.deepStrictEqual(JSON.parse(text), long)
        else assert.deepStrictEqual([text.length, text.at(-1)], [2001, "…"])
      }
    })
  )

  it.effect.each([
    [{ action: "allow" }, { state: "allowed", scope: "once" }],
    [
      { action: "allow", scope: "tool" },
      { state: "allowed", scope: "tool" }
    ],
    [
      { action: "allow", scope: "tool", until: 90_000 },
      { state: "allowed", scope: "tool", until: 90_000 }
    ],
    [{ action: "deny" }, { state: "denied" }],
    [
      { action: "deny", reason: "no" },
      { state: "denied", denial_reason: "no" }
    ],
    [{ action: "cancel" }, { state: "denied" }]
  ] as const)("is decided by the answer %j", ([answer, decision]) =>
    Effect.gen(function* () {
      const { call, computer, decide, get } = yield* deciding()
      const { calling, id } = yield* call("r1", {})
      yield* TestClock.adjust("2 seconds")
      const { state, scope, until, denial_reason, decided_by, decided_at, expires_in_ms } = yield* decide(id, answer)
      const shown = { state, scope, until, denial_reason, decided_by, decided_at, expires_in_ms }
      const expected = { decided_by: "operator:ann", decided_at: 2000, expires_in_ms: 0, ...decision }
      assert.deepStrictEqual<unknown>(
        Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)),
        expected
      )
      assert.deepInclude(yield* get(id), expected)
      assert.strictEqual(asObject(yield* Fiber.join(calling))["isError"], state !== "allowed")
      const grants = (yield* computer.grants).map(({ approver, by, until: end }) => ({ approver, by, until: end }))
      assert.deepStrictEqual<unknown>(
        grants,
        scope === "tool"
          ? [{ approver: "page", by: "operator:ann", until: "until" in answer ? answer.until : undefined }]
          : []
      )
    })
  )

  it.effect("is decided once: the second answer states who was faster", () =>
    Effect.gen(function* () {
      const { call, computer, decide } = yield* deciding()
      const { id } = yield* call("r1", {})
      yield* computer.decideApproval(id, { action: "deny", reason: "mine" }, "bob")
      const { code, message } = yield* decide(id, { action: "allow" })
      assert.deepStrictEqual([code, message], [409, "The approval was denied by bob: mine"])
    })
  )

  it.effect("is unknown once its decision is forgotten, and before it exists", () =>
    Effect.gen(function* () {
      const { decide, get } = yield* deciding()
      assert.deepInclude(yield* get("ghost"), { code: 404, message: "The approval is not known any more" })
      assert.deepInclude(yield* decide("ghost", { action: "allow" }), { code: 404 })
    })
  )

  it.effect("is rejected when it is malformed", () =>
    Effect.gen(function* () {
      const { ask, call } = yield* deciding()
      const { id } = yield* call("r1", {})
      assert.deepInclude(yield* ask(getApproval.event, {}), { code: 400 })
      assert.deepInclude(yield* ask(decideApproval.event, { id, action: "allow" }), { code: 400 })
      assert.deepInclude(yield* ask(decideApproval.event, { id, by: "ann", action: "maybe" }), { code: 400 })
    })
  )

  it.effect("is no business of operators where they may not decide", () =>
    Effect.gen(function* () {
      const { call, computer, decide, get } = yield* deciding(places[0], ["agent"], link)
      const { id } = yield* call("r1", {})
      assert.deepInclude(yield* get(id), { code: 404 })
      assert.deepInclude(yield* decide(id, { action: "allow" }), { code: 404 })
      assert.lengthOf(yield* openApprovals(computer), 1)
    })
  )
})
