import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import type { Page } from "playwright-core"
import { openProxy } from "../../chaos/Proxy.ts"
import { assertRejected } from "../../conformance/joinedMembers.ts"
import { buildWorld } from "../../conformance/World.ts"
import { scriptedAgent, type ScriptedAgent, textsOf } from "./functionOffice.ts"
import { hasChromium, scriptInPage, useFunctionPages } from "./functionPlaces.ts"

/** In milliseconds: a lost page leaves after the sum. */
const shortKeepalive = { pingInterval: 1000, pingTimeout: 2000 }
/** What ends a call is not the keepalive. */
const longKeepalive = { pingInterval: 600_000, pingTimeout: 600_000 }
/** What the office hears when the page leaves or enters. */
const membership = { office_id: "O1", computer: "pc-1" }
/** A call may take longer than any test: what ends it is the loss of its page. */
const timeout = 3600

describe.skipIf(!hasChromium)("a page that is lost in the middle of a call", { concurrent: true }, () => {
  const { origin, page: openPage } = useFunctionPages()

  /** The number of runs of the tool that pages of this test have counted. */
  const runsOf = (page: Page, tool: string) =>
    Effect.promise(() =>
      page.evaluate(
        (name) => Number((globalThis as unknown as { localStorage: Record<string, string> }).localStorage[name] ?? 0),
        tool
      )
    )

  /** An office with a page whose tool waits, behind a proxy, and the call of its Agent. */
  const office = Effect.fnUntraced(function* (tool: string, keepalive = longKeepalive) {
    const world = yield* buildWorld("socket.io", { allowedOrigins: [yield* origin], ...keepalive })
    const proxy = yield* openProxy({ target: () => Number(new URL(world.url).port) })
    const join = (page: Page) =>
      Effect.map(
        scriptInPage(page).join({
          url: `http://127.0.0.1:${proxy.port}`,
          protocol: "0.4",
          tools: [{ name: tool, does: "wait" }]
        }),
        (error) => assert.isNull(error)
      )
    const page = yield* openPage()
    yield* join(page)
    const agent = yield* scriptedAgent(world, "0.4")
    const calling = yield* Effect.forkScoped(agent.call(tool, { req_id: "r1", timeout }), { startImmediately: true })
    yield* scriptInPage(page).happened(`run ${tool}`)
    return { agent, calling, join, page, proxy }
  })

  /** Calls the tool at a page that has joined again, and lets it end. */
  const callAgain = Effect.fnUntraced(function* (agent: ScriptedAgent, page: Page, tool: string) {
    yield* scriptInPage(page).open(tool)
    assert.deepStrictEqual(textsOf(yield* agent.call(tool, { req_id: "r2", timeout })), [tool])
  })

  const ended = Effect.fnUntraced(function* (
    agent: ScriptedAgent,
    calling: Effect.Success<ReturnType<typeof office>>["calling"]
  ) {
    assertRejected([yield* Fiber.join(calling)], 404)
    assert.deepStrictEqual(yield* agent.receive("notify:leave_office"), membership)
  })

  const test = (title: string, body: (tool: string) => Effect.Effect<void, unknown, Scope.Scope>) =>
    it.live(title, ({ task }) => Effect.scoped(body(task.id)))

  test("fails the call at once when its tab is closed, and runs it once", (tool) =>
    Effect.gen(function* () {
      const { agent, calling, page } = yield* office(tool)
      yield* Effect.promise(() => page.close())
      yield* ended(agent, calling)
      assert.strictEqual(yield* runsOf(yield* openPage(), tool), 1)
    }))

  test("case 352: fails the call within the keepalive timeout when its network is lost, and joins again", (tool) =>
    Effect.gen(function* () {
      const { agent, calling, page, proxy } = yield* office(tool, shortKeepalive)
      yield* proxy.hold
      yield* ended(agent, calling)
      yield* proxy.heal
      assert.deepStrictEqual(yield* agent.receive("notify:enter_office"), membership)
      yield* scriptInPage(page).happened(`abort ${tool}`)
      assert.strictEqual(yield* runsOf(page, tool), 1)
      yield* callAgain(agent, page, tool)
      assert.strictEqual(yield* runsOf(page, tool), 2)
    }))

  test("fails the call at once when its connection is reset, and joins again", (tool) =>
    Effect.gen(function* () {
      const { agent, calling, page, proxy } = yield* office(tool)
      yield* proxy.cut
      yield* ended(agent, calling)
      yield* proxy.heal
      assert.deepStrictEqual(yield* agent.receive("notify:enter_office"), membership)
      yield* callAgain(agent, page, tool)
      assert.strictEqual(yield* runsOf(page, tool), 2)
    }))

  /**
   * Stops all scripts of a page, until the effect that it gives. The life cycle state `frozen` of the DevTools protocol does
   * not stop a page that is visible.
   */
  const freeze = Effect.fnUntraced(function* (page: Page) {
    const client = yield* Effect.promise(() => page.context().newCDPSession(page))
    const stopped = new Promise<void>((resolve) => client.once("Debugger.paused", () => resolve()))
    yield* Effect.promise(() => client.send("Debugger.enable"))
    yield* Effect.promise(() => client.send("Debugger.pause"))
    // The page stops at its next statement.
    void page.evaluate("0").catch(() => undefined)
    yield* Effect.promise(() => stopped)
    return Effect.promise(() => client.send("Debugger.resume"))
  })

  test("fails the call within the keepalive timeout when it is frozen, and joins again", (tool) =>
    Effect.gen(function* () {
      const { agent, calling, page } = yield* office(tool, shortKeepalive)
      const thaw = yield* freeze(page)
      yield* ended(agent, calling)
      yield* thaw
      assert.deepStrictEqual(yield* agent.receive("notify:enter_office"), membership)
      yield* scriptInPage(page).happened(`abort ${tool}`)
      yield* callAgain(agent, page, tool)
      assert.strictEqual(yield* runsOf(page, tool), 2)
    }))

  test("takes over its place after a reload, and runs the call once", (tool) =>
    Effect.gen(function* () {
      const { agent, calling, join, page } = yield* office(tool)
      yield* Effect.promise(() => page.reload({ waitUntil: "load" }))
      yield* join(page)
      yield* ended(agent, calling)
      assert.strictEqual(yield* runsOf(page, tool), 1)
      yield* callAgain(agent, page, tool)
      assert.strictEqual(yield* runsOf(page, tool), 2)
    }))

  test("loses its place for good to another tab, while it is frozen", (tool) =>
    Effect.gen(function* () {
      const { agent, calling, join, page } = yield* office(tool)
      const thaw = yield* freeze(page)
      const second = yield* openPage()
      yield* join(second)
      yield* ended(agent, calling)
      yield* thaw
      assert.strictEqual((yield* scriptInPage(page).failure())[0], "MemberReplaced")
      yield* scriptInPage(page).happened(`abort ${tool}`)
      yield* callAgain(agent, second, tool)
      assert.strictEqual(yield* runsOf(second, tool), 2)
    }))

  test("leaves its place to another tab that has joined after the keepalive timeout", (tool) =>
    Effect.gen(function* () {
      const { agent, calling, join, page } = yield* office(tool, shortKeepalive)
      const thaw = yield* freeze(page)
      yield* ended(agent, calling)
      const second = yield* openPage()
      yield* join(second)
      yield* thaw
      yield* scriptInPage(page).happened(`abort ${tool}`)
      yield* scriptInPage(page).logged("already exists")
      yield* callAgain(agent, second, tool)
      assert.strictEqual(yield* runsOf(second, tool), 2)
    }))
})
