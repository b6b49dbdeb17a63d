import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Queue, Ref, Scope, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { joinOffice } from "../../../src/application/member/OfficeMember.ts"
import {
  AdmissionRejected,
  type ConnectError,
  type Link,
  TransportClient,
  Unreachable
} from "../../../src/application/ports/Transport.ts"
import { Limits } from "../../../src/application/server/connections/Limits.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Observability } from "../../../src/application/server/observability/Observability.ts"

const quiet = () => ({
  onMessage: () => Effect.succeed([]),
  onJoined: Effect.void,
  onLost: () => Effect.void
})

type Transport = TransportClient["Service"]

/** How somebody joins: what is left out is as in most tests. */
interface Joining {
  readonly office?: string
  readonly retryInitialConnect?: boolean
  readonly through?: (transport: Transport) => Transport
}

const same = (transport: Transport): Transport => transport

/** A Server in memory, with room for one office, whose members' connections can be watched, and broken. */
const place = Effect.gen(function* () {
  const context = yield* Server.layer.pipe(
    Layer.provide(
      Layer.effect(
        Limits,
        Effect.map(Limits, (usual) => ({ ...usual, offices: 1 }))
      )
    ),
    Layer.provideMerge(MemoryTransport.layer()),
    Layer.provide(MemoryCluster.layer),
    Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
    Layer.fresh,
    Layer.build
  )
  const { connect } = Context.get(context, TransportClient)
  const links = yield* Queue.unbounded<{ readonly link: Link; readonly instance: unknown }>()
  const watched = TransportClient.of({
    connect: (request) =>
      Effect.tap(connect(request), (link) => Queue.offer(links, { link, instance: request.auth["instance"] }))
  })
  const join = (name: string, { office = "O", retryInitialConnect = false, through = same }: Joining = {}) =>
    joinOffice({ role: "computer", office, name, retryInitialConnect }, quiet).pipe(
      Effect.provideService(TransportClient, through(watched))
    )
  return { join, links }
})

describe("a member's proof of being the same", () => {
  it.effect("is a secret that it keeps for as long as it lives, and shares with no other", () =>
    Effect.gen(function* () {
      const { join, links } = yield* place
      yield* join("one")
      const first = yield* Queue.take(links)
      yield* first.link.close("lost")
      yield* TestClock.adjust("1 minute")
      const again = yield* Queue.take(links)
      yield* join("other")
      const other = yield* Queue.take(links)
      assert.match(String(first.instance), /^[0-9a-f]{32}$/)
      assert.strictEqual(again.instance, first.instance)
      assert.notStrictEqual(other.instance, first.instance)
    })
  )
})

describe("a member whose first join is refused", () => {
  /** The only office that the Server takes is there, until its member leaves. */
  const crowded = Effect.gen(function* () {
    const { join } = yield* place
    const only = yield* Scope.fork(yield* Effect.scope)
    yield* Scope.provide(join("only", { office: "another" }), only)
    return { join, leave: Scope.close(only, Exit.void) }
  })

  it.effect("for a reason that passes goes on trying, if it is patient", () =>
    Effect.gen(function* () {
      const { join, leave } = yield* crowded
      const joining = yield* Effect.forkChild(join("one", { retryInitialConnect: true }), {
        startImmediately: true
      })
      yield* TestClock.adjust("10 minutes")
      assert.isUndefined(joining.pollUnsafe())
      yield* leave
      yield* TestClock.adjust("12 seconds")
      const { status } = yield* Fiber.join(joining)
      assert.strictEqual((yield* SubscriptionRef.get(status))._tag, "Joined")
    })
  )

  it.effect("for a reason that passes fails at once, if it is not", () =>
    Effect.gen(function* () {
      const { join } = yield* crowded
      const error = yield* Effect.flip(join("one"))
      assert.strictEqual(error._tag, "JoinRefused")
      assert.strictEqual(error.message, "The Server has as many rooms as it may, try again")
    })
  )

  it.effect("for a reason that stays fails at once, patient or not", () =>
    Effect.gen(function* () {
      const { join } = yield* place
      yield* join("one")
      const error = yield* Effect.flip(join("one", { retryInitialConnect: true }))
      assert.strictEqual(error._tag, "JoinRefused")
      assert.include(error.message, "already exists")
    })
  )
})

describe("a member that comes back", () => {
  /** A transport that begins to fail like this when it is told to, and how often it was tried since. */
  const failing = Effect.fnUntraced(function* (failure: ConnectError) {
    const { join, links } = yield* place
    const tried = yield* Ref.make(0)
    const isAway = yield* Ref.make(false)
    const away = (transport: Transport) =>
      TransportClient.of({
        connect: (request) =>
          Effect.flatMap(Ref.get(isAway), (gone) =>
            gone
              ? Effect.andThen(
                  Ref.update(tried, (count) => count + 1),
                  Effect.fail(failure)
                )
              : transport.connect(request)
          )
      })
    return { join: (name: string) => join(name, { through: away }), links, tried, isAway }
  })
  const gone = new Unreachable({ message: "connection refused" })

  it.effect("asks every ten seconds or so, however long the Server has been away", () =>
    Effect.gen(function* () {
      const { isAway, join, links, tried } = yield* failing(gone)
      const { status } = yield* join("one")
      yield* Ref.set(isAway, true)
      yield* (yield* Queue.take(links)).link.close("lost")
      yield* TestClock.adjust("1 hour")
      const before = yield* Ref.get(tried)
      yield* TestClock.adjust("10 minutes")
      const attempts = (yield* Ref.get(tried)) - before
      assert.isAtLeast(attempts, 50)
      assert.isAtMost(attempts, 75)
      yield* Ref.set(isAway, false)
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual((yield* SubscriptionRef.get(status))._tag, "Joined")
    })
  )

  const rejections: ReadonlyArray<readonly [string, AdmissionRejected, "Joined" | "Ended"]> = [
    [
      "does not give up where no Server is found for a while",
      new AdmissionRejected({ code: 404, message: "No A2C-SMCP server is there" }),
      "Joined"
    ],
    ["gives up when it is not let in any more", new AdmissionRejected({ code: 401, message: "no" }), "Ended"]
  ]
  for (const [title, rejection, end] of rejections) {
    it.effect(title, () =>
      Effect.gen(function* () {
        const { isAway, join, links } = yield* failing(rejection)
        const { status } = yield* join("one")
        yield* Ref.set(isAway, true)
        yield* (yield* Queue.take(links)).link.close("lost")
        yield* TestClock.adjust("1 minute")
        yield* Ref.set(isAway, false)
        yield* TestClock.adjust("12 seconds")
        assert.strictEqual((yield* SubscriptionRef.get(status))._tag, end)
      })
    )
  }

  it.effect("takes its time where no connection lasts, and none once one has", () =>
    Effect.gen(function* () {
      const { join, links } = yield* place
      const taken = yield* Ref.make(0)
      const isBad = yield* Ref.make(true)
      const cut = (transport: Transport) =>
        TransportClient.of({
          connect: (request) =>
            Effect.gen(function* () {
              yield* Ref.update(taken, (count) => count + 1)
              const link = yield* transport.connect(request)
              const cutting = Effect.delay(link.close("cut"), "50 millis")
              if (yield* Ref.get(isBad)) yield* Effect.forkScoped(cutting)
              return link
            })
        })
      const { status } = yield* join("one", { through: cut })
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(yield* Ref.get(taken), 2)
      yield* TestClock.adjust("10 minutes")
      const many = yield* Ref.get(taken)
      assert.isAtLeast(many, 50)
      assert.isAtMost(many, 80)
      yield* Ref.set(isBad, false)
      yield* TestClock.adjust("1 minute")
      const last = (yield* Queue.takeAll(links)).at(-1)
      const good = yield* Ref.get(taken)
      yield* last?.link.close("lost") ?? Effect.void
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Ref.get(taken), good + 1)
      assert.strictEqual((yield* SubscriptionRef.get(status))._tag, "Joined")
    })
  )
})
