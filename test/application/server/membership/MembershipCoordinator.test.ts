import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  membershipLostReason,
  type RegistryChange,
  takeoverReason
} from "../../../../src/application/ports/OfficeRegistry.ts"
import { type ReplyExit, RequestTimeout } from "../../../../src/application/ports/Transport.ts"
import { makeMembershipCoordinator } from "../../../../src/application/server/membership/MembershipCoordinator.ts"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import { settle } from "../../../settle.ts"
import { makeLink, makeParts, recordLogs } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

const start = Effect.fnUntraced(function* (...given: Parameters<typeof makeParts>) {
  const parts = yield* makeParts(...given)
  return { ...parts, coordinator: yield* parts.provide(makeMembershipCoordinator(parts)) }
})

/** A Server whose registry reports the changes that the test announces. */
const startWithChanges = Effect.fnUntraced(function* () {
  let listener: (change: RegistryChange) => void = () => undefined
  const lost: Array<string> = []
  const parts = yield* start({}, ({ nodeLink, registry }) => ({
    registry: { ...registry, subscribe: (given) => Effect.sync(() => void (listener = given)) },
    nodeLink: { ...nodeLink, onNodeLost: (node) => void lost.push(node) }
  }))
  const announce = (change: RegistryChange) =>
    Effect.andThen(
      Effect.sync(() => listener(change)),
      settle
    )
  return { ...parts, announce, report: (change: RegistryChange) => listener(change), lost }
})

const computer = (name: string, office = "O") => ({ role: "computer", name, office }) as const
const join = (sid: string, office = "O") => ({ _tag: "Join", sid, ...computer(sid, office) }) as const

/** A call in an office, and the codes of the errors that ended it. */
const makeCall = (office: string) => {
  const codes: Array<number | undefined> = []
  const codeOf = (exit: ReplyExit | undefined) => {
    const error = exit?._tag === "Failure" ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    return error?._tag === "SendFailed" ? error.error.code : undefined
  }
  const call = new InFlightCall(office, (exit) => void codes.push(codeOf(exit)))
  return { codes, call }
}

const test = effectWith(start())
const testChanges = effectWith(startWithChanges())

describe("the coordinator of memberships", () => {
  it.effect("logs joins and leaves of this node with the member", () => {
    const { entries, layer } = recordLogs()
    return Effect.gen(function* () {
      const { coordinator, open } = yield* start()
      yield* open(makeLink("a").link)
      yield* coordinator.apply(join("a"))
      yield* coordinator.apply({ _tag: "Leave", sid: "a", office: "O" })
      const fields = { sid: "a", line: "0.2", ...computer("a") }
      assert.deepStrictEqual(entries, [
        ["Info", "joined", fields],
        ["Info", "left", fields]
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("completes a join although the notification of another member fails", () => {
    const { entries, layer } = recordLogs()
    return Effect.gen(function* () {
      const { coordinator, open } = yield* start()
      const post = () => {
        throw new Error("no socket")
      }
      yield* open(makeLink("a", { post }).link)
      const watcher = makeLink("b")
      for (const { link } of [watcher, makeLink("c")]) yield* open(link)
      yield* coordinator.apply(join("b", "P"))
      yield* coordinator.apply(join("a"))
      yield* coordinator.apply(join("c"))
      yield* coordinator.apply(join("c", "P"))
      assert.strictEqual(watcher.sent.length, 1)
      assert.deepStrictEqual(
        entries.filter(([level]) => level === "Error").map(([, message]) => message),
        ["membership notification failed", "membership notification failed"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("limits the offices and the members of each", () =>
    Effect.gen(function* () {
      const { coordinator, open } = yield* start({ limits: { offices: 1, membersPerOffice: 2 } })
      for (const sid of ["a", "b", "c"]) yield* open(makeLink(sid).link)
      yield* coordinator.apply(join("a"))
      const reasonOf = (office: string) =>
        Effect.map(Effect.flip(coordinator.apply(join("c", office))), (e) => e.reason)
      assert.strictEqual(yield* reasonOf("P"), "too_many_offices")
      yield* coordinator.apply(join("b"))
      assert.strictEqual(yield* reasonOf("O"), "office_full")
    })
  )

  test("charges a join and a leave by the other members of the office", function* ({ coordinator, limits, open }) {
    for (let other = 0; other < 32; other++) {
      yield* open(makeLink(`other ${other}`).link)
      yield* coordinator.apply(join(`other ${other}`))
    }
    const { bucket } = yield* open(makeLink("a").link)
    yield* coordinator.apply(join("a"))
    assert.strictEqual(bucket.tokens, limits.messageBurst - 2)
    yield* coordinator.apply({ _tag: "Leave", sid: "a", office: "O" })
    assert.strictEqual(bucket.tokens, limits.messageBurst - 4)
  })

  test("ends the calls of the office at once when a member of this node leaves", function* ({ coordinator, open }) {
    const connection = yield* open(makeLink("a").link)
    yield* coordinator.apply(join("a"))
    const [local, inbound, other] = [makeCall("O"), makeCall("O"), makeCall("P")]
    connection.calls.add(local.call).add(other.call)
    connection.inboundCalls.add(inbound.call)
    yield* coordinator.apply({ _tag: "Leave", sid: "a", office: "O" })
    assert.deepStrictEqual([local.codes, inbound.codes, other.codes], [[404], [404], []])
  })

  testChanges(
    "ends the calls to a Computer of another node a second after it has left",
    function* ({ announce, inFlightCalls, open }) {
      const agent = yield* open(makeLink("a").link)
      const [left, other] = [makeCall("O"), makeCall("P")]
      for (const { call } of [left, other]) inFlightCalls.add(agent, "far", call, 0)
      yield* announce({ _tag: "Left", sid: "far", membership: computer("pc"), recipients: ["a"] })
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([left.codes, other.codes], [[], []])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([left.codes, other.codes], [[404], []])
    }
  )

  testChanges("ends all requests of a node that is lost", function* ({ announce, lost }) {
    yield* announce({ _tag: "NodeLost", node: "two" })
    assert.deepStrictEqual(lost, ["two"])
  })

  it.effect("closes an evicted connection with the reason, and ignores one that has closed", () => {
    const { entries, layer } = recordLogs()
    return Effect.gen(function* () {
      const { announce, open } = yield* startWithChanges()
      const { closed, link } = makeLink("a")
      yield* open(link)
      yield* announce({ _tag: "Evicted", sid: "gone", reason: membershipLostReason })
      yield* announce({ _tag: "Evicted", sid: "a", reason: membershipLostReason })
      assert.deepStrictEqual(closed, [membershipLostReason])
      assert.deepStrictEqual(
        entries.map(([level]) => level),
        ["Info", "Info"]
      )
    }).pipe(Effect.provide(layer))
  })
  testChanges(
    "notifies a replaced connection before it closes it, for at most a second",
    function* ({ announce, open }) {
      const { closed, link } = makeLink("a")
      const requests: Array<string> = []
      yield* open({
        ...link,
        request: (event, _, timeout) =>
          Effect.suspend(() => {
            requests.push(event)
            return Effect.delay(Effect.fail(new RequestTimeout({ timeout })), timeout)
          })
      })
      yield* announce({ _tag: "Evicted", sid: "a", reason: takeoverReason })
      assert.deepStrictEqual([requests, closed], [["notify:session_replaced"], []])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(closed, [takeoverReason])
    }
  )

  test("does not notify members that leave together of each other", function* ({ coordinator, open }) {
    const links = ["a", "b", "c"].map((sid) => makeLink(sid))
    const scopes: Array<Scope.Closeable> = []
    for (const { link } of links) {
      const scope = yield* Scope.fork(yield* Effect.scope)
      scopes.push(scope)
      yield* Scope.provide(open(link, coordinator.disconnect), scope)
      yield* coordinator.apply(join(link.id))
    }
    for (const { sent } of links) sent.length = 0
    yield* Effect.forEach(scopes.slice(1), (scope) => Scope.close(scope, Exit.void), { concurrency: "unbounded" })
    assert.deepStrictEqual(
      links.map(({ sent }) => sent.length),
      [2, 0, 0]
    )
  })

  testChanges("lets other work run after a thousand notifications", function* ({ open, report }) {
    const watcher = makeLink("a")
    yield* open(watcher.link)
    const recipients = Array.from({ length: 1000 }, () => "a")
    for (const sid of ["b", "c", "d"]) report({ _tag: "Left", sid, membership: computer(sid), recipients })
    const counts = new Set<number>()
    yield* Effect.sync(() => counts.add(watcher.sent.length)).pipe(
      Effect.andThen(Effect.yieldNow),
      Effect.repeat({ until: () => watcher.sent.length === 3000 })
    )
    counts.add(watcher.sent.length)
    assert.deepStrictEqual([...counts], [0, 1000, 2000, 3000])
  })
})
