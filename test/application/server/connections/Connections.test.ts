import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Scope } from "effect"
import { AdmissionRejected, type Link } from "../../../../src/application/ports/Transport.ts"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import { allGrants } from "../../../../src/domain/model/Identity.ts"
import { NotificationBacklog } from "../../../../src/domain/office/NotificationBacklog.ts"
import { lineForVersion } from "../../../../src/domain/wire/lines.ts"
import { settle } from "../../../settle.ts"
import { makeLink, makeParts, recordMetrics } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

const start = Effect.fnUntraced(function* (limits: Partial<Limits>) {
  const { exceeded, metrics } = recordMetrics()
  const { connections } = yield* makeParts({ limits, metrics })
  const open = (link: Link) =>
    connections.open({
      link,
      line: lineForVersion({ major: 0, minor: 2, patch: 0 }),
      identity: { subject: "s", grants: allGrants, expiresAt: undefined },
      registration: { session: { sid: link.id, membership: Option.none() } } as never
    })
  const reserve = (link: Link, disconnect = () => Effect.void) => connections.reserve(link, disconnect)
  return { connections, exceeded, open, reserve }
})

const test = effectWith(start({}))

describe("the set of connections of a Server", () => {
  it.effect("rejects a link without a free slot, which may try again", () =>
    Effect.gen(function* () {
      const { connections, exceeded, reserve } = yield* start({ connections: 1 })
      const scope = yield* Scope.make()
      yield* Scope.provide(reserve(makeLink("a").link), scope)
      const rejection = yield* Effect.flip(Effect.scoped(reserve(makeLink("b").link)))
      assert.instanceOf(rejection, AdmissionRejected)
      assert.deepInclude({ ...rejection }, { code: 503, reason: "too_many_connections", retryable: true })
      assert.deepStrictEqual(exceeded, ["connections"])
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(connections.size(), 0)
      yield* reserve(makeLink("c").link)
    })
  )

  test("omits a link that closed during its admission", ({ connections, open }) => {
    open(makeLink("a").link)
    assert.isUndefined(connections.get("a"))
    assert.deepStrictEqual(connections.all(), [])
  })

  test("forgets the deferred notifications of a connection that a limit closes", function* ({
    connections,
    open,
    reserve
  }) {
    const { link } = makeLink("a")
    yield* reserve(link)
    const connection = open(link)
    connection.notificationBacklog = new NotificationBacklog()
    connections.closeForLimit(connection, "joinTimeout", "too late")
    assert.isUndefined(connection.notificationBacklog)
  })

  it.effect("closes a connection above the limit of its backlog once", () =>
    Effect.gen(function* () {
      const { connections, exceeded, open, reserve } = yield* start({ backlogBytes: 100 })
      const slow = makeLink("a")
      yield* reserve(slow.link)
      const connection = open(slow.link)
      slow.setBacklog(100)
      connections.onBacklogChange(slow.link)
      yield* settle
      assert.deepStrictEqual(slow.closed, [])
      slow.setBacklog(101)
      connections.onBacklogChange(slow.link)
      connections.onBacklogChange(slow.link)
      yield* settle
      assert.strictEqual(slow.closed.length, 1)
      assert.include(slow.closed[0], "101 bytes")
      assert.isTrue(connection.closing)
      assert.deepStrictEqual(exceeded, ["backlogBytes"])
    })
  )

  it.effect("ignores the backlog of a link without a connection", () =>
    Effect.gen(function* () {
      const { connections, exceeded, reserve } = yield* start({ backlogBytes: 100 })
      const early = makeLink("a")
      yield* reserve(early.link)
      early.setBacklog(1000)
      connections.onBacklogChange(early.link)
      assert.deepStrictEqual([exceeded, connections.totalBacklogBytes()], [[], 0])
    })
  )

  test("closes all links, also those that still authenticate", function* ({ connections, open, reserve }) {
    const [member, early] = [makeLink("a"), makeLink("b")]
    yield* reserve(member.link)
    yield* reserve(early.link)
    open(member.link)
    yield* connections.closeAll("the end")
    assert.deepStrictEqual([member.closed, early.closed], [["the end"], ["the end"]])
  })

  test("closes all links at once, though one takes its time", function* ({ connections, reserve }) {
    const [slow, other] = [makeLink("a", { close: () => Effect.never }), makeLink("b")]
    yield* reserve(slow.link)
    yield* reserve(other.link)
    yield* Effect.forkChild(connections.closeAll("the end"))
    yield* settle
    assert.deepStrictEqual(other.closed, ["the end"])
  })

  test("removes the session of a closed connection before the connection", function* ({ connections, open, reserve }) {
    const scope = yield* Scope.make()
    const { link } = makeLink("a")
    let size: number | undefined
    yield* Scope.provide(
      reserve(link, () => Effect.sync(() => void (size = connections.all().length))),
      scope
    )
    open(link)
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual([size, connections.all().length], [1, 0])
  })

  test("removes a connection that has closed, with its bytes", function* ({ connections, open, reserve }) {
    const scope = yield* Scope.make()
    const slow = makeLink("a")
    yield* Scope.provide(reserve(slow.link), scope)
    const connection = open(slow.link)
    slow.setBacklog(50)
    connections.onBacklogChange(slow.link)
    assert.deepStrictEqual([connections.all(), connections.totalBacklogBytes()], [[connection], 50])
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual([connections.all(), connections.totalBacklogBytes()], [[], 0])
  })
})
