import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Queue, Result, type Scope, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { joinOffice, type MemberHandlers, type MemberOptions } from "../../../src/application/member/OfficeMember.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import {
  type ConnectError,
  type Link,
  type MessageHandler,
  TransportClient,
  Unreachable,
  VersionRejected
} from "../../../src/application/ports/Transport.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import type { Role } from "../../../src/domain/model/Membership.ts"
import { type LineName, lineNamed, lineNames } from "../../../src/domain/wire/lines.ts"
import { formatVersion, type VersionMismatch } from "../../../src/domain/wire/version.ts"

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
  acks = []
}: {
  readonly acks?: ReadonlyArray<ReadonlyArray<unknown>>
  readonly accepts?: (version: string) => ConnectError | undefined
} = {}) {
  const links = yield* Queue.unbounded<Opened>()
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
        request: (event, body, timeout, extend) =>
          Effect.sync(() => {
            sent.push([event, valueOf(body), Duration.toSeconds(timeout), ...(extend === undefined ? [] : [extend])])
            const values = event === "server:join_office" ? (left.shift() ?? joined) : ["reply"]
            return values.map((value) => jsonBody(value))
          }),
        notify: (event, body) => Effect.sync(() => void sent.push([event, valueOf(body)])),
        closed: Deferred.await(closed),
        close: (reason) => Effect.asVoid(Deferred.succeed(closed, reason)),
        maxBytes: () => 77,
        fits: () => false
      }
      yield* Queue.offer(links, { version, auth, onMessage, sent, lose: link.close("lost") })
      return link as Link
    })
  })
  const join = (
    options: Partial<MemberOptions> & { readonly instance?: string } = {},
    handlers: Partial<MemberHandlers> = {}
  ): Effect.Effect<
    Effect.Success<ReturnType<typeof joinOffice>>,
    Effect.Error<ReturnType<typeof joinOffice>>,
    Scope.Scope
  > =>
    joinOffice({ role: "computer", office: "O", name: "pc", instance: "secret", ...options }, () => ({
      onMessage: () => Effect.succeed([]),
      onJoined: Effect.void,
      onLost: () => Effect.void,
      ...handlers
    })).pipe(Effect.provideService(TransportClient, transport))
  const opened = Queue.take(links)
  /** Loses the connection, and gives the next one. */
  const rejoin = (link: Opened) => Effect.andThen(Effect.andThen(link.lose, TestClock.adjust("1 minute")), opened)
  return { join, opened, rejoin, tried }
})

const roles: ReadonlyArray<Role> = ["agent", "computer"]
const rows = lineNames.flatMap((line) => roles.map((role) => [line, role] as const))
const versionOf = (name: LineName) => formatVersion(lineNamed(name).version)

describe.each(rows)("on line %s, a member with the role %s", (protocol, role) => {
  it.effect("states the same at each connection, and takes a place over only at its first join", () =>
    Effect.gen(function* () {
      const { join, opened, rejoin } = yield* makeServer()
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
  )

  it.effect("announces nothing by default", () =>
    Effect.gen(function* () {
      const { join, opened } = yield* makeServer()
      yield* join({ protocol, role })
      assert.notProperty((yield* opened).auth, "a2c_features")
    })
  )

  it.effect("sends only what its role may, and passes the rest of a request on", () =>
    Effect.gen(function* () {
      const { join, opened } = yield* makeServer()
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
  )

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

  it.effect("passes every message on with its reply, but the one that it was replaced", () =>
    Effect.gen(function* () {
      const { join, opened } = yield* makeServer()
      const seen: Array<unknown> = []
      const onMessage: MessageHandler = (event, body) =>
        Effect.sync(() => {
          seen.push([event, valueOf(body)])
          return [jsonBody(event)]
        })
      const { status } = yield* join({ protocol, role }, { onMessage })
      const link = yield* opened
      const reply = yield* link.onMessage("notify:any", jsonBody({ a: 1 }))
      assert.deepStrictEqual([reply.map(valueOf), seen], [["notify:any"], [["notify:any", { a: 1 }]]])
      assert.deepStrictEqual(yield* link.onMessage(lineNamed(protocol).replacedEvent, jsonBody({})), [])
      assert.lengthOf(seen, 1)
      yield* link.lose
      yield* TestClock.adjust("1 minute")
      const last = yield* SubscriptionRef.get(status)
      assert.strictEqual(last._tag, "Failed")
      if (last._tag === "Failed")
        assert.deepStrictEqual(
          [last.error._tag, last.error.message],
          ["MemberReplaced", "Replaced in office 'O': another connection of the same identity took over from 'pc'"]
        )
    })
  )

  it.effect("tells which member is at its place", () =>
    Effect.gen(function* () {
      const taken =
        role === "agent"
          ? "Room already has an agent: office 'O' has the Agent 'ada', connected since 2026-01-02T03:04:05.000Z"
          : "Computer with name 'pc' already exists in room 'O': office 'O' has the Computer 'pc', connected since 2026-01-02T03:04:05.000Z"
      const { join } = yield* makeServer({ acks: [[false, taken]] })
      const error = yield* Effect.flip(join({ protocol, role }))
      const current = { name: role === "agent" ? "ada" : "pc", joinedAt: Date.UTC(2026, 0, 2, 3, 4, 5) }
      assert.deepInclude(Object(error), { _tag: "JoinRejected", office: "O", message: taken, current })
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
