import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Result, Scope } from "effect"
import * as MemoryCluster from "../../../../src/adapters/memory/MemoryCluster.ts"
import { type Body, jsonBody } from "../../../../src/application/ports/Body.ts"
import { OfficeRegistry } from "../../../../src/application/ports/OfficeRegistry.ts"
import { requestUsing, type Link } from "../../../../src/application/ports/Transport.ts"
import { Connections } from "../../../../src/application/server/connections/Connections.ts"
import { ClusterNodes } from "../../../../src/application/server/cluster/ClusterNodes.ts"
import { lineForVersion } from "../../../../src/domain/wire/lines.ts"

const minute = Duration.minutes(1)
const valueOf = (body: Body) => Result.getOrElse(body.value(), ({ code }) => `fault ${code}`)

/** A node, and the hand on who is connected to it. */
const start = (cluster: MemoryCluster.MemoryCluster, node: string) =>
  Effect.map(
    Layer.build(
      ClusterNodes.layer.pipe(
        Layer.provideMerge(
          Layer.merge(Layer.fresh(Connections.layer), MemoryCluster.layerNode(cluster, node))
        )
      )
    ),
    (context) => ({
      nodes: Context.get(context, ClusterNodes),
      connections: Context.get(context, Connections),
      registry: Context.get(context, OfficeRegistry)
    })
  )

/** A link that answers with the event and the body, unless the event is `never`. */
const linkOf = (id: string, heard: Array<unknown>, forgotten: Deferred.Deferred<void>): Link => {
  const startRequest: Link["startRequest"] = (event, body, _, onReply) => {
    heard.push(event)
    if (event !== "never") queueMicrotask(() => onReply(Exit.succeed([jsonBody(event), body])))
    return () => Deferred.doneUnsafe(forgotten, Exit.void)
  }
  return {
    id,
    startRequest,
    request: requestUsing(startRequest),
    notify: (event, body) => Effect.sync(() => void heard.push([id, event, valueOf(body)])),
    maxBytes: () => 1000,
    fits: () => true,
    backlog: () => 0,
    pauseReading: () => undefined,
    closed: Effect.never,
    close: () => Effect.void
  }
}

/** Two nodes; two Computers are connected to the second one and sit in an office. */
const world = Effect.gen(function* () {
  const cluster = MemoryCluster.makeCluster()
  const heard: Array<unknown> = []
  const forgotten = yield* Deferred.make<void>()
  const one = yield* start(cluster, "one")
  const home = yield* Scope.make()
  const two = yield* Scope.provide(start(cluster, "two"), home)
  const line = lineForVersion({ major: 0, minor: 2, patch: 0 })
  for (const sid of ["c1", "c2"]) {
    yield* Scope.provide(two.connections.add(linkOf(sid, heard, forgotten), line), home)
    yield* two.registry.apply({
      _tag: "Connect",
      sid,
      node: "two",
      version: "0.2.0",
      role: Option.none(),
      reconnectKey: ""
    })
    yield* two.registry.apply({ _tag: "Join", sid, role: "computer", name: sid, office: "O" })
  }
  const linkTo = (sid: string, office = "O") =>
    one.nodes.remoteConnection({ node: "two", sid, membership: { name: "pc", office }, version: "0.2.0" })
      .link
  return { forgotten, heard, home, linkTo, one, two }
})

describe("members of other nodes", () => {
  it.effect("are asked and answer as if they were here", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { linkTo } = yield* world
        const reply = yield* linkTo("c1").request("client:x", jsonBody({ a: 1 }), minute)
        assert.deepStrictEqual(reply.map(valueOf), ["client:x", { a: 1 }])
      })
    )
  )

  it.effect("that have gone are closed links", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { linkTo } = yield* world
        const failed = yield* Effect.flip(linkTo("gone").request("client:x", jsonBody({}), minute))
        assert.strictEqual(failed._tag, "LinkClosed")
      })
    )
  )

  it.effect("are not asked by an office in which they sit no more, unless they are just on the move", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { heard, linkTo, two } = yield* world
        const asking = linkTo("c1", "P").request("client:x", jsonBody({}), minute)
        assert.strictEqual((yield* Effect.flip(asking))._tag, "LinkClosed")
        assert.deepStrictEqual(heard, [])
        const connection = two.connections.get("c1")
        assert.isDefined(connection)
        connection.pendingMembershipChanges = 1
        yield* asking
        assert.deepStrictEqual(heard, ["client:x"])
      })
    )
  )

  it.effect("whose node goes are refused with 503 and the name of the Computer", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { home, linkTo } = yield* world
        yield* Scope.close(home, Exit.void)
        const failed = yield* Effect.flip(linkTo("c1").request("client:x", jsonBody({}), minute))
        const error = failed._tag === "NotSent" ? failed.error : undefined
        assert.strictEqual(error?.code, 503)
        assert.include(error?.message, "'pc'")
      })
    )
  )

  it.effect("are told once for all of them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { heard, linkTo, one } = yield* world
        one.nodes.notify("two", ["c1", "gone", "c2"], "notify:x", jsonBody(1))
        yield* linkTo("c1").notify("notify:y", jsonBody(2))
        while (heard.length < 3) yield* Effect.yieldNow
        assert.deepStrictEqual(heard, [
          ["c1", "notify:x", 1],
          ["c2", "notify:x", 1],
          ["c1", "notify:y", 2]
        ])
      })
    )
  )

  it.effect("are let go when the asker is interrupted", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { forgotten, heard, linkTo } = yield* world
        const asking = yield* Effect.forkChild(linkTo("c1").request("never", jsonBody({}), minute))
        while (heard.length === 0) yield* Effect.yieldNow
        yield* Fiber.interrupt(asking)
        yield* Deferred.await(forgotten)
      })
    )
  )
})
