import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { createClient } from "redis"
import { afterAll, beforeAll } from "vitest"
import { type ScriptName, luaScripts } from "../../../../src/adapters/redis/registry/luaScripts.ts"
import { startRedis, withoutRedis } from "../../../fixtures/redis.ts"

const scope = Scope.makeUnsafe()
let url = ""

beforeAll(async () => {
  url = (await Effect.runPromise(Scope.provide(startRedis, scope))).url
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** In milliseconds. */
const lease = 3000
const gracePeriod = 1000

const unbounded = String(Number.MAX_SAFE_INTEGER)

const never = 1e15

interface Message {
  readonly office?: string
  readonly from?: number
  readonly to?: number
  readonly entered?: { readonly sid: string; readonly since: number }
  readonly left?: { readonly sid: string; readonly field: string; readonly replaced: boolean }
  readonly all?: ReadonlyArray<{ readonly sid: string }>
  readonly gone?: string
}

/** A message as a short text. */
const formatMessage = ({ all, entered, gone, left, office }: Message): string => {
  if (entered !== undefined) return `+${entered.sid}@${office}`
  if (left !== undefined) return `-${left.sid}:${left.field}@${office}${left.replaced ? " replaced" : ""}`
  return gone === undefined
    ? `${office}=${all
        ?.map(({ sid }) => sid)
        .toSorted()
        .join()}`
    : `gone ${gone}`
}

const connected = Effect.acquireRelease(
  Effect.promise(() => createClient({ url }).connect()),
  (client) => Effect.sync(() => client.destroy())
)

/** A membership. The field of an Agent is `a`, that of a Computer `c` and its name. */
interface Place {
  readonly sid: string
  readonly office: string
  readonly field: string
  readonly reconnectKey?: string
  /** The name of an Agent, which its field does not contain. */
  readonly name?: string
  /** The fields that nodes of older versions do not write. */
  readonly newer?: { readonly at: number; readonly owner: string }
}

const addressOf = (node: string): string => `tcp://${node}`

const nameOf = ({ field, name }: Place) => name ?? field.slice(1)

const memberOf = (node: string, place: Place): string =>
  JSON.stringify({
    sid: place.sid,
    node,
    version: "0.2.0",
    seat: {
      office: place.office,
      role: place.field === "a" ? "agent" : "computer",
      name: nameOf(place)
    },
    ...place.newer
  })

/** The keys of one cluster, its scripts, and the messages of its nodes. */
const cluster = Effect.gen(function* () {
  const prefix = `{${crypto.randomUUID()}}:`
  const client = yield* connected
  const subscriber = yield* connected
  let received: Array<readonly [node: string, message: Message]> = []
  const markers = new Map<string, () => void>()
  yield* Effect.promise(() =>
    subscriber.pSubscribe(`${prefix}to:*`, (text, channel) => {
      const node = channel.slice(`${prefix}to:`.length)
      const marker = markers.get(text)
      if (marker !== undefined) return marker()
      received.push([node, JSON.parse(text)])
    })
  )
  const run = (name: ScriptName, ...args: ReadonlyArray<string | number>) =>
    Effect.promise(() => client.eval(luaScripts[name], { keys: [prefix], arguments: args.map(String) }))
  /** All messages since the last call. */
  const messages = Effect.promise(async () => {
    const marker = crypto.randomUUID()
    const arrived = new Promise<void>((resolve) => markers.set(marker, resolve))
    await client.publish(`${prefix}to:marker`, marker)
    await arrived
    const messages = received
    received = []
    return messages
  })
  const key = (name: string) => `${prefix}${name}`
  return {
    client,
    key,
    run,
    messages,
    /** All messages since the last call, as `node: text`. */
    published: Effect.map(messages, (all) => all.map(([node, message]) => `${node}: ${formatMessage(message)}`)),
    /** Reconciles a node with its members. */
    reconcile: (
      name: string,
      {
        pending = [],
        highest = 0,
        joined = []
      }: {
        readonly highest?: number
        readonly joined?: ReadonlyArray<Place>
        readonly pending?: ReadonlyArray<string>
      } = {}
    ) =>
      run(
        "reconcile",
        name,
        addressOf(name),
        lease,
        highest,
        gracePeriod,
        joined.length,
        ...joined.flatMap((one) => [one.sid, one.office, one.field, memberOf(name, one), one.reconnectKey ?? ""]),
        ...pending
      ),
    join: (
      node: string,
      place: Place,
      {
        expiresAt = never,
        members = unbounded,
        offices = unbounded,
        takeOver = "0"
      }: {
        readonly offices?: string
        readonly members?: string
        readonly expiresAt?: number
        readonly takeOver?: "0" | "1"
      } = {}
    ) => {
      const { field, reconnectKey = "", office, sid } = place
      const args = [sid, office, field, nameOf(place), memberOf(node, place), reconnectKey]
      const joined = run("join", node, ...args, offices, members, expiresAt, takeOver)
      return Effect.map(joined, (reply) => (Array.isArray(reply) ? reply.map(String).join(" ").trimEnd() : reply))
    },
    renew: (node: string) =>
      Effect.map(run("renew", node, lease), (renewed) => renewed as [state: string, count: number, now: number]),
    /** The sessions in an office. */
    sessionsIn: (office: string) =>
      Effect.map(
        Effect.promise(() => client.hVals(key(`office:${office}`))),
        (values) => values.map((value) => String(JSON.parse(value.slice(value.indexOf(" "))).sid)).toSorted()
      ),
    /** The time of Redis in milliseconds. */
    now: Effect.map(
      Effect.promise(() => client.sendCommand<[string, string]>(["TIME"])),
      ([seconds, micros]) => Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    ),
    get: (name: string) =>
      Effect.map(
        Effect.promise(() => client.get(key(name))),
        Number
      ),
    set: (name: string, value: number) => Effect.promise(() => client.set(key(name), value.toFixed(0))),
    leaseOf: (node: string) => Effect.promise(() => client.zScore(key("nodes"), node)),
    endLease: (node: string, at: number) => Effect.promise(() => client.zAdd(key("nodes"), { value: node, score: at }))
  }
})

type Cluster = Effect.Success<typeof cluster>

const check = (title: string, body: (of: Cluster) => Effect.Effect<void>) =>
  it.live.skipIf(withoutRedis)(title, () => Effect.scoped(Effect.flatMap(cluster, body)))

const agent: Place = { sid: "a", office: "O", field: "a", name: "thinker" }
const desk: Place = { sid: "d", office: "O", field: "cdesk" }
const shelf: Place = { sid: "s", office: "O", field: "cshelf" }
const elsewhere: Place = { sid: "e", office: "P", field: "cdesk" }

/** Two nodes: n1 has an Agent in the office O, n2 a Computer. */
const pair = Effect.fnUntraced(function* (of: Cluster) {
  yield* of.reconcile("n1")
  yield* of.reconcile("n2")
  yield* of.join("n1", agent)
  yield* of.join("n2", desk)
  yield* of.messages
})

describe("script join", () => {
  check("rejects a node that has not reconciled", (of) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* of.join("n1", agent), "unknown_node")
      assert.deepStrictEqual(yield* of.sessionsIn("O"), [])
    })
  )

  check("does nothing after the request has expired", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      const now = yield* of.now
      assert.strictEqual(yield* of.join("n1", agent, { expiresAt: now - 1 }), "expired")
      assert.deepStrictEqual(yield* of.sessionsIn("O"), [])
      assert.strictEqual(yield* of.join("n1", agent, { expiresAt: now + lease }), "joined")
    })
  )

  check("publishes a snapshot for the first member of a node, and the change to other nodes", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.reconcile("n2")
      yield* of.join("n1", agent)
      yield* of.join("n2", desk)
      yield* of.join("n2", shelf)
      assert.deepStrictEqual(yield* of.published, [
        "n1: O=a",
        "n1: +d@O",
        "n2: O=a,d",
        ...["n1: +s@O", "n2: +s@O"].toSorted()
      ])
    })
  )

  check("publishes the previous revision of each change, and the join revision of each member", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n1", elsewhere)
      const [[, first] = []] = yield* of.messages
      assert.strictEqual(first?.to, yield* of.get("rev"), "also the revision of the snapshot")
      yield* of.join("n2", shelf)
      yield* of.run("leave", "n2", "s")
      const [entered, left] = (yield* of.messages).flatMap(([node, message]) =>
        node === "n1" && message.from !== undefined ? [message] : []
      )
      assert.strictEqual(entered?.entered?.since, entered?.to)
      assert.strictEqual(left?.from, entered?.to)
      assert.isAbove(left?.to ?? 0, entered?.to ?? 0)
      assert.isBelow(entered?.from ?? 0, (entered?.to ?? 0) - 1, "the change of another office is in between")
    })
  )

  check("formats large revisions without an exponent", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.set("rev", 3e15)
      yield* of.join("n1", agent)
      const [, asOf, revision] = (yield* of.run("snapshot", "n1", "O")) as Array<string>
      assert.deepStrictEqual([asOf, revision], ["3000000000000001", "3000000000000001"])
    })
  )

  check("changes nothing when the session has joined already", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      assert.strictEqual(yield* of.join("n1", agent), "joined")
      assert.deepStrictEqual(yield* of.published, [])
    })
  )

  check("requires the reconnect key for a takeover", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.join("n1", { ...agent, reconnectKey: "h" })
      yield* of.join("n1", desk)
      const take = (place: Place, more: Partial<Place>) => of.join("n1", { ...place, sid: "new", ...more })
      assert.strictEqual(yield* take(agent, {}), "taken thinker", "without a key")
      assert.strictEqual(yield* take(agent, { reconnectKey: "other" }), "taken thinker", "with another key")
      assert.strictEqual(yield* take(agent, { reconnectKey: "h", name: "other" }), "taken thinker", "with another name")
      assert.strictEqual(yield* take(desk, {}), "taken desk", "an empty key proves nothing")
      assert.strictEqual(yield* take(agent, { reconnectKey: "h" }), "joined")
      assert.deepStrictEqual(yield* of.sessionsIn("O"), ["d", "new"])
    })
  )

  const wideDesk: Place = { ...desk, name: "ｄｅｓｋ" }

  check("rejects a Computer whose name has the key of another one, even with its reconnect key", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.join("n1", { ...desk, reconnectKey: "h" })
      assert.strictEqual(yield* of.join("n1", { ...wideDesk, sid: "new", reconnectKey: "h" }), "taken desk")
    })
  )

  check("names the current member and the time of its join, unless an older node wrote it", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.join("n1", desk)
      const newer = { at: 1_763_900_000_123, owner: "" }
      yield* of.join("n1", { ...agent, name: "thinker", newer })
      assert.strictEqual(yield* of.join("n1", { ...desk, sid: "new" }), "taken desk")
      assert.strictEqual(yield* of.join("n1", { ...agent, sid: "new" }), "taken thinker 1763900000123")
    })
  )

  check("never replaces the member of an older node on request", (of) =>
    Effect.gen(function* () {
      const newer = { at: 1, owner: "" }
      const takeOver = (place: Place) => of.join("n1", place, { takeOver: "1" })
      yield* of.reconcile("n1")
      yield* of.join("n1", desk)
      assert.strictEqual(yield* takeOver({ ...desk, sid: "new", newer }), "taken desk")
      assert.strictEqual(yield* takeOver({ ...desk, sid: "old" }), "taken desk", "an older node requests nothing")
    })
  )

  check("renames a session that joins again under another name with the same key", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.join("n1", desk)
      yield* of.messages
      assert.strictEqual(yield* of.join("n1", wideDesk), "joined")
      assert.deepStrictEqual(yield* of.published, ["n1: -d:cdesk@O", "n1: O=d"])
      const isElsewhere = (name: string) => of.run("isComputerElsewhere", "P", "cdesk", name)
      assert.deepStrictEqual([yield* isElsewhere("desk"), yield* isElsewhere("ｄｅｓｋ")], [0, 1])
    })
  )

  check("publishes a takeover to the node of the evicted session", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.reconcile("n2")
      yield* of.join("n1", { ...desk, reconnectKey: "h" })
      yield* of.messages
      yield* of.join("n2", { ...desk, sid: "new", reconnectKey: "h" })
      assert.deepStrictEqual(yield* of.published, ["n1: -d:cdesk@O replaced", "n2: O=new"])
      assert.strictEqual(yield* of.join("n1", { ...desk, office: "P" }), "joined")
      assert.deepStrictEqual(yield* of.published, ["n1: P=d"], "it has no membership any more")
    })
  )

  check("removes the evicted session, then the old membership of the new one, before the join", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n1", { ...elsewhere, reconnectKey: "h" })
      yield* of.join("n1", { ...shelf, reconnectKey: "h" })
      yield* of.messages
      yield* of.join("n1", { ...elsewhere, sid: "s", reconnectKey: "h" })
      assert.deepStrictEqual(
        (yield* of.published).filter((one) => one.startsWith("n1")),
        ["n1: -e:cdesk@P replaced", "n1: -s:cshelf@O", "n1: P=s"]
      )
      assert.deepStrictEqual([yield* of.sessionsIn("O"), yield* of.sessionsIn("P")], [["a", "d"], ["s"]])
    })
  )

  check("moves a session to the same name in another office, and to another name in the same office", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.join("n1", desk)
      yield* of.join("n1", { ...desk, office: "P" })
      assert.deepStrictEqual([yield* of.sessionsIn("O"), yield* of.sessionsIn("P")], [[], ["d"]])
      yield* of.messages
      yield* of.join("n1", { ...desk, office: "P", field: "cother" })
      assert.deepStrictEqual(yield* of.published, ["n1: -d:cdesk@P", "n1: P=d"])
    })
  )

  check("limits the members of an office, except for takeovers", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      const two = { members: "2" }
      assert.strictEqual(yield* of.join("n1", agent, two), "joined")
      assert.strictEqual(yield* of.join("n1", { ...desk, reconnectKey: "h" }, two), "joined")
      assert.strictEqual(yield* of.join("n1", shelf, two), "office_full")
      assert.strictEqual(yield* of.join("n1", { ...desk, sid: "new", reconnectKey: "h" }, two), "joined")
    })
  )

  check("limits the offices, without the one that becomes empty", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      const one = { offices: "1" }
      assert.strictEqual(yield* of.join("n1", agent, one), "joined")
      assert.strictEqual(yield* of.join("n1", elsewhere, one), "too_many_offices")
      assert.strictEqual(yield* of.join("n1", desk, one), "joined", "an existing office")
      assert.strictEqual(yield* of.join("n1", { ...desk, office: "P" }, one), "too_many_offices")
      yield* of.run("leave", "n1", "a")
      assert.strictEqual(yield* of.join("n1", { ...desk, office: "P" }, one), "joined", "its old office becomes empty")
    })
  )
})

describe("script leave", () => {
  check("publishes the change to all nodes with members, its own included", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.run("leave", "n1", "a")
      assert.deepStrictEqual((yield* of.published).toSorted(), ["n1: -a:a@O", "n2: -a:a@O"])
      yield* of.run("leave", "n1", "a")
      assert.deepStrictEqual(yield* of.published, [], "it has left already")
      yield* of.run("leave", "n2", "d")
      assert.deepStrictEqual(yield* of.published, ["n2: -d:cdesk@O"], "no other node has members")
    })
  )

  check("removes all keys of the office", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.run("leave", "n1", "a")
      yield* of.run("leave", "n2", "d")
      const keys = yield* Effect.promise(() => of.client.keys(of.key("*")))
      assert.deepStrictEqual(keys.toSorted(), ["addresses", "born", "nodes", "rev"].map(of.key))
    })
  )
})

describe("script leaveCluster", () => {
  check("publishes the lost members, then the lost node, to the other nodes only", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n2", shelf)
      yield* of.messages
      yield* of.run("leaveCluster", "n2")
      const published = yield* of.published
      assert.deepStrictEqual(published.slice(0, -1).toSorted(), ["n1: -d:cdesk@O", "n1: -s:cshelf@O"])
      assert.strictEqual(published.at(-1), "n1: gone n2")
      assert.deepStrictEqual(yield* of.sessionsIn("O"), ["a"])
      assert.isNull(yield* of.leaseOf("n2"))
    })
  )
})

describe("script snapshot", () => {
  check("returns the current revision and the revision of the office", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      const last = yield* of.get("rev")
      yield* of.join("n1", elsewhere)
      const [state, asOf, revision, members] = (yield* of.run("snapshot", "n1", "O")) as Array<string>
      assert.deepStrictEqual([state, Number(asOf), Number(revision)], ["ok", last + 1, last])
      assert.lengthOf(members ?? "", 2)
      yield* of.run("leave", "n2", "d")
      const [, , later] = (yield* of.run("snapshot", "n1", "O")) as Array<string>
      assert.strictEqual(Number(later), last + 2, "a leave is a change")
    })
  )

  check("returns unknown_node to a removed node", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.run("leaveCluster", "n1")
      assert.deepStrictEqual(yield* of.run("snapshot", "n1", "O"), ["unknown_node", "0", "0", []])
    })
  )
})

describe("script isComputerElsewhere", () => {
  check("ignores the own office and Agents", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      const request = (office: string) => of.run("isComputerElsewhere", office, "cdesk", "desk")
      yield* of.join("n1", { ...agent, office: "Q", name: "desk" })
      assert.strictEqual(yield* request("O"), 0)
      yield* of.join("n1", desk)
      assert.deepStrictEqual([yield* request("O"), yield* request("P")], [0, 1])
      yield* of.join("n1", elsewhere)
      assert.deepStrictEqual([yield* request("O"), yield* request("P"), yield* request("Q")], [1, 1, 1])
      yield* of.run("leave", "n1", "d")
      assert.deepStrictEqual([yield* request("O"), yield* request("P")], [1, 0])
    })
  )
})

describe("script addressOf", () => {
  check("names the address of each node until it leaves", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.reconcile("n2")
      yield* of.run("leaveCluster", "n2")
      const addresses = yield* Effect.forEach(["n1", "n2", "n3"], (node) => of.run("addressOf", node))
      assert.deepStrictEqual(addresses, [addressOf("n1"), "", ""])
    })
  )
})

/** The state and the nodes of the reply, whose order depends on their leases. */
const renewed = ([state, nodes]: ReadonlyArray<unknown>) => [state, [...(nodes as ReadonlyArray<string>)].toSorted()]

describe("script renew", () => {
  check("returns unknown_node to a removed node", (of) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(renewed(yield* of.renew("n1")), ["unknown_node", []])
      assert.isNull(yield* of.leaseOf("n1"))
    })
  )

  check("extends the lease and names the nodes", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.reconcile("n2")
      yield* of.renew("n2")
      yield* of.endLease("n1", 1)
      const before = yield* of.now
      const reply = yield* of.renew("n1")
      assert.deepStrictEqual(renewed(reply), ["ok", ["n1", "n2"]])
      const [, , printed] = reply
      const after = yield* of.now
      assert.isTrue(before <= printed && printed <= after, "returns the time")
      const ends = (yield* of.leaseOf("n1")) ?? 0
      assert.isTrue(before + lease <= ends && ends <= after + lease, `${before} ${ends} ${after}`)
      const seen = yield* of.get("seen")
      assert.isTrue(before <= seen && seen <= after)
    })
  )

  check("removes a node with an expired lease and its members, and publishes that", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.renew("n1")
      yield* of.endLease("n2", (yield* of.now) - 1)
      assert.deepStrictEqual(renewed(yield* of.renew("n1")), ["ok", ["n1"]])
      assert.deepStrictEqual(yield* of.published, ["n1: -d:cdesk@O", "n1: gone n2"])
    })
  )

  check("keeps nodes with a valid lease", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.renew("n1")
      yield* of.endLease("n2", (yield* of.now) + lease)
      assert.deepStrictEqual(renewed(yield* of.renew("n1")), ["ok", ["n1", "n2"]])
    })
  )

  for (const [part, removes] of [
    [1 / 10, true],
    [3 / 4, false]
  ] as const) {
    check(`${removes ? "removes" : "keeps"} expired nodes when the last renewal was ${part} of a lease ago`, (of) =>
      Effect.gen(function* () {
        yield* pair(of)
        const now = yield* of.now
        yield* of.set("seen", now - lease * part)
        yield* of.endLease("n2", now - 1)
        assert.deepStrictEqual(renewed(yield* of.renew("n1")), ["ok", removes ? ["n1"] : ["n1", "n2"]])
        const ends = (yield* of.leaseOf("n2")) ?? 0
        // Redis was stalled: a kept node gets a full lease.
        assert.isTrue(removes ? ends === 0 : ends >= now + lease, String(ends))
      })
    )
  }
})

describe("script reconcile", () => {
  check("grants a lease and names the nodes", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      const before = yield* of.now
      const [, nodes, , now] = (yield* of.reconcile("n2")) as [number, ReadonlyArray<string>, unknown, number]
      assert.sameMembers([...nodes], ["n1", "n2"])
      assert.isTrue(before <= now && now <= (yield* of.now), "returns the time")
      assert.isAtLeast((yield* of.leaseOf("n2")) ?? 0, before + lease)
    })
  )

  check("returns the remaining grace period of a new registry, and 0 for an older one", (of) =>
    Effect.gen(function* () {
      const [left = 0] = (yield* of.reconcile("n1")) as Array<number>
      assert.isTrue(left > 0 && left <= gracePeriod, String(left))
      yield* of.set("born", (yield* of.now) - gracePeriod / 2)
      const [half = 0] = (yield* of.reconcile("n2")) as Array<number>
      assert.isTrue(half > 0 && half <= gracePeriod / 2, String(half))
      yield* of.set("born", (yield* of.now) - 2 * gracePeriod)
      assert.deepInclude(yield* of.reconcile("n3"), 0)
    })
  )

  check("starts revisions at the current time, above those of an earlier registry", (of) =>
    Effect.gen(function* () {
      const before = yield* of.now
      yield* of.reconcile("n1", { highest: 7 })
      assert.isAtLeast(yield* of.get("rev"), before)
    })
  )

  check("starts revisions at the highest known revision when that is greater", (of) =>
    Effect.gen(function* () {
      const seen = (yield* of.now) + 1_000_000
      yield* of.reconcile("n1", { highest: seen })
      assert.strictEqual(yield* of.get("rev"), seen)
    })
  )

  check("restarts the grace period when Redis has lost revisions", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      const old = yield* of.get("rev")
      yield* of.set("born", 1)
      yield* of.reconcile("n2", { highest: old })
      assert.deepStrictEqual([yield* of.get("born"), yield* of.get("rev")], [1, old], "no revision is missing")
      const [left = 0] = (yield* of.reconcile("n2", { highest: old + 1_000_000 })) as Array<number>
      assert.isAbove(left, 0)
      assert.isAtLeast(yield* of.get("rev"), old + 1_000_000)
    })
  )

  check("adds its members with their reconnect keys", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1", { joined: [agent, { ...desk, reconnectKey: "h" }] })
      assert.deepStrictEqual(yield* of.sessionsIn("O"), ["a", "d"])
      assert.strictEqual(yield* of.join("n1", { ...desk, sid: "new", reconnectKey: "h" }), "joined")
      assert.strictEqual(yield* of.run("isComputerElsewhere", "P", "cdesk", "desk"), 1)
    })
  )

  check("publishes nothing for unchanged members", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      const [, , evicted] = (yield* of.reconcile("n1", { joined: [agent] })) as Array<unknown>
      assert.deepStrictEqual(evicted, [])
      assert.deepStrictEqual(yield* of.published, [])
    })
  )

  check("removes its former members, except those with a pending join", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n1", shelf)
      yield* of.messages
      yield* of.reconcile("n1", { pending: ["s"] })
      assert.deepStrictEqual(yield* of.sessionsIn("O"), ["d", "s"])
      assert.deepStrictEqual((yield* of.published).toSorted(), ["n1: -a:a@O", "n2: -a:a@O"])
    })
  )

  check("moves its members to their new memberships", (of) =>
    Effect.gen(function* () {
      yield* of.reconcile("n1")
      yield* of.join("n1", desk)
      yield* of.join("n1", shelf)
      yield* of.reconcile("n1", {
        joined: [
          { ...desk, office: "P" },
          { ...shelf, field: "cother" }
        ]
      })
      assert.deepStrictEqual([yield* of.sessionsIn("O"), yield* of.sessionsIn("P")], [["s"], ["d"]])
      const fields = yield* Effect.promise(() => of.client.hKeys(of.key("office:O")))
      assert.deepStrictEqual(fields, ["cother"])
    })
  )

  check("returns the sessions whose membership another session has taken", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.reconcile("n3")
      const [, , evicted] = (yield* of.reconcile("n3", {
        joined: [{ ...desk, sid: "late" }, shelf]
      })) as ReadonlyArray<unknown>
      assert.deepStrictEqual(evicted, ["late"])
      assert.deepStrictEqual(yield* of.sessionsIn("O"), ["a", "d", "s"])
    })
  )
})
