import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option, Queue, Result, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import type { ComputerOptions } from "../../../../src/application/computer/Computer.ts"
import { makeOfficeConnection } from "../../../../src/application/computer/office/OfficeConnection.ts"
import type { MemberHandlers } from "../../../../src/application/member/OfficeMember.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import {
  type ConnectError,
  type Link,
  TransportClient,
  Unreachable
} from "../../../../src/application/ports/Transport.ts"
import { tool } from "../../../conformance/members.ts"
import { link, startedComputer } from "../testComputer.ts"

const runPending = TestClock.adjust(0)

const handlers: MemberHandlers = {
  onMessage: () => Effect.succeed([]),
  onJoined: Effect.void,
  onLost: () => Effect.void
}

/** An office connection through links that `open` gives, with a function to join an office. */
const connected = Effect.fnUntraced(function* (
  open: Effect.Effect<Link, ConnectError, Scope.Scope> = Effect.succeed(link),
  more: Partial<ComputerOptions> = {}
) {
  const connection = yield* Effect.provideService(makeOfficeConnection({ name: "pc", ...more }), TransportClient, {
    connect: () => open
  })
  const join = (office: string, onJoined: Effect.Effect<unknown> = Effect.void) =>
    connection.join({ office }, () => ({ ...handlers, onJoined: Effect.asVoid(onJoined) }))
  return {
    ...connection,
    join,
    joining: (office: string) => Effect.forkChild(join(office), { startImmediately: true })
  }
})

type Connected = Effect.Success<ReturnType<typeof connected>>

/** Counts the open links. */
const counting = () => {
  const links = { open: 0 }
  const open = Effect.acquireRelease(
    Effect.sync(() => (links.open++, link)),
    () => Effect.sync(() => links.open--)
  )
  return { links, open }
}

describe("OfficeConnection", () => {
  it.effect("joins as a Computer under its name", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const transport = TransportClient.of({
        connect: ({ auth }) => {
          sent.push(auth["role"])
          const request: Link["request"] = (event, body) => {
            sent.push(event, Result.getOrThrow(body.value()))
            return Effect.succeed([jsonBody(true), jsonBody(null)])
          }
          return Effect.succeed({ ...link, request })
        }
      })
      const { join } = yield* Effect.provideService(makeOfficeConnection({ name: "pc" }), TransportClient, transport)
      yield* join({ office: "o" }, () => handlers)
      assert.deepStrictEqual(sent, ["computer", "server:join_office", { role: "computer", name: "pc", office_id: "o" }])
    })
  )

  it.effect("knows its office from the first attempt to join until it leaves", () =>
    Effect.gen(function* () {
      const admitted = yield* Deferred.make<void>()
      const { joining, leave, member, office } = yield* connected(Effect.as(Deferred.await(admitted), link))
      assert.deepStrictEqual([office(), member()], [undefined, undefined])
      const pending = yield* joining("o")
      assert.deepStrictEqual([office(), member()], ["o", undefined])
      yield* Deferred.succeed(admitted, undefined)
      yield* Fiber.join(pending)
      assert.strictEqual(office(), "o")
      assert.isDefined(member())
      yield* leave
      assert.deepStrictEqual([office(), member()], [undefined, undefined])
    })
  )

  it.effect("names the protocol line of its office", () =>
    Effect.gen(function* () {
      const { join, place } = yield* connected(undefined, { protocol: "0.3" })
      yield* join("o")
      assert.deepStrictEqual(place(), { office: "o", line: "0.3" })
    })
  )

  it.effect("has the member when the handler of the join runs", () =>
    Effect.gen(function* () {
      const { join, member } = yield* connected()
      let seen: unknown
      yield* join(
        "o",
        Effect.sync(() => (seen = member()))
      )
      assert.isDefined(seen)
      assert.strictEqual(seen, member())
    })
  )

  it.effect("rejects a second join and keeps the first", () =>
    Effect.gen(function* () {
      const { links, open } = counting()
      const { join, office } = yield* connected(open)
      yield* join("o")
      assert.deepInclude(yield* Effect.flip(join("other")), { _tag: "AlreadyJoined", office: "o" })
      assert.deepStrictEqual([office(), links.open], ["o", 1])
    })
  )

  it.effect("rejects a second join during the first", () =>
    Effect.gen(function* () {
      const { join, joining, office } = yield* connected(Effect.never)
      yield* joining("o")
      assert.deepInclude(yield* Effect.flip(join("other")), { _tag: "AlreadyJoined", office: "o" })
      assert.strictEqual(office(), "o")
    })
  )

  it.effect("allows another join after a failed one", () =>
    Effect.gen(function* () {
      let isReachable = false
      const open = Effect.suspend(() =>
        isReachable ? Effect.succeed(link) : Effect.fail(new Unreachable({ message: "no Server" }))
      )
      const { join, office } = yield* connected(open)
      assert.strictEqual((yield* Effect.flip(join("o")))._tag, "Unreachable")
      assert.isUndefined(office())
      isReachable = true
      yield* join("o2")
      assert.strictEqual(office(), "o2")
    })
  )

  it.effect("closes its link when it leaves", () =>
    Effect.gen(function* () {
      const { links, open } = counting()
      const { join, leave } = yield* connected(open)
      yield* join("o")
      yield* leave
      assert.strictEqual(links.open, 0)
      yield* join("o2")
      assert.strictEqual(links.open, 1)
    })
  )

  it.effect("stays in its next office while the link of the last one closes", () =>
    Effect.gen(function* () {
      let opened = 0
      const closeSlowly = (count: number) => (count === 1 ? Effect.sleep("1 second") : Effect.void)
      const { join, leave, office } = yield* connected(
        Effect.as(
          Effect.acquireRelease(
            Effect.sync(() => ++opened),
            closeSlowly
          ),
          link
        )
      )
      yield* join("o")
      const leaving = yield* Effect.forkChild(leave, { startImmediately: true })
      yield* join("o2")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(leaving)
      assert.strictEqual(office(), "o2")
    })
  )

  it.effect("cancels a join when it leaves", () =>
    Effect.gen(function* () {
      let isInterrupted = false
      const { joining, leave } = yield* connected(
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isInterrupted = true)))
      )
      const pending = yield* joining("o")
      yield* runPending
      yield* leave
      assert.deepInclude(yield* Effect.flip(Fiber.join(pending)), { _tag: "JoinRejected", office: "o" })
      assert.isTrue(isInterrupted)
    })
  )

  it.effect.each([
    ["left", ({ leave }: Connected) => leave],
    ["interrupted", (_: Connected, joining: Fiber.Fiber<unknown, unknown>) => Fiber.interrupt(joining)],
    [
      "left and interrupted",
      ({ leave }: Connected, joining: Fiber.Fiber<unknown, unknown>) =>
        Effect.andThen(Effect.forkChild(leave, { startImmediately: true }), Fiber.interrupt(joining))
    ]
  ] as const)("stays in its next office while a join ends that was %s", ([, end]) =>
    Effect.gen(function* () {
      const closeSlowly = Effect.onInterrupt(Effect.never, () => Effect.sleep("1 second"))
      let opened = 0
      const connection = yield* connected(Effect.suspend(() => (opened++ === 0 ? closeSlowly : Effect.succeed(link))))
      const { join, joining, member, office, place, status } = connection
      const pending = yield* joining("o")
      yield* runPending
      const ending = yield* Effect.forkChild(end(connection, pending), { startImmediately: true })
      yield* join("o2")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ending)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(pending)))
      assert.deepStrictEqual([office(), place()], ["o2", { office: "o2", line: "0.2" }])
      assert.isDefined(member())
      assert.deepStrictEqual(Option.getOrThrow(yield* Stream.runHead(status)), { _tag: "Joined" })
      assert.deepInclude(yield* Effect.flip(join("o3")), { _tag: "AlreadyJoined", office: "o2" })
    })
  )

  it.effect("leaves without effect outside an office", () =>
    Effect.gen(function* () {
      const { join, leave, office } = yield* connected(Effect.succeed(link))
      yield* leave
      yield* join("o")
      assert.strictEqual(office(), "o")
    })
  )

  it.effect("reports its status from the join to the leave", () =>
    Effect.gen(function* () {
      const admitted = yield* Deferred.make<void>()
      const { joining, leave, status } = yield* connected(Effect.as(Deferred.await(admitted), link))
      const seen = yield* Queue.unbounded<string>()
      yield* Effect.forkScoped(Stream.runForEach(status, ({ _tag }) => Queue.offer(seen, _tag)))
      assert.strictEqual(yield* Queue.take(seen), "NotJoined")
      const pending = yield* joining("o")
      yield* runPending
      yield* Deferred.succeed(admitted, undefined)
      yield* Fiber.join(pending)
      assert.strictEqual(yield* Queue.take(seen), "Joined")
      yield* leave
      assert.strictEqual(yield* Queue.take(seen), "NotJoined")
    })
  )

  it.effect("notifies of changes that happened during the join", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("a")] })
      const notified: Array<string> = []
      /** A Server that replies to a join after a second. */
      const transport: TransportClient["Service"] = {
        connect: () =>
          Effect.succeed({
            ...link,
            request: () =>
              alpha
                .setTools([tool("b")])
                .pipe(Effect.andThen(Effect.sleep("1 second")), Effect.as([jsonBody(true), jsonBody(null)])),
            notify: (event) => Effect.sync(() => void notified.push(event))
          })
      }
      const { computer } = yield* startedComputer({ servers: { alpha }, transport })
      yield* Effect.forkScoped(computer.join({ office: "o" }), { startImmediately: true })
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual([[...(yield* computer.catalogue).entries.keys()], notified], [["b"], []])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(notified, ["server:update_tool_list"])
    })
  )
})
