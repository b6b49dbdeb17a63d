import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, Queue, Ref, Scope, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { joinOffice, type OfficeMember } from "../../../src/application/member/OfficeMember.ts"
import {
  AdmissionRejected,
  type ConnectError,
  type Link,
  TransportClient,
  Unreachable
} from "../../../src/application/ports/Transport.ts"
import { buildWorld } from "../../conformance/World.ts"
import { effectWith } from "../../testWith.ts"

const quiet = () => ({
  onMessage: () => Effect.succeed([]),
  onJoined: Effect.void,
  onLost: () => Effect.void
})

type Transport = TransportClient["Service"]

/** Options of a join; the defaults fit most tests. */
interface Joining {
  readonly office?: string
  readonly retryInitialConnect?: boolean
  readonly through?: (transport: Transport) => Transport
}

const same = (transport: Transport): Transport => transport

/** A Server in memory with one office; tests observe and break the connections of its members. */
const place = Effect.gen(function* () {
  const { client } = yield* buildWorld("memory", { limits: { offices: 1 } })
  const { connect } = yield* Effect.provide(TransportClient, client)
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

const test = effectWith(place)

describe("instance secret", () => {
  test("stays the same across rejoins and differs between members", function* ({ join, links }) {
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
})

describe("rejected first join", () => {
  /** Fills the only office of the Server until its member leaves. */
  const crowded = Effect.gen(function* () {
    const { join } = yield* place
    const only = yield* Scope.fork(yield* Effect.scope)
    yield* Scope.provide(join("only", { office: "another" }), only)
    return { join, leave: Scope.close(only, Exit.void) }
  })
  const testCrowded = effectWith(crowded)

  testCrowded("retries a temporary failure with retryInitialConnect", function* ({ join, leave }) {
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

  testCrowded("fails at once on a temporary failure without retryInitialConnect", function* ({ join }) {
    const error = yield* Effect.flip(join("one"))
    assert.strictEqual(error._tag, "JoinRejected")
    assert.strictEqual(error.message, "The Server has as many offices as it may, try again")
  })

  test("fails at once on a permanent failure, with or without retryInitialConnect", function* ({ join }) {
    yield* join("one")
    const error = yield* Effect.flip(join("one", { retryInitialConnect: true }))
    assert.strictEqual(error._tag, "JoinRejected")
    assert.include(error.message, "already exists")
  })
})

describe("rejoin", () => {
  /** A transport that fails with an error while `isDown` is true, and counts the attempts to connect. */
  const failing = Effect.fnUntraced(function* (failure: ConnectError) {
    const { join, links } = yield* place
    const state = { attempts: 0, isDown: false }
    const unreliable = (transport: Transport) =>
      TransportClient.of({
        connect: (request) =>
          Effect.suspend(() => {
            if (!state.isDown) return transport.connect(request)
            state.attempts += 1
            return Effect.fail(failure)
          })
      })
    const lose = Effect.flatMap(Queue.take(links), ({ link }) => link.close("lost"))
    return { join: (name: string) => join(name, { through: unreliable }), lose, state }
  })
  const tagOf = ({ status }: Pick<OfficeMember, "status">) =>
    Effect.map(SubscriptionRef.get(status), ({ _tag }) => _tag)

  it.effect("retries about every ten seconds during a long outage", () =>
    Effect.gen(function* () {
      const { join, lose, state } = yield* failing(new Unreachable({ message: "connection refused" }))
      const member = yield* join("one")
      state.isDown = true
      yield* lose
      yield* TestClock.adjust("1 hour")
      const before = state.attempts
      yield* TestClock.adjust("10 minutes")
      const retries = state.attempts - before
      assert.isAtLeast(retries, 50)
      assert.isAtMost(retries, 75)
      state.isDown = false
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(yield* tagOf(member), "Joined")
    })
  )

  it.effect("logs each reason of an outage once, and again in the next outage", () =>
    Effect.gen(function* () {
      const reasons: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => {
        const [phrase, fields] = [message].flat() as [string, { readonly reason: string }]
        if (phrase === "join failed, retrying") reasons.push(fields.reason)
      })
      const { join, links } = yield* place
      let down: string | undefined
      const through = (transport: Transport) =>
        TransportClient.of({
          connect: (request) =>
            Effect.suspend(() =>
              down === undefined ? transport.connect(request) : Effect.fail(new Unreachable({ message: down }))
            )
        })
      yield* Effect.provide(join("one", { through }), Logger.layer([logger]))
      const outage = Effect.fnUntraced(function* (...phases: ReadonlyArray<string>) {
        const { link } = yield* Queue.take(links)
        ;[down] = phases
        yield* link.close("lost")
        for (const phase of phases) {
          down = phase
          yield* TestClock.adjust("10 minutes")
        }
        down = undefined
        yield* TestClock.adjust("12 seconds")
      })
      yield* outage("connection refused", "status 403", "status 502", "status 403", "connection refused")
      assert.deepStrictEqual(reasons.splice(0), ["connection refused", "status 403", "status 502"])
      yield* outage("status 502")
      assert.deepStrictEqual(reasons, ["status 502"])
    })
  )

  it.effect("waits for a valid certificate in a reconnect, not in the first connect", () =>
    Effect.gen(function* () {
      const reason = "untrusted_certificate"
      const error = new Unreachable({ message: "self-signed", permanent: true, reason })
      const { join, lose, state } = yield* failing(error)
      const member = yield* join("one")
      state.isDown = true
      assert.deepInclude(yield* Effect.flip(join("other")), { reason })
      yield* lose
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* tagOf(member), "Disconnected")
      state.isDown = false
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(yield* tagOf(member), "Joined")
    })
  )

  it.effect.each([
    ["retries while a proxy answers 404", 404, "No A2C-SMCP server is there", "Joined"],
    ["stops after a rejected admission", 401, "no", "Failed"]
  ] as const)("%s", ([, code, message, end]) =>
    Effect.gen(function* () {
      const { join, lose, state } = yield* failing(new AdmissionRejected({ code, message }))
      const member = yield* join("one")
      state.isDown = true
      yield* lose
      yield* TestClock.adjust("1 minute")
      state.isDown = false
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(yield* tagOf(member), end)
    })
  )

  test("delays rejoins after short connections and rejoins at once after a stable one", function* ({ join, links }) {
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
    // In event loop turns, without any time: it waits for ever if the member does.
    yield* Effect.repeat(Effect.andThen(Effect.yieldNow, Ref.get(taken)), { until: (count) => count === good + 1 })
    const next = Effect.andThen(Effect.yieldNow, SubscriptionRef.get(status))
    yield* Effect.repeat(next, { until: ({ _tag }) => _tag === "Joined" })
  })
})
