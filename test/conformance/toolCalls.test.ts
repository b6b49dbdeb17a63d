import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber, Ref } from "effect"
import type * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import { McpSessionError } from "../../src/application/ports/McpSession.ts"
import type { Approval } from "../../src/domain/approvals/Approval.ts"
import { assertRejected, settled } from "./joinedMembers.ts"
import { type Cut, computerUnderTest, officeUnderTest, textResult, tool } from "./members.ts"
import { conform, conformInMemory, type Peer, type World } from "./World.ts"

const call = (tool_name: string, more: object = {}) => ({
  agent: "agent-1",
  req_id: "r1",
  computer: "pc-1",
  tool_name,
  params: {},
  timeout: 60,
  ...more
})

interface WireResult {
  readonly content: ReadonlyArray<{ readonly text: string }>
  readonly isError: boolean
  readonly meta?: { readonly [key: string]: unknown }
}
const request = (peer: Peer, tool_name: string, more: object = {}) =>
  Effect.map(peer.request("client:tool_call", call(tool_name, more)), ([answer]) => answer as WireResult)
const assertFailed = (result: WireResult, ...codes: ReadonlyArray<number>) => {
  assert.isTrue(result.isError)
  assert.include(codes, result.meta?.["error_code"] as number)
}

/** A tool that reports its start, waits for a release, and counts runs and interruptions. */
const slowTool = (name: string) => {
  const started = Deferred.makeUnsafe<void>()
  const go = Deferred.makeUnsafe<void>()
  const runs = Ref.makeUnsafe(0)
  const interrupted = Deferred.makeUnsafe<void>()
  const it = tool(name, () =>
    Ref.update(runs, (count) => count + 1).pipe(
      Effect.andThen(Deferred.succeed(started, undefined)),
      Effect.andThen(Deferred.await(go)),
      Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined)),
      Effect.as(textResult("done"))
    )
  )
  return { tool: it, started, go, runs, interrupted }
}

/** Starts a Computer with one server `alpha` of these tools, and an Agent. */
const office = (world: World, tools: ReadonlyArray<MemoryMcp.MemoryTool>, cut: Omit<Cut, "servers"> = {}) =>
  officeUnderTest(world, { alpha: { tools } }, cut)

const unconfirmed = { configure: { alpha: { default_tool_meta: null } } }

describe("tool call at a Computer", () => {
  conform("cases 126, 130, 143: returns the result of the tool unchanged", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* office(world, [
        tool("echo", (args) => Effect.succeed(textResult(String(args["text"]), { _meta: { k: 1 }, extra: [1] }))),
        tool("broken", () => Effect.succeed(textResult("oh no", { isError: true })))
      ])
      assert.deepStrictEqual<unknown>(yield* request(a1, "echo", { params: { text: "hi" } }), {
        content: [{ type: "text", text: "hi" }],
        extra: [1],
        isError: false,
        meta: { k: 1 }
      })
      assert.deepStrictEqual<unknown>(yield* request(a1, "broken", { req_id: "r2" }), {
        content: [{ type: "text", text: "oh no" }],
        isError: true
      })
    })
  )

  conform("cases 127, 128: rejects an unknown and a forbidden tool", (world) =>
    Effect.gen(function* () {
      const rm = slowTool("rm")
      const { a1 } = yield* office(world, [rm.tool], { configure: { alpha: { forbidden_tools: ["rm"] } } })
      assertFailed(yield* request(a1, "nope"), 4001)
      assertFailed(yield* request(a1, "rm", { req_id: "r2" }), 4002)
      assert.strictEqual(yield* Ref.get(rm.runs), 0)
    })
  )

  conform("case 129: never starts a disabled server", (world) =>
    Effect.gen(function* () {
      const { a1, computer } = yield* office(world, [tool("t")], { configure: { alpha: { disabled: true } } })
      assert.deepStrictEqual((yield* computer.servers).get("alpha"), { _tag: "Stopped", reason: "disabled" })
      assertFailed(yield* request(a1, "t"), 4001, 4002)
    })
  )

  conform("cases 131, 132: fails when the server fails or exits during the call", (world) =>
    Effect.gen(function* () {
      const hang = slowTool("hang")
      const { a1, computer, server } = yield* office(world, [
        hang.tool,
        tool("fail", () => Effect.fail(new McpSessionError({ reason: "protocol", code: -32000, message: "boom" })))
      ])
      const failed = yield* request(a1, "fail")
      assertFailed(failed, 4003)
      assert.include(failed.content[0]?.text ?? "", "boom")
      const asking = yield* Effect.forkChild(request(a1, "hang", { req_id: "r2" }))
      yield* Deferred.await(hang.started)
      yield* server("alpha").crash("exit code 1")
      assertFailed(yield* Fiber.join(asking), 4003)
      assert.deepStrictEqual(yield* a1.receive("notify:update_tool_list"), { computer: "pc-1" })
      const state = (yield* computer.servers).get("alpha")
      assert.isTrue(state?._tag === "BackingOff" && state.reason === "exit code 1")
    })
  )

  conform("case 133: stops a call at its timeout", (world) =>
    Effect.gen(function* () {
      const slow = slowTool("slow")
      const { a1 } = yield* office(world, [slow.tool])
      const asking = yield* Effect.forkChild(request(a1, "slow", { timeout: 1 }))
      yield* Deferred.await(slow.started)
      yield* world.elapse("1 second")
      const result = yield* Fiber.join(asking)
      assertFailed(result, 4004)
      assert.strictEqual(result.content[0]?.text, "Tool call timeout")
      assert.deepInclude(result.meta, { timeout: true, a2c_timeout: true })
      yield* Deferred.await(slow.interrupted)
    })
  )

  conform("cases 134, 137: rejects a call without auto_apply and without a prompt", (world) =>
    Effect.gen(function* () {
      const t = slowTool("t")
      const { a1 } = yield* office(world, [t.tool, tool("free")], {
        configure: { alpha: { default_tool_meta: null, tool_meta: { free: { auto_apply: true } } } }
      })
      assertFailed(yield* request(a1, "t"), 4005)
      assert.strictEqual(yield* Ref.get(t.runs), 0)
      assert.isFalse((yield* request(a1, "free", { req_id: "r2" })).isError)
    })
  )

  conform("cases 135, 138: shows the call in the prompt, and runs it after approval", (world) =>
    Effect.gen(function* () {
      const requests: Array<Approval> = []
      const { a1 } = yield* office(world, [tool("t")], {
        configure: { alpha: { tool_meta: { t: { auto_apply: false } } } },
        settings: { confirm: (request) => Effect.sync(() => (requests.push(request), true)) }
      })
      assert.isFalse((yield* request(a1, "t", { params: { x: 1 } })).isError)
      assert.lengthOf(requests, 1)
      assert.deepInclude(requests[0], {
        computer: "pc-1",
        requester: "agent-1",
        reqId: "r1",
        server: "alpha",
        tool: "t",
        shortName: "t",
        params: { x: 1 }
      })
    })
  )

  conform("case 136: treats a denial, an error and a timeout of the prompt as denial", (world) =>
    Effect.gen(function* () {
      const t = slowTool("t")
      const requests = yield* Deferred.make<void>()
      const silence = Effect.andThen(Deferred.succeed(requests, undefined), Effect.never)
      const answers = [Effect.succeed(false), Effect.fail("broken"), Effect.die("broken"), silence]
      let turn = 0
      const { a1 } = yield* office(world, [t.tool], {
        ...unconfirmed,
        settings: { confirm: () => answers[turn++] ?? Effect.succeed(true) }
      })
      for (const req_id of ["r1", "r2", "r3"]) assertFailed(yield* request(a1, "t", { req_id }), 4005)
      const asking = yield* Effect.forkChild(request(a1, "t", { req_id: "r4", timeout: 1 }))
      yield* Deferred.await(requests)
      yield* world.elapse("1 second")
      assertFailed(yield* Fiber.join(asking), 4005)
      assert.strictEqual(yield* Ref.get(t.runs), 0)
    })
  )

  conform("rejects a call whose tool is forbidden during the prompt", (world) =>
    Effect.gen(function* () {
      const t = slowTool("t")
      const requests = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<boolean>()
      const { a1, computer } = yield* office(world, [t.tool], {
        ...unconfirmed,
        settings: { confirm: () => Effect.andThen(Deferred.succeed(requests, undefined), Deferred.await(answer)) }
      })
      const asking = yield* Effect.forkChild(request(a1, "t"))
      yield* Deferred.await(requests)
      const { config, variables } = yield* computer.setup
      const { alpha } = config.servers
      const forbidden = { ...(alpha ?? assert.fail()), forbiddenTools: ["t"] }
      yield* computer.reconfigure({ config: { ...config, servers: { alpha: forbidden } }, variables })
      yield* Deferred.succeed(answer, true)
      assertFailed(yield* Fiber.join(asking), 4002)
      assert.strictEqual(yield* Ref.get(t.runs), 0)
    })
  )

  conform("cases 140, 141, 142: runs a repeated request once", (world) =>
    Effect.gen(function* () {
      const slow = slowTool("slow")
      const { a1 } = yield* office(world, [slow.tool])
      const first = yield* Effect.forkChild(request(a1, "slow"))
      const second = yield* Effect.forkChild(request(a1, "slow"))
      yield* Deferred.await(slow.started)
      yield* Deferred.succeed(slow.go, undefined)
      const results = yield* Fiber.joinAll([first, second])
      assert.deepStrictEqual(results[0], results[1])
      assert.deepStrictEqual(yield* request(a1, "slow"), results[0])
      assert.strictEqual(yield* Ref.get(slow.runs), 1)
      assertRejected([yield* request(a1, "other")], 400)
      assertRejected([yield* request(a1, "slow", { params: { x: 1 } })], 400)
    })
  )

  conformInMemory("runs a request again after five minutes", (world) =>
    Effect.gen(function* () {
      let runs = 0
      const { a1 } = yield* office(world, [tool("t", () => Effect.sync(() => (runs++, textResult("x"))))])
      yield* request(a1, "t")
      for (const pause of ["4 minutes", "2 minutes"] as const) {
        yield* world.elapse(pause)
        yield* request(a1, "t")
      }
      assert.strictEqual(runs, 2)
    })
  )

  conform("limits the number and size of remembered results", (world) =>
    Effect.gen(function* () {
      let runs = 0
      const big = textResult("x".repeat(5_000_000))
      const { a1 } = yield* office(world, [tool("big", () => Effect.sync(() => (runs++, big)))])
      for (let count = 0; count < 8; count++) yield* request(a1, "big", { req_id: `r${count}` })
      yield* request(a1, "big", { req_id: "r7" })
      assert.strictEqual(runs, 8)
      yield* request(a1, "big", { req_id: "r0" })
      assert.strictEqual(runs, 9)
    })
  )

  conform("cases 147, 149, 150, 151: reports upstream authorization errors", (world) =>
    Effect.gen(function* () {
      const failingServer = (reason: "unauthorized" | "forbidden" | "unavailable") =>
        tool(reason, () => Effect.fail(new McpSessionError({ reason, message: "HTTP" })))
      const reasons = ["unauthorized", "forbidden", "unavailable"] as const
      const { a1 } = yield* office(world, reasons.map(failingServer))
      for (const [name, code] of [
        ["unauthorized", 4006],
        ["forbidden", 4007]
      ] as const) {
        const result = yield* request(a1, name, { req_id: name })
        assertFailed(result, code)
        assert.strictEqual(result.meta?.["mcp_server"], "alpha")
        const hint = JSON.stringify(result.meta?.["auth_hint"])
        assert.notMatch(hint, /token|client_id|secret|"code"|state|\?/)
      }
      assertFailed(yield* request(a1, "unavailable", { req_id: "r9" }), 4003)
    })
  )

  conform(
    "case 152: keeps all connections open after a result over the limit",
    (world) =>
      Effect.gen(function* () {
        const { a1 } = yield* office(world, [
          tool("big", () => Effect.succeed(textResult("x".repeat(200_000)))),
          tool("small")
        ])
        const result = yield* request(a1, "big")
        assertFailed(result, 4003)
        assert.include(result.content[0]?.text ?? "", "exceeds")
        assert.isFalse((yield* request(a1, "small", { req_id: "r2" })).isError)
      }),
    { maxMessageBytes: 100_000 }
  )
})

describe("cancellation at a Computer", () => {
  const cancel = (a1: Peer, req_id: string) => a1.notify("server:tool_call_cancel", { agent: "agent-1", req_id })
  const assertCancelled = (result: WireResult) => {
    assert.isTrue(result.isError)
    assert.deepInclude(result.meta, { a2c_cancelled: true, a2c_cancel_reason: "agent_requested" })
  }

  conform("cases 159, 161: stops the cancelled call, and continues the other", (world) =>
    Effect.gen(function* () {
      const one = slowTool("one")
      const two = slowTool("two")
      const { a1 } = yield* office(world, [one.tool, two.tool])
      const first = yield* Effect.forkChild(request(a1, "one", { req_id: "r1" }))
      const second = yield* Effect.forkChild(request(a1, "two", { req_id: "r2" }))
      yield* Effect.all([Deferred.await(one.started), Deferred.await(two.started)])
      yield* cancel(a1, "r1")
      assertCancelled(yield* Fiber.join(first))
      yield* Deferred.await(one.interrupted)
      yield* Deferred.succeed(two.go, undefined)
      assert.isFalse((yield* Fiber.join(second)).isError)
    })
  )

  conform("case 160: ignores the cancellation of a finished call", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* office(world, [tool("t")])
      const before = yield* request(a1, "t")
      yield* cancel(a1, "r1")
      yield* settled([a1])
      assert.deepStrictEqual(yield* request(a1, "t"), before)
    })
  )

  conform("case 162: stops only at the Computer that runs the call", (world) =>
    Effect.gen(function* () {
      const here = slowTool("here")
      const { a1 } = yield* office(world, [here.tool])
      const there = slowTool("there")
      yield* computerUnderTest(world, { name: "pc-2", servers: { beta: { tools: [there.tool] } } })
      const first = yield* Effect.forkChild(request(a1, "here", { req_id: "r1" }))
      const second = yield* Effect.forkChild(request(a1, "there", { req_id: "r2", computer: "pc-2" }))
      yield* Effect.all([Deferred.await(here.started), Deferred.await(there.started)])
      yield* cancel(a1, "r1")
      assertCancelled(yield* Fiber.join(first))
      yield* Deferred.succeed(there.go, undefined)
      assert.isFalse((yield* Fiber.join(second)).isError)
    })
  )

  conform("case 163: cancels a call that waits for confirmation", (world) =>
    Effect.gen(function* () {
      const t = slowTool("t")
      const requests = yield* Deferred.make<void>()
      const { a1 } = yield* office(world, [t.tool], {
        ...unconfirmed,
        settings: { confirm: () => Effect.andThen(Deferred.succeed(requests, undefined), Effect.never) }
      })
      const asking = yield* Effect.forkChild(request(a1, "t"))
      yield* Deferred.await(requests)
      yield* cancel(a1, "r1")
      assertCancelled(yield* Fiber.join(asking))
      assert.strictEqual(yield* Ref.get(t.runs), 0)
    })
  )

  conform("stops the calls of a disconnected Agent", (world) =>
    Effect.gen(function* () {
      const slow = slowTool("slow")
      const { a1 } = yield* office(world, [slow.tool])
      yield* Effect.forkChild(Effect.exit(request(a1, "slow")))
      yield* Deferred.await(slow.started)
      yield* a1.close
      yield* Deferred.await(slow.interrupted)
    })
  )
})
