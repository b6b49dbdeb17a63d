import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Logger, References, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { PackView } from "../../../src/application/packs/PackTable.ts"
import type { ParamsProblem } from "../../../src/domain/packs/PackManifest.ts"
import { PackError } from "../../../src/application/ports/packs/PackLoader.ts"
import { partsCodec, partsUri } from "../../../src/domain/page/Inspection.ts"
import type { PackHostOptions } from "../../../src/application/packs/PackHost.ts"
import { entry, type FakePack, makeHost, manifestOf } from "./world.ts"
import { effectWith } from "../../testWith.ts"

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

/** A host that has loaded version 1 of a pack, which follows a script. */
const hostOf = Effect.fnUntraced(function* (name: string, script: FakePack = {}, options?: Partial<PackHostOptions>) {
  const made = yield* makeHost(options)
  made.packs.set(`${name} 1`, script)
  yield* made.load(entry(name))
  return made
})

const test = effectWith(makeHost())
const testLamp = effectWith(hostOf("lamp"))

describe("pack host", () => {
  test("finds, loads, lists and calls the packs of its folders", function* ({ host, load }) {
    yield* load(entry("lamp"), entry("door", "7", { description: "Opens", usage: "open it" }))
    assert.deepStrictEqual(yield* standing(host), ["lamp Ready", "door Ready"])
    assert.deepStrictEqual(yield* toolsOf(host), ["lamp", "door"])
    assert.deepStrictEqual(yield* host.session.callTool("door", { a: 1 }), textResult('door 7 door {"a":1}'))
    assert.deepStrictEqual(yield* callRoute(host, "/tools/lamp", { b: 2 }), textResult('lamp 1 lamp {"b":2}'))
    const [, door] = yield* host.packs
    assert.deepStrictEqual([door?.description, door?.usage], ["Opens", "open it"])
  })

  test("explains a pack that fails, and keeps the others", function* ({ host, load, packs, unknown }) {
    packs.set("throws 1", { loadError: "it threw: boom" })
    unknown.add("nope@1")
    yield* load(
      entry("throws"),
      { ...entry("empty"), files: ["index.ts"] },
      entry("odd", "1", { enabled: "maybe" }),
      entry("greedy", "1", { packages: ["nope@1"] }),
      entry("sly", "1", { packages: ["--registry=x"] }),
      entry("good")
    )
    const [throws, empty, odd, greedy, sly, good] = yield* standing(host)
    assert.strictEqual(throws, "throws Failed: it threw: boom")
    assert.match(empty ?? "", /^empty Failed: its folder has no 'empty_tool.ts'/)
    assert.match(odd ?? "", /^odd Failed: .*enabled/)
    assert.match(greedy ?? "", /^greedy Failed: .*no package nope@1/)
    assert.match(sly ?? "", /^sly Failed: .*--registry=x/)
    assert.strictEqual(good, "good Ready")
    assert.deepStrictEqual(yield* toolsOf(host), ["good"])
  })

  test("describes its packs in a resource, also those that fail", function* ({ host, load, packs }) {
    packs.set("throws 1", { loadError: "it threw: boom" })
    yield* load(entry("throws"), entry("good"))
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

  test("lists a disabled pack without installing or loading it", function* ({ host, installed, load, log }) {
    yield* load(entry("off", "1", { enabled: false, packages: ["is-odd@3.0.1"] }))
    assert.deepStrictEqual(yield* standing(host), ["off Disabled"])
    assert.deepStrictEqual([installed, log], [[], []])
  })

  test("installs npm packages before loading", function* ({ host, installed, load }) {
    yield* load(entry("maths", "1", { packages: ["is-odd==3.0.1", "@scope/x@^1"] }))
    assert.deepStrictEqual(yield* standing(host), ["maths Ready"])
    assert.deepStrictEqual(installed, ["@scope/x@^1", "is-odd@3.0.1"])
  })

  it.effect("logs once what was installed, and its output for debugging only", () => {
    const logs: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (/install/.test(JSON.stringify(message))) logs.push([logLevel, message])
    })
    const logging = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "All" as const))
    return Effect.gen(function* () {
      const { load } = yield* makeHost()
      yield* load(entry("maths", "1", { packages: ["is-odd@3.0.1"] }), entry("lamp"))
      assert.deepStrictEqual(logs, [
        ["Debug", ["installer output", { pack: "maths", line: "added" }]],
        ["Info", ["packages installed", { pack: "maths", packages: ["is-odd@3.0.1"], seconds: 0 }]]
      ])
    }).pipe(Effect.provide(logging))
  })

  test("loads added, edited and removed packs, and notifies watchers", function* ({ host, put }) {
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

  test("notifies watchers of a failed pack, which has no tools", function* ({ host, packs, put }) {
    let notifications = 0
    const changes = yield* host.session.watch({ tools: true, resources: false, uris: [] })
    yield* Effect.forkScoped(
      Stream.runForEach(changes, () => Effect.sync(() => notifications++)),
      { startImmediately: true }
    )
    packs.set("lamp 1", { loadError: "no class" })
    yield* put(entry("lamp"))
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual([yield* standing(host), notifications], [["lamp Failed: no class"], 1])
  })

  test("loads changes while another pack loads, including a fix of that one", function* ({ host, packs, put }) {
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

  test("skips a pack that is disabled while it loads", function* ({ host, log, packs, put }) {
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

  it.effect("closes a version with in-flight calls together with the host", () =>
    Effect.gen(function* () {
      const log = yield* Effect.scoped(
        Effect.gen(function* () {
          const { host, load, log: all } = yield* hostOf("lamp", { call: () => Effect.never })
          yield* Effect.forkDetach(host.session.callTool("lamp", {}), { startImmediately: true })
          yield* load(entry("lamp", "2"))
          return all
        })
      )
      assert.sameMembers(log, ["load lamp 1", "load lamp 2", "close lamp 2", "close lamp 1"])
    })
  )

  test("loads other packs and edits during an installation", function* ({ host, put }) {
    yield* put(entry("big", "1", { packages: ["slow@1"] }))
    yield* stands(host, "big Installing")
    yield* put(entry("big", "1", { packages: ["slow@1"] }), entry("lamp"))
    yield* TestClock.adjust("1 second")
    yield* stands(host, "big Installing", "lamp Ready")
    yield* put(entry("big", "2"), entry("lamp"))
    yield* TestClock.adjust("1 second")
    yield* stands(host, "big Ready", "lamp Ready")
  })

  test("completes in-flight calls on the version that started them", function* ({ host, load, log, packs }) {
    const gate = yield* Deferred.make<void>()
    packs.set("lamp 1", { call: () => Effect.as(Deferred.await(gate), textResult("old")) })
    yield* load(entry("lamp"))
    const call = yield* Effect.forkChild(host.session.callTool("lamp", {}), { startImmediately: true })
    yield* load(entry("lamp", "2"))
    assert.deepStrictEqual(yield* host.session.callTool("lamp", {}), textResult("lamp 2 lamp {}"))
    assert.deepStrictEqual(log, ["load lamp 1", "load lamp 2"])
    yield* Deferred.succeed(gate, undefined)
    assert.deepStrictEqual(yield* Fiber.join(call), textResult("old"))
    yield* Effect.yieldNow
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(log, ["load lamp 1", "load lamp 2", "close lamp 1"])
  })

  testLamp("removes a pack after a broken edit, and restores it after the next one", function* ({ host, load, packs }) {
    packs.set("lamp 2", { loadError: "a syntax error" })
    yield* load(entry("lamp", "2"))
    assert.deepStrictEqual(yield* standing(host), ["lamp Failed: a syntax error"])
    assert.deepStrictEqual(yield* toolsOf(host), [])
    yield* load(entry("lamp", "3"))
    assert.deepStrictEqual(yield* toolsOf(host), ["lamp"])
  })

  testLamp("restarts a pack after an exit, with backoff", function* ({ crash, host, log }) {
    yield* crash("lamp")
    yield* stands(host, "lamp Failed: restarting after exit: out of memory")
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* standing(host), ["lamp Ready"])
    assert.deepStrictEqual(log, ["load lamp 1", "close lamp 1", "load lamp 1"])
  })

  testLamp(
    "restarts a pack that exits soon after each start with a growing delay, until it stays up for a minute",
    function* ({ crash, host }) {
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
    }
  )

  test("resolves conflicts of names, endpoints and tools, with warnings", function* ({ host, load, packs }) {
    packs.set("b 1", { manifest: manifestOf("a", "own") })
    yield* load(entry("a"), entry("b"), { ...entry("a"), path: "/packs/a_tool.ts" })
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

  it.effect("times out a slow call", () =>
    Effect.gen(function* () {
      const { host } = yield* hostOf("slow", { call: () => Effect.never }, { limits: { timeout: Duration.seconds(5) } })
      const call = yield* Effect.forkChild(callRoute(host, "/tools/slow"))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(call))).reason, "timed_out")
      const spoken = yield* Effect.forkChild(host.session.callTool("slow", {}))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(spoken), {
        ...textResult("The tool did not answer within 5 seconds"),
        isError: true
      })
    })
  )

  it.effect("times out a call that waits for others of its pack", () =>
    Effect.gen(function* () {
      const limits = { concurrency: 1, timeout: Duration.seconds(5) }
      const { host } = yield* hostOf("slow", { call: () => Effect.never }, { limits })
      const [first, queued] = yield* Effect.forEach(["first", "queued"], () =>
        Effect.forkChild(callRoute(host, "/tools/slow"), { startImmediately: true })
      )
      yield* TestClock.adjust("5 seconds")
      for (const call of [first, queued]) {
        assert.isDefined(call?.pollUnsafe())
        assert.strictEqual((yield* Effect.flip(Fiber.join(call ?? assert.fail()))).reason, "timed_out")
      }
    })
  )

  it.effect("limits in-flight and queued calls of a pack", () =>
    Effect.gen(function* () {
      const { host, load, packs } = yield* makeHost({ limits: { concurrency: 1, maxQueued: 1 } })
      const gate = yield* Deferred.make<void>()
      packs.set("slow 1", { call: () => Effect.as(Deferred.await(gate), textResult("done")) })
      yield* load(entry("slow"), entry("other"))
      const calls = yield* Effect.forkChild(
        Effect.forEach([1, 2], () => callRoute(host, "/tools/slow"), { concurrency: 2 }),
        { startImmediately: true }
      )
      assert.strictEqual((yield* Effect.flip(callRoute(host, "/tools/slow"))).reason, "busy")
      yield* callRoute(host, "/tools/other")
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(calls), [textResult("done"), textResult("done")])
    })
  )

  it.effect("frees the places of interrupted calls, the queued one included", () =>
    Effect.gen(function* () {
      const call: FakePack["call"] = ({ params }) =>
        params["hang"] === true ? Effect.never : Effect.succeed(textResult("done"))
      const { host } = yield* hostOf("slow", { call }, { limits: { concurrency: 1, maxQueued: 1 } })
      for (const _ of [1, 2, 3]) {
        const calls = yield* Effect.forkChild(
          Effect.forEach([1, 2], () => callRoute(host, "/tools/slow", { hang: true }), { concurrency: 2 }),
          { startImmediately: true }
        )
        assert.strictEqual((yield* Effect.flip(callRoute(host, "/tools/slow"))).reason, "busy")
        yield* Fiber.interrupt(calls)
        assert.deepStrictEqual(yield* callRoute(host, "/tools/slow"), textResult("done"))
      }
    })
  )

  /** What a model gets when the arguments have these problems. */
  const resultOf = Effect.fnUntraced(function* (problems: ReadonlyArray<ParamsProblem>) {
    const error = new PackError({ reason: "invalid_params", message: "The arguments do not fit", problems })
    const { host } = yield* hostOf("a", { call: () => Effect.fail(error) })
    return yield* host.session.callTool("a", {})
  })

  it.effect("lists invalid arguments for a model", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resultOf([{ loc: ["body", "text"], msg: "Field required", type: "missing" }]), {
        ...textResult("The tool was not called: invalid arguments.\n- text: Field required"),
        isError: true
      })
    })
  )

  it.effect("lists the first of many invalid arguments for a model", () =>
    Effect.gen(function* () {
      const problems = Array.from({ length: 100 }, (_, at) => ({ loc: ["body", at], msg: "bad", type: "value_error" }))
      assert.include(JSON.stringify(yield* resultOf(problems)), String.raw`\n- 9: bad\n- and 90 more"`)
    })
  )
})
