import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Fiber, Stream, SubscriptionRef } from "effect"
import { allowAll } from "../../src/application/ports/Authenticator.ts"
import { isJsonObject } from "../../src/domain/json.ts"
import { handshake } from "../adapters/auth/handshakes.ts"
import type { Authenticator } from "../../src/application/ports/Authenticator.ts"
import { joinOffice, type MemberOptions, MemberReplaced } from "../../src/application/member/OfficeMember.ts"
import { agentIn, assertDenied, assertRejected, bodiesOf, computerIn, join, settled } from "./joinedMembers.ts"
import { allGrants } from "../../src/domain/model/Identity.ts"
import { conform, type Peer, type World } from "./World.ts"

const instance = "0123456789abcdef0123456789abcdef"

const member = (world: World, role: "agent" | "computer", given: unknown = instance) =>
  world.connect({ auth: { role, instance: given } })

/** The token of a client is its subject. */
const subjectsByToken: Authenticator["Service"] = {
  ...allowAll,
  requiresCredentials: true,
  authenticate: ({ auth }) =>
    Effect.map(allowAll.authenticate(handshake({})), (identity) => ({
      ...identity,
      subject: isJsonObject(auth) ? String(auth["token"]) : ""
    }))
}

describe("takeover of an open connection", () => {
  conform("replaces the old connection and closes it", (world) =>
    Effect.gen(function* () {
      const watcher = yield* computerIn(world, "O1", "watcher")
      const ghost = yield* member(world, "agent")
      yield* join(ghost, "agent", "agent-1", "O1")
      const back = yield* member(world, "agent")
      assert.deepStrictEqual(yield* join(back, "agent", "agent-1", "O1"), [true, null])
      yield* ghost.closed
      yield* settled([back], [watcher])
      assert.deepStrictEqual(
        watcher.received().map(({ event }) => event),
        ["notify:enter_office", "notify:leave_office", "notify:enter_office"]
      )
      assert.deepStrictEqual(bodiesOf(back, "notify:leave_office"), [])
    })
  )

  conform("receives later requests, and ends those of the old connection", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const ghost = yield* member(world, "computer")
      yield* join(ghost, "computer", "pc-1", "O1")
      yield* ghost.answers(() => Effect.never)
      const request = a1.request("client:get_tools", { computer: "pc-1", agent: "agent-1", req_id: "r1" })
      const waiting = yield* Effect.forkChild(request, { startImmediately: true })
      yield* ghost.receive("client:get_tools")
      const back = yield* member(world, "computer")
      yield* back.answers(() => Effect.succeed([{ tools: [], req_id: "r2" }]))
      yield* join(back, "computer", "pc-1", "O1")
      assertRejected(yield* Fiber.join(waiting), 404)
      const again = { computer: "pc-1", agent: "agent-1", req_id: "r2" }
      assert.deepStrictEqual(yield* a1.request("client:get_tools", again), [{ tools: [], req_id: "r2" }])
    })
  )

  conform("requires the secret of the member", (world) =>
    Effect.gen(function* () {
      const first = yield* member(world, "computer")
      yield* join(first, "computer", "pc-1", "O1")
      for (const given of ["guess", "", 7, "x".repeat(1000)]) {
        const other = yield* member(world, "computer", given)
        const [accepted] = yield* join(other, "computer", "pc-1", "O1")
        assert.isFalse(accepted)
      }
    })
  )

  conform(
    "requires the subject of the member beside the secret",
    (world) =>
      Effect.gen(function* () {
        const as = (token: string) => world.connect({ auth: { role: "computer", instance, token } })
        const first = yield* as("alice")
        assert.deepStrictEqual(yield* join(first, "computer", "pc-1", "O1"), [true, null])
        const thief = yield* as("mallory")
        assert.include(assertDenied(yield* join(thief, "computer", "pc-1", "O1")), "already exists")
        assert.deepStrictEqual(yield* join(yield* as("alice"), "computer", "pc-1", "O1"), [true, null])
        yield* first.closed
      }),
    { authenticator: subjectsByToken }
  )

  conform("never reveals or logs the secret", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const ghost = yield* member(world, "computer")
      yield* join(ghost, "computer", "pc-1", "O1")
      yield* join(yield* member(world, "computer"), "computer", "pc-1", "O1")
      const listing = { agent: "agent-1", req_id: "r1", office_id: "O1" }
      const answers = yield* a1.request("server:list_room", listing)
      assert.notInclude(JSON.stringify([answers, a1.received()]), instance)
      for (const { text } of world.logs) assert.notInclude(text, instance)
    })
  )
})

/** Sends a join that asks for the place of the current member. */
const takeOver = (peer: Peer, role: "agent" | "computer", name: string) =>
  peer.request("server:join_office", { role, name, office_id: "O1", take_over: true })

const linesOf = ({ logs }: World, phrase: string) => logs.flatMap(({ text }) => (text.includes(phrase) ? [text] : []))

const quiet = () => ({ onMessage: () => Effect.succeed([]), onJoined: Effect.void, onLost: () => Effect.void })

/** Our client as a member of the office O1. */
const ourMember = (world: World, options: Omit<MemberOptions, "office">) =>
  joinOffice({ office: "O1", ...options }, quiet).pipe(Effect.provide([world.client, world.logging]))

describe("takeover on request", () => {
  conform("replaces a member without authentication only by one of the same name", (world) =>
    Effect.gen(function* () {
      const first = yield* agentIn(world, "O1")
      const other = yield* world.connect({ auth: { role: "agent" } })
      assert.include(assertDenied(yield* join(other, "agent", "agent-1", "O1")), "already has an agent")
      assert.include(assertDenied(yield* takeOver(other, "agent", "agent-2")), "already has an agent")
      assert.deepStrictEqual(yield* takeOver(other, "agent", "agent-1"), [true, null])
      yield* first.receive("notify:session_replaced")
      yield* first.closed
    })
  )

  conform(
    "requires the subject of the member, and not its name",
    (world) =>
      Effect.gen(function* () {
        const as = (token: string) => world.connect({ auth: { role: "agent", token } })
        const first = yield* as("ada")
        assert.deepStrictEqual(yield* join(first, "agent", "one", "O1"), [true, null])
        assert.include(assertDenied(yield* takeOver(yield* as("eve"), "agent", "one")), "already has an agent")
        assert.deepStrictEqual(yield* takeOver(yield* as("ada"), "agent", "two"), [true, null])
        yield* first.closed
      }),
    { authenticator: subjectsByToken }
  )

  conform(
    "also requires the name where all clients have one subject",
    (world) =>
      Effect.gen(function* () {
        const connect = world.connect({ auth: { role: "agent" } })
        const first = yield* connect
        assert.deepStrictEqual(yield* join(first, "agent", "one", "O1"), [true, null])
        assert.include(assertDenied(yield* takeOver(yield* connect, "agent", "two")), "already has an agent")
        assert.deepStrictEqual(yield* takeOver(yield* connect, "agent", "one"), [true, null])
        yield* first.closed
      }),
    {
      authenticator: {
        ...subjectsByToken,
        authenticate: () => Effect.succeed({ subject: "all", isShared: true, grants: allGrants, expiresAt: undefined })
      }
    }
  )

  conform(
    "tells a client that may not join the office nothing about its Agent",
    (world) =>
      Effect.gen(function* () {
        const as = (token: string) => world.connect({ auth: { role: "agent", token } })
        yield* join(yield* as("ada"), "agent", "secret-agent", "O1")
        const denied = assertDenied(yield* takeOver(yield* as("eve"), "agent", "secret-agent"))
        assert.strictEqual(denied, "'eve' may not join office 'O1'")
      }),
    {
      authenticator: {
        ...subjectsByToken,
        authenticate: (handshake) =>
          Effect.map(subjectsByToken.authenticate(handshake), (identity) => ({
            ...identity,
            grants: identity.subject === "eve" ? { ...identity.grants, offices: ["O2"] } : identity.grants
          }))
      }
    }
  )

  conform("rejects a request that is not a boolean", (world) =>
    Effect.gen(function* () {
      const peer = yield* world.connect({ auth: { role: "agent" } })
      const joinWith = (take_over: unknown) =>
        peer.request("server:join_office", { role: "agent", name: "a", office_id: "O1", take_over })
      assert.include(assertDenied(yield* joinWith("yes")), "take_over")
      assert.deepStrictEqual(yield* joinWith(null), [true, null])
    })
  )

  conform("ends our replaced member, which does not rejoin", (world) =>
    Effect.gen(function* () {
      const first = yield* ourMember(world, { role: "agent", name: "one" })
      const second = yield* ourMember(world, { role: "agent", name: "one", takeOver: true })
      const isOver = (status: { readonly _tag: string }) => status._tag === "Failed"
      const [last] = yield* SubscriptionRef.changes(first.status).pipe(
        Stream.filter(isOver),
        Stream.take(1),
        Stream.runCollect
      )
      assert.deepStrictEqual(last, { _tag: "Failed", error: new MemberReplaced({ office: "O1", name: "one" }) })
      yield* world.elapse("1 minute")
      assert.strictEqual((yield* SubscriptionRef.get(second.status))._tag, "Joined")
      assert.strictEqual(world.server.load().connections, 1)
    })
  )

  conform("lets our member wait until the place is free, and logs once what it waits for", (world) =>
    Effect.gen(function* () {
      const first = yield* agentIn(world, "O1")
      const joining = ourMember(world, { role: "agent", name: "two", wait: Duration.infinity })
      const waiting = yield* Effect.forkChild(joining, { startImmediately: true })
      yield* Effect.repeat(Effect.yieldNow, { until: () => linesOf(world, "waiting until").length > 0 })
      yield* world.elapse("1 minute")
      yield* first.close
      yield* world.elapse("1 minute")
      assert.strictEqual((yield* SubscriptionRef.get((yield* Fiber.join(waiting)).status))._tag, "Joined")
      const [line, ...others] = linesOf(world, "waiting until the place is free")
      assert.match(line ?? "", /office: 'O1'.*agent: 'agent-1'.*since: '\d{4}-/s)
      assert.deepStrictEqual(others, [])
    })
  )

  conform("ends the wait of our member after its time", (world) =>
    Effect.gen(function* () {
      yield* computerIn(world, "O1")
      const joining = ourMember(world, { role: "computer", name: "pc-1", wait: Duration.seconds(1) })
      const waiting = yield* Effect.forkChild(Effect.flip(joining), { startImmediately: true })
      yield* Effect.repeat(Effect.yieldNow, { until: () => linesOf(world, "waiting until").length > 0 })
      yield* world.elapse("1 second")
      const error = yield* Fiber.join(waiting)
      assert.isTrue(error._tag === "JoinRejected" && error.current?.name === "pc-1")
    })
  )

  conform(
    "does not let our member wait after another rejection",
    (world) =>
      Effect.gen(function* () {
        yield* computerIn(world, "O1")
        const error = yield* Effect.flip(ourMember(world, { role: "agent", name: "a", wait: Duration.infinity }))
        assert.isTrue(error._tag === "JoinRejected" && error.current === undefined)
      }),
    { limits: { membersPerOffice: 1 } }
  )
})
