import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Latch, Queue, Result, type Scope, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import {
  joinOffice,
  type MemberHandlers,
  type MemberOptions,
  type OfficeMember
} from "../../../src/application/member/OfficeMember.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import {
  type ConnectError,
  type Link,
  type MessageHandler,
  RequestTimeout,
  TransportClient,
  Unreachable,
  VersionRejected
} from "../../../src/application/ports/Transport.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import type { Role } from "../../../src/domain/model/Membership.ts"
import { type LineName, lineNamed, lineNames } from "../../../src/domain/wire/lines.ts"
import { formatVersion, type VersionMismatch } from "../../../src/domain/wire/version.ts"
import { effectWith } from "../../testWith.ts"

interface Opened {
  readonly version: string
  readonly auth: JsonObject
  readonly onMessage: MessageHandler
  readonly lose: Effect.Effect<void>
  readonly sent: ReadonlyArray<ReadonlyArray<unknown>>
}

const valueOf = (body: Body) => Result.getOrUndefined(body.value())
const joined: ReadonlyArray<unknown> = [true, null]
const proving: ReadonlyArray<unknown> = [true, null, { a2c_features: ["operator_names"] }]

/** A Server that records what a member sends, and acknowledges its joins with these values, one after the other. */
const makeServer = Effect.fnUntraced(function* ({
  accepts = () => undefined,
  acks = [],
  admission = Effect.void
}: {
  readonly acks?: ReadonlyArray<ReadonlyArray<unknown>>
  /** Precedes the acknowledgement of each join. */
  readonly admission?: Effect.Effect<void>
  readonly accepts?: (version: string) => ConnectError | undefined
} = {}) {
  const links = yield* Queue.unbounded<Opened>()
  const closes: Array<string> = []
  const tried: Array<string> = []
  const left = [...acks]
  const transport = TransportClient.of({
    connect: Effect.fnUntraced(function* ({ auth, onMessage, version }) {
      tried.push(version)
      const rejection = accepts(version)
      if (rejection !== undefined) return yield* rejection
      const closed = yield* Deferred.make<string>()
      const sent: Array<ReadonlyArray<unknown>> = []
      const link: Pick<Link, "request" | "notify" | "closed" | "close" | "maxBytes" | "fits"> = {
        request: Effect.fnUntraced(function* (event, body, timeout, extend) {
          sent.push([event, valueOf(body), Duration.toSeconds(timeout), ...(extend === undefined ? [] : [extend])])
          const isJoin = event === "server:join_office"
          if (isJoin) {
            const orElse = () => Effect.fail(new RequestTimeout({ timeout }))
            yield* Effect.timeoutOrElse(admission, { duration: timeout, orElse })
          }
          return (isJoin ? (left.shift() ?? joined) : ["reply"]).map((value) => jsonBody(value))
        }),
        notify: (event, body) => Effect.sync(() => void sent.push([event, valueOf(body)])),
        closed: Deferred.await(closed),
        close: (reason) =>
          Effect.suspend(() => {
            closes.push(reason)
            return Effect.asVoid(Deferred.succeed(closed, reason))
          }),
        maxBytes: () => 77,
        fits: () => false
      }
      yield* Queue.offer(links, { version, auth, onMessage, sent, lose: link.close("lost") })
      return link as Link
    })
  })
  const join = (
    options: Partial<MemberOptions> & { readonly instance?: string } = {},
    handlers: Partial<MemberHandlers> = {},
    onMember: (member: OfficeMember) => void = () => undefined
  ): Effect.Effect<
    Effect.Success<ReturnType<typeof joinOffice>>,
    Effect.Error<ReturnType<typeof joinOffice>>,
    Scope.Scope
  > =>
    joinOffice({ role: "computer", office: "O", name: "pc", instance: "secret", ...options }, (member) => {
      onMember(member)
      return {
        onMessage: () => Effect.succeed([]),
        onJoined: Effect.void,
        onLost: () => Effect.void,
        ...handlers
      }
    }).pipe(Effect.provideService(TransportClient, transport))
  const opened = Queue.take(links)
  /** Loses the connection, and gives the next one. */
  const rejoin = (link: Opened) => Effect.andThen(Effect.andThen(link.lose, TestClock.adjust("1 minute")), opened)
  return { closes, join, opened, rejoin, tried }
})

const roles: ReadonlyArray<Role> = ["agent", "computer"]
const rows = lineNames.flatMap((line) => roles.map((role) => [line, role] as const))
const versionOf = (name: LineName) => formatVersion(lineNamed(name).version)

const test = effectWith(makeServer())

describe.each(rows)("on line %s, a member with the role %s", (protocol, role) => {
  test("states the same at each connection, and takes a place over only at its first join", function* (server) {
    const { join, opened, rejoin } = server
    yield* join({ protocol, role, takeOver: true, features: ["inspection", "approvals"] })
    const first = yield* opened
    const second = yield* rejoin(first)
    const third = yield* rejoin(second)
    const auth = {
      ...(lineNamed(protocol).hasRoleInHandshake && { role }),
      instance: "secret",
      a2c_features: ["inspection", "approvals"]
    }
    const request = lineNamed(protocol).serverRequests.join.request
    const terms = { role, name: "pc", officeId: "O" }
    for (const [index, link] of [first, second, third].entries()) {
      assert.deepStrictEqual([link.version, link.auth], [versionOf(protocol), auth])
      const body = request.encode(index === 0 ? { ...terms, takeOver: true } : terms)
      assert.deepStrictEqual(link.sent, [["server:join_office", body, 20]])
    }
  })

  test("announces nothing by default", function* ({ join, opened }) {
    yield* join({ protocol, role })
    assert.notProperty((yield* opened).auth, "a2c_features")
  })

  test("sends only what its role may, and passes the rest of a request on", function* ({ join, opened }) {
    const member = yield* join({ protocol, role })
    const { sent } = yield* opened
    const line = lineNamed(protocol)
    const { calls, callStatus, cancel, serverRequests, updates } = line
    const definitions = [
      ...[...Object.values(calls), ...Object.values(serverRequests), ...Object.values(updates), cancel, callStatus]
        .flatMap((definition) => definition ?? [])
        .map(({ event }) => event),
      "client:unknown",
      "notify:enter_office",
      "constructor"
    ]
    const extend = (() => undefined) as never
    for (const event of definitions) {
      const before = sent.length
      const from = line.findEventDefinition(event)?.from
      const mayNot = ["NotPermitted", `A member with the role ${role} may not send ${JSON.stringify(event)}`]
      const sending: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string; readonly message?: string }>> = [
        member.request(event, jsonBody({ a: 1 }), Duration.seconds(3), extend),
        member.notify(event, jsonBody({ a: 1 }))
      ]
      const outcomes = yield* Effect.forEach(sending, (one) =>
        Effect.match(one, { onSuccess: () => ["sent"], onFailure: ({ _tag, message = "" }) => [_tag, message] })
      )
      const isPermitted = from === role || from === "member"
      assert.deepStrictEqual(outcomes, isPermitted ? [["sent"], ["sent"]] : [mayNot, mayNot])
      assert.deepStrictEqual(
        sent.slice(before),
        isPermitted
          ? [
              [event, { a: 1 }, 3, extend],
              [event, { a: 1 }]
            ]
          : []
      )
    }
  })

  it.effect("has no limits and sends nothing while it is disconnected, and again after its rejoin", () =>
    Effect.gen(function* () {
      let isDown = false
      const accepts = () => (isDown ? new Unreachable({ message: "down" }) : undefined)
      const { join, opened } = yield* makeServer({ acks: [proving, joined], accepts })
      const lost: Array<string> = []
      const member = yield* join({ protocol, role }, { onLost: (reason) => Effect.sync(() => void lost.push(reason)) })
      const event = lineNamed(protocol).serverRequests.leave.event
      const state = Effect.gen(function* () {
        const sent = yield* Effect.result(member.request(event, jsonBody({}), Duration.seconds(1)))
        const status = yield* SubscriptionRef.get(member.status)
        return {
          limits: [member.maxBytes(), member.fits(jsonBody({}))],
          status,
          sent: Result.isSuccess(sent) ? sent.success.map(valueOf) : Object(sent.failure).message,
          proves: member.provesOperators()
        }
      })
      const connected = { limits: [77, false], status: { _tag: "Joined" }, sent: ["reply"] }
      assert.deepStrictEqual<unknown>(yield* state, { ...connected, proves: true })
      const link = yield* opened
      isDown = true
      yield* link.lose
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual<unknown>(yield* state, {
        limits: [Number.POSITIVE_INFINITY, true],
        status: { _tag: "Disconnected", reason: "lost" },
        sent: "Connection closed: not connected",
        proves: false
      })
      assert.deepStrictEqual(lost, ["lost"])
      isDown = false
      yield* TestClock.adjust("1 minute")
      yield* opened
      assert.deepStrictEqual<unknown>(yield* state, { ...connected, proves: false })
    })
  )

  it.effect("sends nothing before each of its joins is accepted", () =>
    Effect.gen(function* () {
      const admitted = yield* Latch.make()
      const { join, opened } = yield* makeServer({ admission: admitted.await })
      const joining = yield* Effect.forkChild(join({ protocol, role }))
      const first = yield* opened
      yield* TestClock.adjust("1 second")
      assert.lengthOf(first.sent, 1)
      yield* admitted.open
      const member = yield* Fiber.join(joining)
      const { event } = lineNamed(protocol).serverRequests.leave
      const sending = [member.request(event, jsonBody({}), Duration.seconds(1)), member.notify(event, jsonBody({}))]
      const outcomes = Effect.forEach(sending, (one: Effect.Effect<unknown, unknown>) =>
        Effect.match(one, { onSuccess: () => "sent", onFailure: (error) => Object(error).message as unknown })
      )
      yield* admitted.close
      yield* first.lose
      yield* TestClock.adjust("1 minute")
      const second = yield* opened
      const notConnected = "Connection closed: not connected"
      assert.deepStrictEqual(yield* outcomes, [notConnected, notConnected])
      assert.deepStrictEqual(
        [member.maxBytes(), yield* SubscriptionRef.get(member.status)],
        [Number.POSITIVE_INFINITY, { _tag: "Disconnected", reason: "lost" }]
      )
      assert.deepStrictEqual(
        second.sent.map(([sent]) => sent),
        ["server:join_office"]
      )
      yield* admitted.open
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* outcomes, ["sent", "sent"])
    })
  )

  it.effect("sends from its handler of each join, not from those of each connection and each loss", () =>
    Effect.gen(function* () {
      const { event } = lineNamed(protocol).serverRequests.leave
      const seen: Array<unknown> = []
      let member: OfficeMember | undefined
      const note = (handler: string) =>
        Effect.gen(function* () {
          if (member === undefined) return assert.fail("no member")
          const sent = yield* Effect.result(member.request(event, jsonBody({}), Duration.seconds(1)))
          seen.push([handler, (yield* SubscriptionRef.get(member.status))._tag, Result.isSuccess(sent)])
        })
      const { join, opened, rejoin } = yield* makeServer()
      yield* join(
        { protocol, role },
        { onConnected: note("connected"), onJoined: note("joined"), onLost: () => note("lost") },
        (made) => (member = made)
      )
      const round = [
        ["connected", "Disconnected", false],
        ["joined", "Joined", true]
      ]
      assert.deepStrictEqual(seen.splice(0), round)
      yield* rejoin(yield* opened)
      assert.deepStrictEqual(seen, [["lost", "Disconnected", false], ...round])
    })
  )

  test("passes every message on with its reply, but the one that it was replaced", function* ({ join, opened }) {
    const seen: Array<unknown> = []
    const onMessage: MessageHandler = (event, body) =>
      Effect.sync(() => {
        seen.push([event, valueOf(body)])
        return [jsonBody(event)]
      })
    const lost: Array<string> = []
    const onLost = (reason: string) => Effect.sync(() => void lost.push(reason))
    const { status } = yield* join({ protocol, role }, { onMessage, onLost })
    const link = yield* opened
    const reply = yield* link.onMessage("notify:any", jsonBody({ a: 1 }))
    assert.deepStrictEqual([reply.map(valueOf), seen], [["notify:any"], [["notify:any", { a: 1 }]]])
    assert.deepStrictEqual(yield* link.onMessage(lineNamed(protocol).replacedEvent, jsonBody({})), [])
    assert.lengthOf(seen, 1)
    yield* link.lose
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(lost, ["lost"])
    const last = yield* SubscriptionRef.get(status)
    assert.strictEqual(last._tag, "Failed")
    if (last._tag === "Failed")
      assert.deepStrictEqual(
        [last.error._tag, last.error.message],
        ["MemberReplaced", "Replaced in office 'O': another connection of the same identity took over from 'pc'"]
      )
  })

  it.effect("closes a connection whose join is not acknowledged within 20 seconds, and joins over another one", () =>
    Effect.gen(function* () {
      const admitted = yield* Latch.make()
      const { closes, join, opened } = yield* makeServer({ admission: admitted.await })
      const joining = yield* Effect.forkChild(join({ protocol, role, retryInitialConnect: true }))
      yield* opened
      yield* TestClock.adjust("19999 millis")
      assert.deepStrictEqual(closes, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(closes, ["join_timeout"])
      yield* admitted.open
      yield* TestClock.adjust("1 minute")
      yield* opened
      assert.deepStrictEqual(yield* SubscriptionRef.get((yield* Fiber.join(joining)).status), { _tag: "Joined" })
    })
  )

  const taken =
    role === "agent"
      ? "Room already has an agent: office 'O' has the Agent 'ada', connected since 2026-01-02T03:04:05.000Z"
      : "Computer with name 'pc' already exists in room 'O': office 'O' has the Computer 'pc', connected since 2026-01-02T03:04:05.000Z"
  const current = { name: role === "agent" ? "ada" : "pc", joinedAt: Date.UTC(2026, 0, 2, 3, 4, 5) }

  it.effect("tells which member is at its place", () =>
    Effect.gen(function* () {
      const { join } = yield* makeServer({ acks: [[false, taken]] })
      const error = yield* Effect.flip(join({ protocol, role }))
      assert.deepInclude(Object(error), { _tag: "JoinRejected", office: "O", message: taken, current })
    })
  )

  it.effect("tries to take its place for the last time when its wait ends", () =>
    Effect.gen(function* () {
      const { join, tried } = yield* makeServer({ acks: Array.from({ length: 100 }, () => [false, taken]) })
      const wait = Duration.seconds(3)
      const joining = yield* Effect.forkChild(Effect.flip(join({ protocol, role, wait })))
      yield* TestClock.adjust("2999 millis")
      const before = tried.length
      assert.isAtLeast(before, 3)
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(Object(yield* Fiber.join(joining)), { _tag: "JoinRejected", current })
      assert.lengthOf(tried, before + 1)
    })
  )
})

describe("a member that takes the newest line", () => {
  const mismatch = (min: string, max: string): VersionMismatch =>
    ({ client_version: "0.4.0", min_supported: min, max_supported: max }) as VersionMismatch
  const rejection = (range?: VersionMismatch) => new VersionRejected({ message: "mismatch", mismatch: range })
  const [oldest = "", middle = "", newest = ""] = lineNames.map(versionOf)

  it.effect.each([
    ["all lines", [oldest, middle, newest], undefined, [newest]],
    ["an older line, which it names", [oldest], mismatch("0.2.0", "0.2.9"), [newest, oldest]],
    ["older lines, of which it names one", [oldest, middle], mismatch("0.3.0", "0.3.9"), [newest, middle]],
    ["an older line, without naming it", [oldest], undefined, [newest, middle, oldest]],
    ["lines that it names, but not the newer one", [oldest], mismatch("0.2.0", "0.3.9"), [newest, middle, oldest]]
  ] as const)("joins a Server of %s, and rejoins on the same line", ([, versions, range, expected]) =>
    Effect.gen(function* () {
      const accepts = (version: string) =>
        (versions as ReadonlyArray<string>).includes(version) ? undefined : rejection(range)
      const { join, opened, rejoin, tried } = yield* makeServer({ accepts })
      const member = yield* join({ protocol: "auto" })
      const last = expected.at(-1) ?? ""
      assert.strictEqual(formatVersion(member.line.version), last)
      const link = yield* opened
      assert.deepStrictEqual([link.version, tried], [last, [...expected]])
      yield* rejoin(link)
      assert.deepStrictEqual(tried, [...expected, last])
    })
  )

  it.effect("tries the newest line first again after a failed connection", () =>
    Effect.gen(function* () {
      let error: ConnectError | undefined = new Unreachable({ message: "down" })
      const accepts = (version: string) => error ?? (version === oldest ? undefined : rejection())
      const { join, opened, tried } = yield* makeServer({ accepts })
      const joining = yield* Effect.forkChild(join({ protocol: "auto", retryInitialConnect: true }))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(tried.splice(0), [newest])
      error = undefined
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([tried, (yield* opened).version], [[newest, middle, oldest], oldest])
      assert.strictEqual(formatVersion((yield* Fiber.join(joining)).line.version), oldest)
    })
  )

  it.effect.each([
    ["that names no lines", undefined, [newest, middle, oldest]],
    ["of other lines", mismatch("0.9.0", "0.9.9"), [newest]]
  ] as const)("fails with the last rejection at a Server %s", ([, range, expected]) =>
    Effect.gen(function* () {
      const error = rejection(range)
      const { join, tried } = yield* makeServer({ accepts: () => error })
      const joining = yield* Effect.forkChild(Effect.flip(join({ protocol: "auto" })))
      assert.strictEqual(yield* Fiber.join(joining), error)
      assert.deepStrictEqual(tried, [...expected])
    })
  )
})
