import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { assertRejected, bodiesOf, settled } from "./joinedMembers.ts"
import { officeUnderTest, resource, tool, unreadable } from "./members.ts"
import { conform, type Peer } from "./World.ts"

const base = { agent: "agent-1", req_id: "r1", computer: "pc-1" }
const desktop = (peer: Peer, more: object = {}) =>
  Effect.map(peer.request("client:get_desktop", { ...base, ...more }), ([answer]) => {
    const { desktops, req_id } = answer as { readonly desktops: ReadonlyArray<string>; readonly req_id: string }
    assert.strictEqual(req_id, "r1")
    return desktops
  })
const uris = (peer: Peer, more: object = {}) =>
  Effect.map(desktop(peer, more), (entries) => entries.map((entry) => entry.split("\n")[0]))
const window = (path: string, ...rest: [ReadonlyArray<string>?, object?]) =>
  resource(`window://${path}`, rest[0], { ...rest[1] })

describe("client:get_desktop", () => {
  conform("cases 230, 231, 232, 236, 237: renders windows, and omits invalid ones", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(world, {
        alpha: {
          resources: [
            window("h/one?priority=90"),
            window("h/two?priority=80", ["a", "b"]),
            window("h/three?priority=70", [""]),
            window("h/bad?priority=no"),
            unreadable("window://h/unreadable"),
            resource("file:///x")
          ]
        }
      })
      assert.deepStrictEqual(yield* desktop(a1), [
        "window://h/one?priority=90\n\nT",
        "window://h/two?priority=80\n\na\n\nb",
        "window://h/three?priority=70"
      ])
    })
  )

  conform(
    "omits only a window over the message limit, and rejects a request for it",
    (world) =>
      Effect.gen(function* () {
        const { a1 } = yield* officeUnderTest(world, {
          alpha: { resources: [window("h/huge", ["x".repeat(200_000)]), window("h/small")] },
          beta: { resources: [window("h/other")] }
        })
        assert.sameMembers([...(yield* desktop(a1))], ["window://h/small\n\nT", "window://h/other\n\nT"])
        assertRejected(yield* a1.request("client:get_desktop", { ...base, window: "window://h/huge" }), 413)
      }),
    { maxMessageBytes: 100_000 }
  )

  conform("cases 238, 259, 264: reads all pages of servers with subscriptions only", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(world, {
        alpha: { resources: [window("h/1"), window("h/2"), window("h/3")], pageSize: 2 },
        deaf: { resources: [window("h/4")], capabilities: { subscribe: false } },
        toolsOnly: { capabilities: { resources: false, subscribe: false } }
      })
      assert.deepStrictEqual(yield* uris(a1), ["window://h/1", "window://h/2", "window://h/3"])
    })
  )

  conform("cases 241, 245: puts the last used server first, even when its tool failed", (world) =>
    Effect.gen(function* () {
      const failing = (name: string) => tool(name, () => Effect.succeed({ content: [], isError: true }))
      const { a1 } = yield* officeUnderTest(world, {
        alpha: { resources: [window("alpha")], tools: [tool("a")] },
        beta: { resources: [window("beta")], tools: [failing("b")] },
        gamma: { resources: [window("gamma")] }
      })
      assert.deepStrictEqual(yield* uris(a1), ["window://alpha", "window://beta", "window://gamma"])
      const call = (tool_name: string, req_id: string) =>
        a1.request("client:tool_call", { ...base, tool_name, req_id, params: {}, timeout: 5 })
      yield* call("b", "1")
      assert.deepStrictEqual(yield* uris(a1), ["window://beta", "window://alpha", "window://gamma"])
      yield* call("a", "2")
      yield* call("nope", "3")
      assert.deepStrictEqual(yield* uris(a1), ["window://alpha", "window://beta", "window://gamma"])
    })
  )

  conform("cases 250, 251, 252: limits the desktop to the size", (world) =>
    Effect.gen(function* () {
      const two = [window("h/1"), window("h/2")]
      const { a1 } = yield* officeUnderTest(world, { alpha: { resources: two }, beta: { resources: two } })
      const lengths = []
      for (const desktop_size of [0, -3, 1, 3, 99, null]) {
        lengths.push((yield* desktop(a1, { desktop_size })).length)
      }
      assert.deepStrictEqual(lengths, [0, 0, 1, 3, 4, 4])
    })
  )

  conform("case 254: rejects other types of size and window", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(world, {})
      for (const bad of [{ desktop_size: "2" }, { desktop_size: 1.5 }, { window: 5 }]) {
        assertRejected(yield* a1.request("client:get_desktop", { ...base, ...bad }), 400)
      }
    })
  )

  conform("cases 255, 256, 257, 258: finds one window by its exact URI", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(world, {
        alpha: { resources: [window("h/full?fullscreen=1"), window("h/small?priority=1")] }
      })
      assert.deepStrictEqual(yield* uris(a1), ["window://h/full?fullscreen=1"])
      assert.deepStrictEqual(yield* uris(a1, { window: "window://h/small?priority=1" }), [
        "window://h/small?priority=1"
      ])
      for (const other of ["window://h/small", "window://h/small?priority=1/", "window://nope"]) {
        assert.deepStrictEqual(yield* uris(a1, { window: other }), [])
      }
    })
  )

  conform("case 260: uses the annotations of a window unless its URI has the parameter", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(world, {
        alpha: {
          resources: [window("h/1?priority=50"), window("h/2", undefined, { annotations: { priority: 0.8 } })]
        }
      })
      assert.deepStrictEqual(yield* uris(a1), ["window://h/2", "window://h/1?priority=50"])
    })
  )
})

describe("desktop update", () => {
  const updates = (peer: Peer) => bodiesOf(peer, "notify:update_desktop").length

  conform("cases 265, 266, 271, 273: follows added, removed and renamed windows", (world) =>
    Effect.gen(function* () {
      const { a1, server } = yield* officeUnderTest(world, {
        alpha: { resources: [window("h/1")] },
        beta: { resources: [] }
      })
      yield* server("alpha").setResources([window("h/1"), window("h/2")])
      assert.deepStrictEqual(yield* a1.receive("notify:update_desktop"), { computer: "pc-1" })
      yield* server("alpha").setResources([window("h/1")])
      yield* a1.receive("notify:update_desktop")
      yield* server("alpha").setResources([window("h/1?priority=3")])
      yield* a1.receive("notify:update_desktop")
      yield* server("beta").setResources([window("h/9")])
      yield* a1.receive("notify:update_desktop")
      yield* settled([a1])
      assert.strictEqual(updates(a1), 4)
    })
  )

  conform("cases 267, 268, 272, 270: sends no notification without a changed window", (world) =>
    Effect.gen(function* () {
      const { a1, server } = yield* officeUnderTest(world, { alpha: { resources: [window("h/1")] } })
      yield* server("alpha").notify({ _tag: "ResourcesChanged" })
      yield* server("alpha").setResources([window("h/1"), resource("file:///x"), window("h?priority=x")])
      yield* server("alpha").notify({ _tag: "ResourceUpdated", uri: "file:///x" })
      yield* server("alpha").setResources([window("h/1"), window("h/2")])
      yield* a1.receive("notify:update_desktop")
      yield* settled([a1])
      assert.strictEqual(updates(a1), 1)
    })
  )

  conform("case 269: notifies of new contents at once, also of a later window", (world) =>
    Effect.gen(function* () {
      const { a1, server } = yield* officeUnderTest(world, { alpha: { resources: [window("h/1")] } })
      yield* server("alpha").notify({ _tag: "ResourceUpdated", uri: "window://h/1" })
      yield* a1.receive("notify:update_desktop")
      yield* server("alpha").setResources([window("h/2")])
      yield* a1.receive("notify:update_desktop")
      yield* Effect.repeat(settled([a1]), {
        until: () => server("alpha").subscriptions().join() === "window://h/2"
      })
      yield* server("alpha").notify({ _tag: "ResourceUpdated", uri: "window://h/2" })
      yield* a1.receive("notify:update_desktop")
      yield* server("alpha").notify({ _tag: "ResourceUpdated", uri: "window://h/1" })
      yield* settled([a1])
      assert.strictEqual(updates(a1), 3)
    })
  )

  conform("ignores a server without subscriptions", (world) =>
    Effect.gen(function* () {
      const { a1, server } = yield* officeUnderTest(world, {
        deaf: { capabilities: { subscribe: false } },
        alpha: { resources: [] }
      })
      yield* server("deaf").setResources([window("h/1"), resource("dpe://h/d")])
      yield* server("alpha").setResources([window("h/2")])
      yield* a1.receive("notify:update_desktop")
      yield* settled([a1])
      assert.deepStrictEqual([updates(a1), bodiesOf(a1, "notify:update_finder").length], [1, 0])
    })
  )

  conform("removes the windows of a failed server", (world) =>
    Effect.gen(function* () {
      const { a1, server } = yield* officeUnderTest(world, { alpha: { resources: [window("h/1")] } })
      assert.strictEqual((yield* uris(a1)).length, 1)
      yield* server("alpha").crash("gone")
      yield* a1.receive("notify:update_desktop")
      assert.deepStrictEqual(yield* uris(a1), [])
    })
  )

  conform("cases 330, 331, 332, 333: separates documents from windows", (world) =>
    Effect.gen(function* () {
      const doc = (path: string) => resource(`dpe://h/${path}`, ["{}"], { _meta: { page_count: 1 } })
      const { a1, server } = yield* officeUnderTest(world, { alpha: { resources: [doc("1")] } })
      yield* server("alpha").setResources([doc("1"), doc("2")])
      assert.deepStrictEqual(yield* a1.receive("notify:update_finder"), { computer: "pc-1" })
      assert.strictEqual(updates(a1), 0)
      yield* server("alpha").setResources([doc("1"), doc("2"), window("h/1")])
      yield* a1.receive("notify:update_desktop")
      yield* server("alpha").notify({ _tag: "ResourceUpdated", uri: "dpe://h/1" })
      yield* a1.receive("notify:update_finder")
      yield* server("alpha").notify({ _tag: "ResourcesChanged" })
      yield* settled([a1])
      assert.deepStrictEqual([updates(a1), bodiesOf(a1, "notify:update_finder").length], [1, 2])
    })
  )
})
