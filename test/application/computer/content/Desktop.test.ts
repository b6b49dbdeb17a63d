import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { MemoryResource } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { resource, unreadable } from "../../../conformance/members.ts"
import { type SessionChange, type TestComputer, withAlpha } from "../testComputer.ts"

const a = "window://h/a"
const b = "window://h/b"

/** A Computer with one server `alpha`; `shown` gives the URIs on its desktop. */
const showing = Effect.fnUntraced(function* (
  resources: ReadonlyArray<MemoryResource>,
  change: SessionChange = () => ({}),
  settings: TestComputer["settings"] = {}
) {
  const read: Array<string> = []
  const { computer, logged, logs } = yield* withAlpha({
    server: { resources },
    change: (session) => {
      const changed = change(session)
      const { readResource } = { ...session, ...changed }
      return { ...changed, readResource: (uri) => Effect.suspend(() => (read.push(uri), readResource(uri))) }
    },
    settings
  })
  const shown = (request: Parameters<typeof computer.desktop>[0] = {}) =>
    Effect.map(logged(computer.desktop(request)), (entries) => entries.map((entry) => entry.split("\n")[0]))
  return { computer, logs, read, shown }
})

const hanging = (uri: string): MemoryResource => ({ definition: { uri, name: uri }, read: Effect.never })

describe("Desktop", () => {
  it.effect("reads nothing for a size of zero or less", () =>
    Effect.gen(function* () {
      const { read, shown } = yield* showing([resource(a)])
      for (const size of [0, -1]) assert.deepStrictEqual(yield* shown({ size }), [])
      assert.deepStrictEqual(read, [])
      assert.deepStrictEqual(yield* shown({ size: 1 }), [a])
    })
  )

  it.effect.each(
    ["WINDOW", "Window", "wInDoW", "window"].flatMap((listed) =>
      ["window", "WINDOW"].map((requests) => [listed, requests] as const)
    )
  )("reads a window of the scheme %s by the scheme %s, and no other window", ([listed, requests]) =>
    Effect.gen(function* () {
      const own = `${listed}://h/a`
      const { read, shown } = yield* showing([
        resource(own),
        resource("window://h/A"),
        resource("window://H/a"),
        resource(b)
      ])
      assert.deepStrictEqual(yield* shown({ window: `${requests}://h/a` }), [own])
      assert.deepStrictEqual(read, [own])
    })
  )

  it.effect("ignores other resources without a warning", () =>
    Effect.gen(function* () {
      const { logs, read, shown } = yield* showing([resource("file:///x"), resource("dpe://h/d"), resource(a)])
      assert.deepStrictEqual(yield* shown(), [a])
      assert.deepStrictEqual(read, [a])
      assert.notInclude(logs.join(), "window left out")
    })
  )

  it.effect("skips a window with an invalid URI unread, with a warning", () =>
    Effect.gen(function* () {
      const invalid = "window://h/bad?priority=no"
      const { logs, read, shown } = yield* showing([resource(invalid), resource(a)])
      assert.deepStrictEqual(yield* shown(), [a])
      assert.deepStrictEqual(read, [a])
      assert.include(logs.join(), `"window left out",{"server":"alpha","uri":"${invalid}"`)
    })
  )

  it.effect("reports a window that is left out once per change of the reason", () =>
    Effect.gen(function* () {
      let message: string | undefined = "first"
      const { logs, shown } = yield* showing([resource(a), resource(b)], (session) => ({
        readResource: (uri) =>
          message === undefined || uri === a
            ? session.readResource(uri)
            : Effect.fail(new McpSessionError({ reason: "protocol", message }))
      }))
      const reasonsAfter = Effect.fnUntraced(function* (next: string | undefined) {
        message = next
        logs.length = 0
        for (let times = 0; times < 3; times++) yield* shown()
        yield* shown({ window: a })
        return logs.flatMap((line) => /"window left out".*"reason":"([^"]*)"/.exec(line)?.[1] ?? [])
      })
      assert.deepStrictEqual(yield* reasonsAfter("first"), ["first"])
      assert.deepStrictEqual(yield* reasonsAfter("second"), ["second"])
      assert.deepStrictEqual(yield* reasonsAfter(undefined), [])
      assert.deepStrictEqual(yield* reasonsAfter("second"), ["second"])
    })
  )

  it.effect("remembers the reasons of at most a thousand windows, and does not log further ones", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 1010 }, (_, index) => unreadable(`window://h/${index}`))
      const { logs, shown } = yield* showing(many)
      for (let times = 0; times < 2; times++) yield* shown()
      const left = logs.filter((line) => line.includes("window left out"))
      assert.lengthOf(left, 1000)
    })
  )

  it.effect("reports a window that is left out again only after a desktop without the problem", () =>
    Effect.gen(function* () {
      const broken = new Set([a, b])
      const { logs, shown } = yield* showing([resource(a), resource(b)], (session) => ({
        readResource: (uri) =>
          broken.has(uri)
            ? Effect.fail(new McpSessionError({ reason: "protocol", message: "closed" }))
            : session.readResource(uri)
      }))
      const reported = Effect.fnUntraced(function* (request: Parameters<typeof shown>[0]) {
        logs.length = 0
        yield* shown(request)
        return logs.flatMap((line) => /"window left out".*"uri":"([^"]*)"/.exec(line)?.[1] ?? [])
      })
      assert.deepStrictEqual(yield* reported({}), [a, b])
      // A request for one window tells nothing about the others.
      for (const window of [a, b, "window://h/c"]) assert.deepStrictEqual(yield* reported({ window }), [])
      assert.deepStrictEqual(yield* reported({}), [])
      broken.delete(a)
      assert.deepStrictEqual(yield* reported({}), [])
      broken.add(a)
      assert.deepStrictEqual(yield* reported({}), [a])
    })
  )

  it.effect("shows a window that a server lists twice once, as last listed", () =>
    Effect.gen(function* () {
      const { read, shown } = yield* showing([
        resource(a, ["T"], { annotations: { priority: 0.9 } }),
        resource(b, ["T"], { annotations: { priority: 0.5 } }),
        resource(a, ["T"], { annotations: { priority: 0.1 } })
      ])
      assert.deepStrictEqual(yield* shown(), [b, a])
      assert.sameMembers(read, [a, b])
    })
  )

  it.effect("skips the windows that are not read within one timeout for all", () =>
    Effect.gen(function* () {
      const slow = Array.from({ length: 40 }, (_, index) => hanging(`window://h/slow${index}`))
      const { logs, shown } = yield* showing([resource(a), ...slow])
      const pending = yield* Effect.forkChild(shown(), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(pending.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isDefined(pending.pollUnsafe())
      assert.deepStrictEqual(yield* Fiber.join(pending), [a])
      const left = logs.filter((line) => line.includes("window left out"))
      assert.lengthOf(left, 40)
    })
  )

  it.effect("uses the previous listing of a server that does not respond", () =>
    Effect.gen(function* () {
      let isHanging = false
      const { logs, shown } = yield* showing([resource(a)], ({ listResources }) => ({
        listResources: (cursor) => (isHanging ? Effect.never : listResources(cursor))
      }))
      isHanging = true
      const pending = yield* Effect.forkChild(shown(), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(pending), [a])
      assert.include(logs.join(), '"using the previous resource listing",{"server":"alpha","kind":"windows"')
    })
  )

  it.effect("hides the windows of a server without subscriptions, unless the settings show them", () =>
    Effect.gen(function* () {
      const deaf: SessionChange = ({ info }) => ({
        info: { ...info, capabilities: { ...info.capabilities, subscribe: false } }
      })
      const hiding = yield* showing([resource(a)], deaf)
      assert.deepStrictEqual(yield* hiding.shown(), [])
      const fields = `{"server":"alpha","uri":"${a}","reason":"the server lacks resources.subscribe"}`
      assert.include(hiding.logs.join(), `"window left out",${fields}`)
      const { logs, shown } = yield* showing([resource(a)], deaf, { showUnsubscribable: true })
      assert.deepStrictEqual(yield* shown(), [a])
      assert.notInclude(logs.join(), "window left out")
    })
  )
})
