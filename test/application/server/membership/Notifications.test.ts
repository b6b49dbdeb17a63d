import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Body } from "../../../../src/application/ports/Body.ts"
import type { Member } from "../../../../src/domain/model/Membership.ts"
import { settle } from "../../../settle.ts"
import { makeLink, makeParts, recordLogs, recordMetrics } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

const updated = { _tag: "Updated", part: "desktop", computer: "pc" } as const
const cancelled = (reqId: number) => ({ _tag: "Cancelled", agent: "ada", reqId: String(reqId) }) as const

const eventsOf = (sent: ReadonlyArray<{ readonly event: string }>) => sent.map(({ event }) => event)

const test = effectWith(makeParts())

describe("a notification", () => {
  test("reaches the sessions that are connected", function* ({ notifications, open }) {
    const { link, sent } = makeLink("a")
    yield* open(link)
    notifications.notify(["gone", "a"], updated)
    assert.deepStrictEqual(eventsOf(sent), ["notify:update_desktop"])
  })

  test("counts as activity of its recipients", function* ({ notifications, open }) {
    const connection = yield* open(makeLink("a").link)
    yield* TestClock.adjust("10 seconds")
    notifications.notify(["a"], updated)
    assert.strictEqual(connection.lastActivityAt, 10_000)
  })

  test("omits a connection that is being closed", function* ({ notifications, open }) {
    const [one, other] = [makeLink("a"), makeLink("b")]
    const connection = yield* open(one.link)
    yield* open(other.link)
    connection.closing = true
    notifications.notify(["a", "b"], updated)
    assert.deepStrictEqual([one.sent.length, other.sent.length], [0, 1])
  })

  it.effect("is encoded once for all recipients", () =>
    Effect.gen(function* () {
      const { notifications, open } = yield* makeParts({ limits: { notificationBacklogBytes: 100 } })
      const [one, other] = [makeLink("a"), makeLink("b")]
      yield* open(one.link)
      yield* open(other.link)
      other.setBacklog(100)
      notifications.notify(["a", "b"], updated)
      assert.strictEqual(one.sent[0]?.body, other.sent[0]?.body)
      assert.isDefined(one.sent[0])
    })
  )

  it.effect("is deferred above the limit of the backlog, and sent with the next one at the limit", () =>
    Effect.gen(function* () {
      const { dropped, metrics } = recordMetrics()
      const { notifications, open } = yield* makeParts({ metrics, limits: { notificationBacklogBytes: 100 } })
      const { link, sent, setBacklog } = makeLink("a")
      yield* open(link)
      setBacklog(101)
      notifications.notify(["a"], updated)
      notifications.notify(["a"], updated)
      assert.deepStrictEqual(eventsOf(sent), [])
      assert.deepStrictEqual(dropped, ["notification"])
      setBacklog(100)
      notifications.notify(["a"], cancelled(1))
      assert.deepStrictEqual(eventsOf(sent), ["notify:update_desktop", "notify:tool_call_cancel"])
    })
  )

  it.effect("is sent at once when the Agent has left, after those that are deferred", () =>
    Effect.gen(function* () {
      const { notifications, open } = yield* makeParts({ limits: { notificationBacklogBytes: 100 } })
      const { link, sent, setBacklog } = makeLink("a")
      const connection = yield* open(link)
      setBacklog(101)
      const membership = { office: "O", role: "agent", name: "ada" } as const
      notifications.notify(["a"], updated)
      notifications.notify(["a"], { _tag: "Entered", membership })
      assert.deepStrictEqual(eventsOf(sent), [])
      notifications.notify(["a"], { _tag: "Left", membership })
      assert.deepStrictEqual(eventsOf(sent), ["notify:update_desktop", "notify:enter_office", "notify:leave_office"])
      assert.isUndefined(connection.notificationBacklog)
    })
  )

  it.effect("closes the connection when it is the 8193rd that is deferred", () => {
    const { entries, layer } = recordLogs()
    return Effect.gen(function* () {
      const { exceeded, metrics } = recordMetrics()
      const { notifications, open } = yield* makeParts({ metrics, limits: { notificationBacklogBytes: 100 } })
      const { closed, link, sent, setBacklog } = makeLink("a")
      yield* open(link)
      setBacklog(101)
      for (let id = 0; id < 8192; id++) notifications.notify(["a"], cancelled(id))
      yield* settle
      assert.deepStrictEqual([closed, exceeded], [[], []])
      notifications.notify(["a"], cancelled(8192))
      yield* settle
      assert.strictEqual(closed.length, 1)
      assert.deepStrictEqual(exceeded, ["notificationBacklogBytes"])
      const [level, , fields] = entries.at(-1) ?? []
      assert.strictEqual(level, "Warn")
      assert.deepInclude<object>(fields as object, { sid: "a", reason: "notification_backlog_exceeded" })
      assert.deepStrictEqual(sent, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("reaches each other node with one message for all of its members", () =>
    Effect.gen(function* () {
      const messages: Array<readonly [string, ReadonlyArray<string>, string, unknown]> = []
      const notify = (node: string, sids: ReadonlyArray<string>, event: string, body: Body) =>
        void messages.push([node, sids, event, Result.getOrThrow(body.value())])
      const {
        nodeLink: { node },
        notifications,
        open
      } = yield* makeParts({}, ({ nodeLink }) => ({
        nodeLink: { ...nodeLink, notify }
      }))
      const here = makeLink("a")
      yield* open(here.link)
      const member = (node: string, sid: string, version = "0.2.0"): Member => ({
        node,
        sid,
        version,
        membership: { office: "O", role: "computer", name: sid },
        joinRevision: 1
      })
      const members = [member("two", "b"), member(node, "a"), member("three", "c", "no version"), member("two", "d")]
      notifications.notifyMembers(members, updated)
      const message = ["notify:update_desktop", { computer: "pc" }] as const
      assert.deepStrictEqual(messages, [
        ["two", ["b", "d"], ...message],
        ["three", ["c"], ...message]
      ])
      assert.strictEqual(here.sent.length, 1)
    })
  )
})
