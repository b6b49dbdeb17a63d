import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Result, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { PackView } from "../../../src/application/packs/PackTable.ts"
import { PackError } from "../../../src/application/ports/packs/PackLoader.ts"
import { partsCodec, partsUri } from "../../../src/domain/page/Inspection.ts"
import { entry, makeHost, manifestOf } from "./world.ts"

const scoped = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.effect(title, () => Effect.scoped(body))

type Host = Effect.Success<ReturnType<typeof makeHost>>["host"]

const formatPack = ({ name, status }: PackView): string =>
  status._tag === "Failed" ? `${name} Failed: ${status.reason}` : `${name} ${status._tag}`

const standing = ({ packs }: Host) => Effect.map(packs, (all) => all.map(formatPack))

/** Yields until the packs have these states, without advancing the clock. */
const stands = (host: Host, ...expected: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.flatMap(standing(host), (now) =>
    now.join() === expected.join() ? Effect.void : Effect.andThen(Effect.yieldNow, stands(host, ...expected))
  )

const toolsOf = ({ session }: Host) =>
  Effect.map(session.listTools(), ({ items }) => items.map(({ name }) => String(name)))

const textResult = (text: string) => ({ content: [{ type: "text", text }] })

const callRoute = (host: Host, endpoint: string, params = {}) =>
  Effect.suspend(() => {
    const hosted = host.route(endpoint)
    return hosted === undefined
      ? Effect.die(`no route ${endpoint}`)
      : host.call(hosted, { params, form: false, files: {} })
  })

describe("pack host", () => {
  scoped(
    "finds, loads, lists and calls the packs of its folders",
    Effect.gen(function* () {
      const { host, put } = yield* makeHost()
      yield* put(entry("lamp"), entry("door", "7", { description: "Opens", usage: "open it" }))
      yield* host.rescan
      assert.deepStrictEqual(yield* standing(host), ["lamp Ready", "door Ready"])
      assert.deepStrictEqual(yield* toolsOf(host), ["lamp", "door"])
      assert.deepStrictEqual(yield* host.session.callTool("door", { a: 1 }), textResult('door 7 door {"a":1}'))
      assert.deepStrictEqual(yield* callRoute(host, "/tools/lamp", { b: 2 }), textResult('lamp 1 lamp {"b":2}'))
      const [, door] = yield* host.packs
      assert.deepStrictEqual([door?.description, door?.usage], ["Opens", "open it"])
    })
  )

  scoped(
    "explains a pack that fails, and keeps the others",
    Effect.gen(function* () {
      const { host, packs, put, unknown } = yield* makeHost()
      packs.set("throws 1", { loadError: "it threw: boom" })
      unknown.add("nope@1")
      yield* put(
        entry("throws"),
        { ...entry("empty"), files: ["index.ts"] },
        entry("odd", "1", { enabled: "maybe" }),
        entry("greedy", "1", { packages: ["nope@1"] }),
        entry("sly", "1", { packages: ["--registry=x"] }),
        entry("good")
      )
      yield* host.rescan
      const [throws, empty, odd, greedy, sly, good] = yield* standing(host)
      assert.strictEqual(throws, "throws Failed: it threw: boom")
      assert.match(empty ?? "", /^empty Failed: its folder has no 'empty_tool.ts'/)
      assert.match(odd ?? "", /^odd Failed: .*enabled/)
      assert.match(greedy ?? "", /^greedy Failed: .*no package nope@1/)
      assert.match(sly ?? "", /^sly Failed: .*--registry=x/)
      assert.strictEqual(good, "good Ready")
      assert.deepStrictEqual(yield* toolsOf(host), ["good"])
    })
  )

  scoped(
    "describes its packs in a resource, also those that fail",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost()
      packs.set("throws 1", { loadError: "it threw: boom" })
      yield* put(entry("throws"), entry("good"))
      yield* host.rescan
      const { items } = yield* host.session.listResources()
      assert.deepStrictEqual(
        items.map(({ uri }) => uri),
        [partsUri]
      )
      const [content] = yield* host.session.readResource(partsUri)
      assert.deepStrictEqual(Result.getOrThrow(partsCodec.decode(content?.["text"])), [
        { kind: "pack", name: "throws", state: "failed", reason: "it threw: boom", offers: [] },
        { kind: "pack", name: "good", state: "ready", offers: ["good"] }
      ])
    })
  )

  scoped(
    "lists a disabled pack without installing or loading it",
    Effect.gen(function* () {
      const { host, installed, log, put } = yield* makeHost()
      yield* put(entry("off", "1", { enabled: false, packages: ["is-odd@3.0.1"] }))
      yield* host.rescan
      assert.deepStrictEqual(yield* standing(host), ["off Disabled"])
      assert.deepStrictEqual([installed, log], [[], []])
    })
  )

  scoped(
    "installs npm packages before loading",
    Effect.gen(function* () {
      const { host, installed, put } = yield* makeHost()
      yield* put(entry("maths", "1", { packages: ["is-odd==3.0.1", "@scope/x@^1"] }))
      yield* host.rescan
      assert.deepStrictEqual(yield* standing(host), ["maths Ready"])
      assert.deepStrictEqual(installed, ["@scope/x@^1", "is-odd@3.0.1"])
    })
  )

  scoped(
    "loads added, edited and removed packs, and notifies watchers",
    Effect.gen(function* () {
      const { host, put } = yield* makeHost()
      let notifications = 0
      const changes = yield* host.session.watch({ tools: true, resources: false, uris: [] })
      yield* Effect.forkScoped(
        Stream.runForEach(changes, () => Effect.sync(() => notifications++)),
        { startImmediately: true }
      )
      yield* put(entry("lamp"))
      yield* stands(host, "lamp Ready")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(notifications, 1)
      yield* put(entry("lamp", "2"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* host.session.callTool("lamp", {}), textResult("lamp 2 lamp {}"))
      assert.strictEqual(notifications, 1)
      yield* put()
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* toolsOf(host), [])
      assert.strictEqual(notifications, 2)
      assert.strictEqual((yield* Effect.flip(host.session.callTool("lamp", {}))).code, -32602)
    })
  )

  scoped(
    "loads changes while another pack loads, including a fix of that one",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost()
      packs.set("slow 1", { loading: Effect.never })
      yield* put(entry("slow"))
      yield* TestClock.adjust("1 second")
      yield* put(entry("slow"), entry("lamp"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* standing(host), ["slow Loading", "lamp Ready"])
      yield* put(entry("slow", "2"), entry("lamp"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* standing(host), ["slow Ready", "lamp Ready"])
    })
  )

  scoped(
    "skips a pack that is disabled while it loads",
    Effect.gen(function* () {
      const { host, log, packs, put } = yield* makeHost()
      const gate = yield* Deferred.make<void>()
      packs.set("lamp 1", { loading: Deferred.await(gate) })
      yield* put(entry("lamp"))
      yield* TestClock.adjust("1 second")
      yield* put(entry("lamp", "2", { enabled: false }))
      yield* TestClock.adjust("1 second")
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* standing(host), log], [["lamp Disabled"], []])
    })
  )

  it.effect("closes a version with in-flight calls together with the host", () =>
    Effect.gen(function* () {
      const log = yield* Effect.scoped(
        Effect.gen(function* () {
          const { host, log: all, packs, put } = yield* makeHost()
          packs.set("lamp 1", { call: () => Effect.never })
          yield* put(entry("lamp"))
          yield* host.rescan
          yield* Effect.forkDetach(host.session.callTool("lamp", {}), { startImmediately: true })
          yield* put(entry("lamp", "2"))
          yield* host.rescan
          return all
        })
      )
      assert.sameMembers(log, ["load lamp 1", "load lamp 2", "close lamp 2", "close lamp 1"])
    })
  )

  scoped(
    "loads other packs and edits during an installation",
    Effect.gen(function* () {
      const { host, put } = yield* makeHost()
      yield* put(entry("big", "1", { packages: ["slow@1"] }))
      yield* stands(host, "big Installing")
      yield* put(entry("big", "1", { packages: ["slow@1"] }), entry("lamp"))
      yield* TestClock.adjust("1 second")
      yield* stands(host, "big Installing", "lamp Ready")
      yield* put(entry("big", "2"), entry("lamp"))
      yield* TestClock.adjust("1 second")
      yield* stands(host, "big Ready", "lamp Ready")
    })
  )

  scoped(
    "completes in-flight calls on the version that started them",
    Effect.gen(function* () {
      const { host, log, packs, put } = yield* makeHost()
      const gate = yield* Deferred.make<void>()
      packs.set("lamp 1", { call: () => Effect.as(Deferred.await(gate), textResult("old")) })
      yield* put(entry("lamp"))
      yield* host.rescan
      const call = yield* Effect.forkChild(host.session.callTool("lamp", {}), { startImmediately: true })
      yield* put(entry("lamp", "2"))
      yield* host.rescan
      assert.deepStrictEqual(yield* host.session.callTool("lamp", {}), textResult("lamp 2 lamp {}"))
      assert.deepStrictEqual(log, ["load lamp 1", "load lamp 2"])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(call), textResult("old"))
      yield* Effect.yieldNow
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(log, ["load lamp 1", "load lamp 2", "close lamp 1"])
    })
  )

  scoped(
    "removes a pack after a broken edit, and restores it after the next one",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost()
      packs.set("lamp 2", { loadError: "a syntax error" })
      yield* put(entry("lamp"))
      yield* host.rescan
      yield* put(entry("lamp", "2"))
      yield* host.rescan
      assert.deepStrictEqual(yield* standing(host), ["lamp Failed: a syntax error"])
      assert.deepStrictEqual(yield* toolsOf(host), [])
      yield* put(entry("lamp", "3"))
      yield* host.rescan
      assert.deepStrictEqual(yield* toolsOf(host), ["lamp"])
    })
  )

  scoped(
    "restarts a pack after an exit, with backoff",
    Effect.gen(function* () {
      const { crash, host, log, put } = yield* makeHost()
      yield* put(entry("lamp"))
      yield* host.rescan
      yield* crash("lamp")
      yield* stands(host, "lamp Failed: restarting after exit: out of memory")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* standing(host), ["lamp Ready"])
      assert.deepStrictEqual(log, ["load lamp 1", "close lamp 1", "load lamp 1"])
    })
  )

  scoped(
    "restarts a pack that exits soon after each start with a growing delay, until it stays up for a minute",
    Effect.gen(function* () {
      const { crash, host, put } = yield* makeHost()
      yield* put(entry("lamp"))
      yield* host.rescan
      for (const [uptime, delay] of [
        [0, 500],
        [30_000, 1000],
        [55_000, 2000],
        [60_000, 500],
        [0, 1000]
      ] as const) {
        yield* TestClock.adjust(uptime)
        yield* crash("lamp")
        yield* stands(host, "lamp Failed: restarting after exit: out of memory")
        // The jitter is a fifth of the delay.
        yield* TestClock.adjust(delay * 0.8 - 1)
        assert.notDeepEqual(yield* standing(host), ["lamp Ready"], `${delay}`)
        yield* TestClock.adjust(delay * 0.4 + 1)
        assert.deepStrictEqual(yield* standing(host), ["lamp Ready"], `${delay}`)
      }
    })
  )

  scoped(
    "resolves conflicts of names, endpoints and tools, with warnings",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost()
      packs.set("b 1", { manifest: manifestOf("a", "own") })
      yield* put(entry("a"), entry("b"), { ...entry("a"), path: "/packs/a_tool.ts" })
      yield* host.rescan
      const [a, b, second] = yield* host.packs
      assert.strictEqual(a?.status._tag, "Ready")
      assert.deepStrictEqual(b?.status._tag === "Ready" && b.status.routes.map(({ endpoint }) => endpoint), [
        "/tools/own"
      ])
      assert.match(JSON.stringify(b?.status), /\/tools\/a.*tool 'a' is renamed to 'b__a'/)
      assert.match(JSON.stringify(second?.status), /another pack is named 'a'/)
      assert.deepStrictEqual(yield* toolsOf(host), ["a", "b__a", "own"])
      assert.deepStrictEqual(yield* host.session.callTool("b__a", {}), textResult("b 1 a {}"))
    })
  )

  scoped(
    "times out a slow call",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost({ limits: { timeout: Duration.seconds(5) } })
      packs.set("slow 1", { call: () => Effect.never })
      yield* put(entry("slow"))
      yield* host.rescan
      const call = yield* Effect.forkChild(callRoute(host, "/tools/slow"))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(call)))._tag, "PackTimeoutError")
      const spoken = yield* Effect.forkChild(host.session.callTool("slow", {}))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(spoken), {
        ...textResult("The tool did not answer within 5 seconds"),
        isError: true
      })
    })
  )

  scoped(
    "times out a call that waits for others of its pack",
    Effect.gen(function* () {
      const limits = { concurrency: 1, timeout: Duration.seconds(5) }
      const { host, packs, put } = yield* makeHost({ limits })
      packs.set("slow 1", { call: () => Effect.never })
      yield* put(entry("slow"))
      yield* host.rescan
      const [first, queued] = yield* Effect.forEach(["first", "queued"], () =>
        Effect.forkChild(callRoute(host, "/tools/slow"), { startImmediately: true })
      )
      yield* TestClock.adjust("5 seconds")
      for (const call of [first, queued]) {
        assert.isDefined(call?.pollUnsafe())
        assert.strictEqual((yield* Effect.flip(Fiber.join(call ?? assert.fail())))._tag, "PackTimeoutError")
      }
    })
  )

  scoped(
    "limits in-flight and queued calls of a pack",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost({ limits: { concurrency: 1, maxQueued: 1 } })
      const gate = yield* Deferred.make<void>()
      packs.set("slow 1", { call: () => Effect.as(Deferred.await(gate), textResult("done")) })
      yield* put(entry("slow"), entry("other"))
      yield* host.rescan
      const calls = yield* Effect.forkChild(
        Effect.forEach([1, 2], () => callRoute(host, "/tools/slow"), { concurrency: 2 }),
        { startImmediately: true }
      )
      assert.strictEqual((yield* Effect.flip(callRoute(host, "/tools/slow")))._tag, "PackBusyError")
      yield* callRoute(host, "/tools/other")
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(calls), [textResult("done"), textResult("done")])
    })
  )

  scoped(
    "frees the places of interrupted calls, the queued one included",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost({ limits: { concurrency: 1, maxQueued: 1 } })
      packs.set("slow 1", {
        call: ({ params }) => (params["hang"] === true ? Effect.never : Effect.succeed(textResult("done")))
      })
      yield* put(entry("slow"))
      yield* host.rescan
      for (const _ of [1, 2, 3]) {
        const calls = yield* Effect.forkChild(
          Effect.forEach([1, 2], () => callRoute(host, "/tools/slow", { hang: true }), { concurrency: 2 }),
          { startImmediately: true }
        )
        assert.strictEqual((yield* Effect.flip(callRoute(host, "/tools/slow")))._tag, "PackBusyError")
        yield* Fiber.interrupt(calls)
        assert.deepStrictEqual(yield* callRoute(host, "/tools/slow"), textResult("done"))
      }
    })
  )

  scoped(
    "lists invalid arguments for a model",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost()
      const problems = [{ loc: ["body", "text"], msg: "Field required", type: "missing" }]
      packs.set("a 1", {
        call: () =>
          Effect.fail(new PackError({ reason: "invalid_params", message: "The arguments do not fit", problems }))
      })
      yield* put(entry("a"))
      yield* host.rescan
      assert.deepStrictEqual(yield* host.session.callTool("a", {}), {
        ...textResult("The tool was not called: invalid arguments.\n- text: Field required"),
        isError: true
      })
    })
  )

  scoped(
    "lists the first of many invalid arguments for a model",
    Effect.gen(function* () {
      const { host, packs, put } = yield* makeHost()
      const problems = Array.from({ length: 100 }, (_, at) => ({ loc: ["body", at], msg: "bad", type: "value_error" }))
      packs.set("a 1", { call: () => Effect.fail(new PackError({ reason: "invalid_params", message: "", problems })) })
      yield* put(entry("a"))
      yield* host.rescan
      const text = JSON.stringify(yield* host.session.callTool("a", {}))
      assert.include(text, String.raw`\n- 9: bad\n- and 90 more"`)
    })
  )
})
