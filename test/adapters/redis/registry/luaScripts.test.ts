import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { createClient } from "redis"
import { afterAll, beforeAll } from "vitest"
import { type ScriptName, luaScripts } from "../../../../src/adapters/redis/registry/luaScripts.ts"
import { startRedis } from "../../../fixtures/redis.ts"

const scope = Scope.makeUnsafe()
let url = ""

beforeAll(async () => {
  url = (await Effect.runPromise(Scope.provide(startRedis(), scope))).url
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Milliseconds of a lease, and for which a registry that has just begun settles. */
const lease = 3000
const settle = 1000

/** No bound of an office, or of offices. */
const unbounded = String(Number.MAX_SAFE_INTEGER)

/** What is never late. */
const never = 1e15

interface Told {
  readonly office?: string
  readonly from?: number
  readonly to?: number
  readonly entered?: { readonly sid: string; readonly since: number }
  readonly left?: { readonly sid: string; readonly field: string; readonly replaced: boolean }
  readonly all?: ReadonlyArray<{ readonly sid: string }>
  readonly gone?: string
}

/** A message in words. */
const inWords = ({ all, entered, gone, left, office }: Told): string => {
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

/** A place in an office; an Agent's field is `a`, a Computer's `c` and its name. */
interface Place {
  readonly sid: string
  readonly office: string
  readonly field: string
  readonly holder?: string
  /** The name of an Agent, which its field does not say. */
  readonly name?: string
}

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
    }
  })

/** The keys of one cluster, what its scripts do to them, and what its nodes are told. */
const cluster = Effect.gen(function* () {
  const prefix = `{${crypto.randomUUID()}}:`
  const client = yield* connected
  const ear = yield* connected
  let told: Array<readonly [node: string, message: Told]> = []
  const marks = new Map<string, () => void>()
  yield* Effect.promise(() =>
    ear.pSubscribe(`${prefix}to:*`, (text, channel) => {
      const node = channel.slice(`${prefix}to:`.length)
      const mark = marks.get(text)
      if (mark !== undefined) return mark()
      told.push([node, JSON.parse(text)])
    })
  )
  const run = (name: ScriptName, ...args: ReadonlyArray<string | number>) =>
    Effect.promise(() => client.eval(luaScripts[name], { keys: [prefix], arguments: args.map(String) }))
  /** Everything that the nodes have been told since the last time. */
  const messages = Effect.promise(async () => {
    const mark = crypto.randomUUID()
    const arrived = new Promise<void>((resolve) => marks.set(mark, resolve))
    await client.publish(`${prefix}to:mark`, mark)
    await arrived
    const before = told
    told = []
    return before
  })
  const key = (name: string) => `${prefix}${name}`
  return {
    client,
    key,
    run,
    messages,
    /** The same in words: to whom, and what. */
    hears: Effect.map(messages, (all) => all.map(([node, message]) => `${node}: ${inWords(message)}`)),
    /** A node comes, or comes back, with members. */
    node: (
      name: string,
      {
        changing = [],
        highest = 0,
        seated = []
      }: {
        readonly highest?: number
        readonly seated?: ReadonlyArray<Place>
        readonly changing?: ReadonlyArray<string>
      } = {}
    ) =>
      run(
        "reconcile",
        name,
        lease,
        highest,
        settle,
        seated.length,
        ...seated.flatMap((one) => [one.sid, one.office, one.field, memberOf(name, one), one.holder ?? ""]),
        ...changing
      ),
    join: (
      node: string,
      place: Place,
      {
        latest = never,
        members = unbounded,
        offices = unbounded
      }: { readonly offices?: string; readonly members?: string; readonly latest?: number } = {}
    ) => {
      const { field, holder = "", office, sid } = place
      const member = memberOf(node, place)
      return run("join", node, sid, office, field, nameOf(place), member, holder, offices, members, latest)
    },
    renew: (node: string) =>
      Effect.map(
        run("renew", node, lease),
        (renewed) => renewed as [state: string, count: number, now: number]
      ),
    /** Who sits in an office, as a node is told. */
    sits: (office: string) =>
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
    /** The lease of a node ends at this time. */
    endLease: (node: string, at: number) =>
      Effect.promise(() => client.zAdd(key("nodes"), { value: node, score: at }))
  }
})

type Cluster = Effect.Success<typeof cluster>

const check = (title: string, body: (of: Cluster) => Effect.Effect<void>) =>
  it.live(title, () => Effect.scoped(Effect.flatMap(cluster, body)))

const agent: Place = { sid: "a", office: "O", field: "a", name: "thinker" }
const desk: Place = { sid: "d", office: "O", field: "cdesk" }
const shelf: Place = { sid: "s", office: "O", field: "cshelf" }
const elsewhere: Place = { sid: "e", office: "P", field: "cdesk" }

/** Two nodes; the first one has an Agent in the office O, and the second one a Computer. */
const pair = Effect.fnUntraced(function* (of: Cluster) {
  yield* of.node("n1")
  yield* of.node("n2")
  yield* of.join("n1", agent)
  yield* of.join("n2", desk)
  yield* of.messages
})

describe("the script that lets a session in", () => {
  check("knows no node that has not said what it has", (of) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* of.join("n1", agent), "unknown_node")
      assert.deepStrictEqual(yield* of.sits("O"), [])
    })
  )

  check("does nothing when nobody waits for it any more", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      const now = yield* of.now
      assert.strictEqual(yield* of.join("n1", agent, { latest: now - 1 }), "expired")
      assert.deepStrictEqual(yield* of.sits("O"), [])
      assert.strictEqual(yield* of.join("n1", agent, { latest: now + lease }), "joined")
    })
  )

  check("tells a node everybody with its first member in an office, and the others who has come", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      yield* of.node("n2")
      yield* of.join("n1", agent)
      yield* of.join("n2", desk)
      yield* of.join("n2", shelf)
      assert.deepStrictEqual(yield* of.hears, [
        "n1: O=a",
        "n1: +d@O",
        "n2: O=a,d",
        ...["n1: +s@O", "n2: +s@O"].toSorted()
      ])
    })
  )

  check("says of every change which one it follows, and with which one a member entered", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n1", elsewhere)
      const [[, first] = []] = yield* of.messages
      assert.strictEqual(first?.to, yield* of.get("rev"), "of everybody, too")
      yield* of.join("n2", shelf)
      yield* of.run("leave", "n2", "s")
      const [come, gone] = (yield* of.messages).flatMap(([node, message]) =>
        node === "n1" && message.from !== undefined ? [message] : []
      )
      assert.strictEqual(come?.entered?.since, come?.to)
      assert.strictEqual(gone?.from, come?.to)
      assert.isAbove(gone?.to ?? 0, come?.to ?? 0)
      assert.isBelow(come?.from ?? 0, (come?.to ?? 0) - 1, "a change of another office is between")
    })
  )

  check("writes revisions in full, however great", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      yield* of.set("rev", 3e15)
      yield* of.join("n1", agent)
      const [, asOf, revision] = (yield* of.run("snapshot", "n1", "O")) as Array<string>
      assert.deepStrictEqual([asOf, revision], ["3000000000000001", "3000000000000001"])
    })
  )

  check("changes nothing when the seat is the session's own already", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      assert.strictEqual(yield* of.join("n1", agent), "joined")
      assert.deepStrictEqual(yield* of.hears, [])
    })
  )

  check("gives a seat to nobody but its holder", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      yield* of.join("n1", { ...agent, holder: "h" })
      yield* of.join("n1", desk)
      const take = (place: Place, more: Partial<Place>) => of.join("n1", { ...place, sid: "new", ...more })
      assert.strictEqual(yield* take(agent, {}), "taken", "without a secret")
      assert.strictEqual(yield* take(agent, { holder: "other" }), "taken", "with another one")
      assert.strictEqual(yield* take(agent, { holder: "h", name: "other" }), "taken", "another name")
      assert.strictEqual(yield* take(desk, {}), "taken", "nobody can prove nothing")
      assert.strictEqual(yield* take(agent, { holder: "h" }), "joined")
      assert.deepStrictEqual(yield* of.sits("O"), ["d", "new"])
    })
  )

  check("tells the node of whoever is put out that its seat was taken over", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      yield* of.node("n2")
      yield* of.join("n1", { ...desk, holder: "h" })
      yield* of.messages
      yield* of.join("n2", { ...desk, sid: "new", holder: "h" })
      assert.deepStrictEqual(yield* of.hears, ["n1: -d:cdesk@O replaced", "n2: O=new"])
      assert.strictEqual(yield* of.join("n1", { ...desk, office: "P" }), "joined")
      assert.deepStrictEqual(yield* of.hears, ["n1: P=d"], "it sits nowhere any more")
    })
  )

  check("has whoever moves leave first, and whose seat it takes before that", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n1", { ...elsewhere, holder: "h" })
      yield* of.join("n1", { ...shelf, holder: "h" })
      yield* of.messages
      yield* of.join("n1", { ...elsewhere, sid: "s", holder: "h" })
      assert.deepStrictEqual(
        (yield* of.hears).filter((one) => one.startsWith("n1")),
        ["n1: -e:cdesk@P replaced", "n1: -s:cshelf@O", "n1: P=s"]
      )
      assert.deepStrictEqual([yield* of.sits("O"), yield* of.sits("P")], [["a", "d"], ["s"]])
    })
  )

  check(
    "takes the same name in another office, and the same office under another one, for another seat",
    (of) =>
      Effect.gen(function* () {
        yield* of.node("n1")
        yield* of.join("n1", desk)
        yield* of.join("n1", { ...desk, office: "P" })
        assert.deepStrictEqual([yield* of.sits("O"), yield* of.sits("P")], [[], ["d"]])
        yield* of.messages
        yield* of.join("n1", { ...desk, office: "P", field: "cother" })
        assert.deepStrictEqual(yield* of.hears, ["n1: -d:cdesk@P", "n1: P=d"])
      })
  )

  check("fills an office to its bound, and lets those who come back in", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      const two = { members: "2" }
      assert.strictEqual(yield* of.join("n1", agent, two), "joined")
      assert.strictEqual(yield* of.join("n1", { ...desk, holder: "h" }, two), "joined")
      assert.strictEqual(yield* of.join("n1", shelf, two), "office_full")
      assert.strictEqual(yield* of.join("n1", { ...desk, sid: "new", holder: "h" }, two), "joined")
    })
  )

  check("opens offices to their bound, counting the one that is left", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      const one = { offices: "1" }
      assert.strictEqual(yield* of.join("n1", agent, one), "joined")
      assert.strictEqual(yield* of.join("n1", elsewhere, one), "too_many_offices")
      assert.strictEqual(yield* of.join("n1", desk, one), "joined", "an office that is there")
      assert.strictEqual(yield* of.join("n1", { ...desk, office: "P" }, one), "too_many_offices")
      yield* of.run("leave", "n1", "a")
      assert.strictEqual(yield* of.join("n1", { ...desk, office: "P" }, one), "joined", "it was alone")
    })
  )
})

describe("the script by which a session leaves", () => {
  check("tells every node with members in the office, its own, too", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.run("leave", "n1", "a")
      assert.deepStrictEqual((yield* of.hears).toSorted(), ["n1: -a:a@O", "n2: -a:a@O"])
      yield* of.run("leave", "n1", "a")
      assert.deepStrictEqual(yield* of.hears, [], "it has left already")
      yield* of.run("leave", "n2", "d")
      assert.deepStrictEqual(yield* of.hears, ["n2: -d:cdesk@O"], "nobody else is there")
    })
  )

  check("leaves nothing behind but what a registry always has", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.run("leave", "n1", "a")
      yield* of.run("leave", "n2", "d")
      const keys = yield* Effect.promise(() => of.client.keys(of.key("*")))
      assert.deepStrictEqual(keys.toSorted(), ["born", "nodes", "rev"].map(of.key))
    })
  )
})

describe("the script by which a node ends", () => {
  check("tells the others who has gone, and then that it is gone; itself nothing", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n2", shelf)
      yield* of.messages
      yield* of.run("leaveCluster", "n2")
      const heard = yield* of.hears
      assert.deepStrictEqual(heard.slice(0, -1).toSorted(), ["n1: -d:cdesk@O", "n1: -s:cshelf@O"])
      assert.strictEqual(heard.at(-1), "n1: gone n2")
      assert.deepStrictEqual(yield* of.sits("O"), ["a"])
      assert.isNull(yield* of.leaseOf("n2"))
    })
  )
})

describe("the script that shows an office", () => {
  check("says of what moment it is, and which was the office's last change", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      const last = yield* of.get("rev")
      yield* of.join("n1", elsewhere)
      const [known, asOf, revision, members] = (yield* of.run("snapshot", "n1", "O")) as Array<string>
      assert.deepStrictEqual([known, Number(asOf), Number(revision)], ["ok", last + 1, last])
      assert.lengthOf(members ?? "", 2)
      yield* of.run("leave", "n2", "d")
      const [, , later] = (yield* of.run("snapshot", "n1", "O")) as Array<string>
      assert.strictEqual(Number(later), last + 2, "leaving is a change, too")
    })
  )

  check("shows nothing to a node that was taken for dead", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.run("leaveCluster", "n1")
      assert.deepStrictEqual(yield* of.run("snapshot", "n1", "O"), ["unknown_node", "0", "0", []])
    })
  )
})

describe("the script that knows Computers elsewhere", () => {
  check("counts neither those here nor Agents", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      const ask = (office: string) => of.run("isComputerElsewhere", office, "desk")
      yield* of.join("n1", { ...agent, office: "Q", name: "desk" })
      assert.strictEqual(yield* ask("O"), 0)
      yield* of.join("n1", desk)
      assert.deepStrictEqual([yield* ask("O"), yield* ask("P")], [0, 1])
      yield* of.join("n1", elsewhere)
      assert.deepStrictEqual([yield* ask("O"), yield* ask("P"), yield* ask("Q")], [1, 1, 1])
      yield* of.run("leave", "n1", "d")
      assert.deepStrictEqual([yield* ask("O"), yield* ask("P")], [1, 0])
    })
  )
})

describe("the script by which a node renews its lease", () => {
  check("tells a node that nobody knows any more", (of) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* of.renew("n1")).slice(0, 2), ["unknown_node", 0])
      assert.isNull(yield* of.leaseOf("n1"))
    })
  )

  check("gives a whole lease from now on, and counts the nodes", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      yield* of.node("n2")
      yield* of.renew("n2")
      yield* of.endLease("n1", 1)
      const before = yield* of.now
      const [state, count, said] = yield* of.renew("n1")
      assert.deepStrictEqual([state, count], ["ok", 2])
      const after = yield* of.now
      assert.isTrue(before <= said && said <= after, "and says what time it is")
      const ends = (yield* of.leaseOf("n1")) ?? 0
      assert.isTrue(before + lease <= ends && ends <= after + lease, `${before} ${ends} ${after}`)
      const seen = yield* of.get("seen")
      assert.isTrue(before <= seen && seen <= after)
    })
  )

  check("removes a node whose lease has ended, with its members, and tells the others", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.renew("n1")
      yield* of.endLease("n2", (yield* of.now) - 1)
      assert.deepStrictEqual((yield* of.renew("n1")).slice(0, 2), ["ok", 1])
      assert.deepStrictEqual(yield* of.hears, ["n1: -d:cdesk@O", "n1: gone n2"])
    })
  )

  check("removes nobody as long as a lease lasts", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.renew("n1")
      yield* of.endLease("n2", (yield* of.now) + lease)
      assert.deepStrictEqual((yield* of.renew("n1")).slice(0, 2), ["ok", 2])
    })
  )

  for (const [part, removes] of [
    [1 / 10, true],
    [3 / 4, false]
  ] as const) {
    check(
      `${removes ? "removes" : "spares"} others when the last sign of life was ${part} of a lease ago`,
      (of) =>
        Effect.gen(function* () {
          yield* pair(of)
          const now = yield* of.now
          yield* of.set("seen", now - lease * part)
          yield* of.endLease("n2", now - 1)
          assert.deepStrictEqual((yield* of.renew("n1")).slice(0, 2), ["ok", removes ? 1 : 2])
          const ends = (yield* of.leaseOf("n2")) ?? 0
          // Redis has stood still: whoever is spared has a whole lease to show that it lives.
          assert.isTrue(removes ? ends === 0 : ends >= now + lease, String(ends))
        })
    )
  }
})

describe("the script by which a node comes, or comes back", () => {
  check("gives it a lease, and counts the nodes", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      const before = yield* of.now
      const [, count, , now = 0] = (yield* of.node("n2")) as Array<number>
      assert.strictEqual(count, 2)
      assert.isTrue(before <= now && now <= (yield* of.now), "and says what time it is")
      assert.isAtLeast((yield* of.leaseOf("n2")) ?? 0, before + lease)
    })
  )

  check("says how long a registry that has just begun settles; one that is older does not", (of) =>
    Effect.gen(function* () {
      const [left = 0] = (yield* of.node("n1")) as Array<number>
      assert.isTrue(left > 0 && left <= settle, String(left))
      yield* of.set("born", (yield* of.now) - settle / 2)
      const [half = 0] = (yield* of.node("n2")) as Array<number>
      assert.isTrue(half > 0 && half <= settle / 2, String(half))
      yield* of.set("born", (yield* of.now) - 2 * settle)
      assert.deepInclude(yield* of.node("n3"), 0)
    })
  )

  check("begins revisions at the time, so that they are greater than those of a registry before", (of) =>
    Effect.gen(function* () {
      const before = yield* of.now
      yield* of.node("n1", { highest: 7 })
      assert.isAtLeast(yield* of.get("rev"), before)
    })
  )

  check("begins them with what a node has seen, where that is more", (of) =>
    Effect.gen(function* () {
      const seen = (yield* of.now) + 1_000_000
      yield* of.node("n1", { highest: seen })
      assert.strictEqual(yield* of.get("rev"), seen)
    })
  )

  check("begins anew where Redis has come back with something old, and settles again", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      const old = yield* of.get("rev")
      yield* of.set("born", 1)
      yield* of.node("n2", { highest: old })
      assert.deepStrictEqual([yield* of.get("born"), yield* of.get("rev")], [1, old], "nothing is missing")
      const [left = 0] = (yield* of.node("n2", { highest: old + 1_000_000 })) as Array<number>
      assert.isAbove(left, 0)
      assert.isAtLeast(yield* of.get("rev"), old + 1_000_000)
    })
  )

  check("puts its members in, and with them what proves who they are", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1", { seated: [agent, { ...desk, holder: "h" }] })
      assert.deepStrictEqual(yield* of.sits("O"), ["a", "d"])
      assert.strictEqual(yield* of.join("n1", { ...desk, sid: "new", holder: "h" }), "joined")
      assert.strictEqual(yield* of.run("isComputerElsewhere", "P", "desk"), 1)
    })
  )

  check("tells nobody of members that sit as before", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      const [, , losers] = (yield* of.node("n1", { seated: [agent] })) as Array<unknown>
      assert.deepStrictEqual(losers, [])
      assert.deepStrictEqual(yield* of.hears, [])
    })
  )

  check("takes out who sits there no longer, but for those whose seat is just changing", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.join("n1", shelf)
      yield* of.messages
      yield* of.node("n1", { changing: ["s"] })
      assert.deepStrictEqual(yield* of.sits("O"), ["d", "s"])
      assert.deepStrictEqual((yield* of.hears).toSorted(), ["n1: -a:a@O", "n2: -a:a@O"])
    })
  )

  check("moves those that sit elsewhere by now", (of) =>
    Effect.gen(function* () {
      yield* of.node("n1")
      yield* of.join("n1", desk)
      yield* of.join("n1", shelf)
      yield* of.node("n1", {
        seated: [
          { ...desk, office: "P" },
          { ...shelf, field: "cother" }
        ]
      })
      assert.deepStrictEqual([yield* of.sits("O"), yield* of.sits("P")], [["s"], ["d"]])
      const fields = yield* Effect.promise(() => of.client.hKeys(of.key("office:O")))
      assert.deepStrictEqual(fields, ["cother"])
    })
  )

  check("names those whose seat is another's by now, and leaves it to the other", (of) =>
    Effect.gen(function* () {
      yield* pair(of)
      yield* of.node("n3")
      const [, , losers] = (yield* of.node("n3", {
        seated: [{ ...desk, sid: "late" }, shelf]
      })) as ReadonlyArray<unknown>
      assert.deepStrictEqual(losers, ["late"])
      assert.deepStrictEqual(yield* of.sits("O"), ["a", "d", "s"])
    })
  )
})
