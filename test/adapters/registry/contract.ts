import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, HashMap, Option, Result, Schedule, Schema, Scope } from "effect"
import type { Session } from "../../../src/domain/model/Membership.ts"
import {
  decide,
  evolve,
  type MembershipCommand,
  emptyMembershipState,
  unlimitedCapacity
} from "../../../src/domain/office/decideMembership.ts"
import { type OpenNode, outcome, type TestNode, notified } from "./cluster.ts"

const sidsIn = ({ registry }: TestNode, office: string) => registry.members(office).map(({ sid }) => sid)

/** A node with some sessions outside of all offices. */
const nodeWith = Effect.fnUntraced(function* (open: OpenNode, name: string, ...sids: ReadonlyArray<string>) {
  const node = yield* open(name)
  yield* Effect.forEach(sids, (sid) => node.connect(sid), { discard: true })
  return node
})

/** The outcomes of sessions on three nodes that connect and join at the same time. */
const race = Effect.fnUntraced(function* (
  open: OpenNode,
  members: number,
  join: (node: TestNode, sid: string, index: number) => ReturnType<TestNode["join"]>
) {
  const nodes = yield* Effect.forEach(["n1", "n2", "n3"], open)
  const enter = (index: number) => {
    const [node, sid] = [nodes[index % 3] as TestNode, `s${index}`]
    return Effect.andThen(node.connect(sid), outcome(join(node, sid, index)))
  }
  return yield* Effect.forEach(Array.from({ length: members }).keys(), enter, { concurrency: "unbounded" })
})

const count = (outcomes: ReadonlyArray<string>, what: string) => outcomes.filter((one) => one === what).length

/** Two nodes with an Agent and a Computer in one office. Both nodes have received both joins. */
const pair = Effect.fnUntraced(function* (open: OpenNode) {
  const n1 = yield* nodeWith(open, "n1", "a")
  const n2 = yield* nodeWith(open, "n2", "c")
  yield* n1.join("a", "agent", "thinker", "O")
  yield* n2.join("c", "computer", "desk", "O")
  yield* n1.until(() => n1.received.length === 1)
  return { n1, n2 }
})

const Sid = Schema.Literals(["1", "2", "3", "4"])
const Steps = Schema.Array(
  Schema.Union([
    Schema.Struct({
      do: Schema.Literal("connect"),
      sid: Sid,
      reconnectKey: Schema.Literals(["", "h"]),
      subject: Schema.Literals(["", "ada", "eve"])
    }),
    Schema.Struct({
      do: Schema.Literal("join"),
      sid: Sid,
      role: Schema.Literals(["agent", "computer"]),
      name: Schema.Literals(["x", "\uff58", "__proto__"]),
      office: Schema.Literals(["O1", 'O"2\n']),
      takeOver: Schema.Boolean
    }),
    Schema.Struct({ do: Schema.Literal("leave"), sid: Sid, office: Schema.Literals(["O1", 'O"2\n']) }),
    Schema.Struct({ do: Schema.Literal("disconnect"), sid: Sid })
  ])
)
const capacity = { offices: 2, membersPerOffice: 2 }

/** The node of a session: the first one for odd numbers. */
const nodeOf = (sid: string): string => (Number(sid) % 2 === 1 ? "n1" : "n2")

const toCommand = (step: (typeof Steps.Type)[number]): MembershipCommand => {
  switch (step.do) {
    case "connect": {
      const { reconnectKey, sid, subject } = step
      return { _tag: "Connect", sid, node: nodeOf(sid), version: "0.2.0", role: Option.none(), reconnectKey, subject }
    }
    case "join": {
      const { name, office, role, sid, takeOver } = step
      return { _tag: "Join", sid, role, name, office, takeOver }
    }
    case "leave":
      return { _tag: "Leave", sid: step.sid, office: step.office }
    case "disconnect":
      return { _tag: "Disconnect", sid: step.sid }
  }
}

/** Drops repeated connects: a transport connects a session once. */
const sane = (commands: ReadonlyArray<MembershipCommand>) => {
  const alive = new Set<string>()
  return commands.filter((command) => {
    if (command._tag === "Connect") return !alive.has(command.sid) && alive.add(command.sid)
    if (command._tag === "Disconnect") alive.delete(command.sid)
    return true
  })
}

const formatMemberships = (sessions: Iterable<Session>): ReadonlyArray<string> =>
  [...sessions].flatMap(({ membership, sid }) =>
    Option.isSome(membership)
      ? [`${sid} ${membership.value.role} ${membership.value.name} ${membership.value.office}`]
      : []
  )

/**
 * Applies each command at the node of its session, and compares its outcome and the memberships with the rules of the
 * domain. Both nodes receive a change before the next command: until then, a node may report a lost membership.
 */
const followRules = Effect.fnUntraced(function* (open: OpenNode, commands: ReadonlyArray<MembershipCommand>) {
  const nodes = { n1: yield* open("n1"), n2: yield* open("n2") }
  const nodeOfSession = (sid: string) => nodes[nodeOf(sid) === "n1" ? "n1" : "n2"]
  const actual = () =>
    formatMemberships(Sid.literals.flatMap((sid) => nodeOfSession(sid).session(sid) ?? [])).toSorted()
  let state = emptyMembershipState
  for (const command of commands) {
    const decision = decide(state, command, capacity)
    const rule = Result.isFailure(decision) ? decision.failure.reason : "ok"
    if (Result.isSuccess(decision)) state = decision.success.reduce(evolve, state)
    assert.strictEqual(yield* outcome(nodeOfSession(command.sid).apply(command, capacity)), rule)
    const expected = formatMemberships(HashMap.values(state.sessions)).toSorted()
    const isSettled = () => JSON.stringify(actual()) === JSON.stringify(expected)
    yield* Effect.timeoutOrElse(Effect.raceFirst(nodes.n1.until(isSettled), nodes.n2.until(isSettled)), {
      duration: "2 seconds",
      orElse: () => Effect.sync(() => assert.deepStrictEqual(actual(), expected))
    })
  }
})

/** The contract of every registry. */
export const registryContract = (name: string, cluster: () => OpenNode): void => {
  const check = (title: string, body: (open: OpenNode) => Effect.gen.Return<void, unknown, Scope.Scope>) =>
    it.live(title, () => Effect.gen(() => body(cluster())))

  describe(`an office registry in ${name}`, () => {
    check("knows an office only while this node has members in it", function* (open) {
      const { n1, n2 } = yield* pair(open)
      const knownTo = ({ registry }: TestNode) => [
        registry.members("O").length,
        Option.isSome(registry.findComputer("O", "desk"))
      ]
      assert.deepStrictEqual([...knownTo(n1), ...knownTo(n2)], [2, true, 2, true])
      yield* n1.leave("a", "O")
      assert.deepStrictEqual(knownTo(n1), [0, false])
    })

    check("lists the members of an office from all nodes", function* (open) {
      const { n1, n2 } = yield* pair(open)
      const expectedMembers = ["a n1", "c n2"]
      for (const { registry } of [n1, n2]) {
        assert.deepStrictEqual(
          registry.members("O").map(({ node, sid }) => `${sid} ${node}`),
          expectedMembers
        )
        assert.strictEqual(Option.getOrUndefined(registry.findComputer("O", "desk"))?.sid, "c")
      }
    })

    check("counts only the sessions of its node", function* (open) {
      const { n1, n2 } = yield* pair(open)
      assert.deepStrictEqual([n1.registry.state().sessions, n2.registry.state().sessions], [1, 1])
    })

    check("names the nodes of the cluster", function* (open) {
      const { n1, n2 } = yield* pair(open)
      const names = [n1.registry.node, n2.registry.node].toSorted()
      for (const { registry } of [n1, n2]) {
        yield* Effect.sync(() => [...registry.state().nodes].toSorted()).pipe(
          Effect.repeat({
            until: (nodes) => JSON.stringify(nodes) === JSON.stringify(names),
            schedule: Schedule.spaced("20 millis")
          })
        )
      }
    })

    check("lists Computers in the order of their joins", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "a", "b", "c", "d")
      yield* Effect.forEach(["c", "a", "d"], (sid) => n1.join(sid, "computer", sid, "O"))
      yield* n1.join("b", "agent", "thinker", "O")
      assert.deepStrictEqual(sidsIn(n1, "O"), ["b", "c", "a", "d"])
    })

    check("reports joins and leaves to the other members on every node, and to no others", function* (open) {
      const { n1, n2 } = yield* pair(open)
      yield* n2.connect("d")
      yield* n2.join("d", "computer", "shelf", "O")
      yield* n1.connect("e")
      yield* n1.join("e", "computer", "elsewhere", "P")
      yield* n2.disconnect("c")
      yield* n1.until(() => n1.received.length === 3)
      yield* n1.leave("a", "O")
      yield* n2.until(() => n2.received.length === 3)
      assert.deepStrictEqual(notified(n1), ["+c desk@O → a", "+d shelf@O → a", "-c desk@O → a", "-a thinker@O → "])
      assert.deepStrictEqual(notified(n2), ["+d shelf@O → c", "-c desk@O → d", "-a thinker@O → d"])
    })

    check("reports the first member of an office only to its node", function* (open) {
      const { n1, n2 } = yield* pair(open)
      const seen = (node: TestNode) => node.alone.map((change) => "sid" in change && change.sid)
      assert.deepStrictEqual([seen(n1), seen(n2)], [["a"], ["c"]])
    })

    const spellings = ["café", "cafe\u0301", "ｃafé"]
    for (const [title, members, role, nameOf, rejection] of [
      ["200 Agents that race for an office", 200, "agent", (sid: string) => sid, "agent_exists"],
      ["40 Computers that race for a name", 40, "computer", () => "desk", "name_taken"],
      [
        "30 Computers that race for names equal after NFKC",
        30,
        "computer",
        (_sid: string, index: number) => String(spellings[index % spellings.length]),
        "name_taken"
      ]
    ] as const) {
      check(`admits exactly one of ${title} on three nodes`, function* (open) {
        const outcomes = yield* race(open, members, (node, sid, index) => node.join(sid, role, nameOf(sid, index), "O"))
        assert.deepStrictEqual([count(outcomes, "ok"), count(outcomes, rejection)], [1, members - 1])
      })
    }

    check(
      "finds a Computer by its exact name only, and frees an equal one after NFKC when it leaves",
      function* (open) {
        const n1 = yield* nodeWith(open, "n1", "1")
        const n2 = yield* nodeWith(open, "n2", "2")
        const [wide, plain] = ["ｄｅｓｋ", "desk"]
        yield* n1.join("1", "computer", wide, "O")
        const found = (name: string) => Option.isSome(n1.registry.findComputer("O", name))
        assert.deepStrictEqual([found(wide), found(plain)], [true, false])
        const elsewhere = (office: string, name: string) => n2.registry.isComputerElsewhere(office, name)
        assert.deepStrictEqual([yield* elsewhere("P", wide), yield* elsewhere("P", plain)], [true, false])
        assert.strictEqual(yield* outcome(n2.join("2", "computer", plain, "O")), "name_taken")
        yield* n1.leave("1", "O")
        assert.strictEqual(yield* outcome(n2.join("2", "computer", plain, "O")), "ok")
        assert.deepStrictEqual([yield* elsewhere("P", wide), yield* elsewhere("P", plain)], [false, true])
      }
    )

    check("enforces the capacity of an office under a race", function* (open) {
      const seven = { ...unlimitedCapacity, membersPerOffice: 7 }
      const outcomes = yield* race(open, 30, (node, sid) => node.join(sid, "computer", sid, "O", seven))
      assert.deepStrictEqual([count(outcomes, "ok"), count(outcomes, "office_full")], [7, 23])
    })

    check("enforces the limit of offices", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "1", "2")
      const n2 = yield* nodeWith(open, "n2", "3")
      const one = { ...unlimitedCapacity, offices: 1 }
      yield* n1.join("1", "computer", "x", "O", one)
      assert.strictEqual(yield* outcome(n2.join("3", "agent", "x", "P", one)), "too_many_offices")
      assert.strictEqual(yield* outcome(n2.join("3", "agent", "x", "O", one)), "ok")
    })

    check("admits a new Agent on another node as soon as the leave is acknowledged", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "1")
      const n2 = yield* nodeWith(open, "n2", "2")
      yield* n1.join("1", "agent", "x", "O")
      yield* n1.leave("1", "O")
      assert.strictEqual(yield* outcome(n2.join("2", "agent", "x", "O")), "ok")
      yield* n2.disconnect("2")
      assert.strictEqual(yield* outcome(n1.join("1", "agent", "x", "O")), "ok")
    })

    check("moves a Computer by a leave and a join", function* (open) {
      const { n1, n2 } = yield* pair(open)
      yield* n1.connect("e")
      yield* n1.join("e", "computer", "e", "P")
      yield* n2.join("c", "computer", "desk", "P")
      yield* n1.until(() => n1.received.length === 3)
      assert.deepStrictEqual(notified(n1), ["+c desk@O → a", "-c desk@O → a", "+c desk@P → e"])
      assert.deepStrictEqual([sidsIn(n1, "O"), sidsIn(n2, "P")], [["a"], ["e", "c"]])
    })

    check("lets a reconnected member take over its membership on another node", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "a")
      const [n2, n3] = [yield* open("n2"), yield* open("n3")]
      yield* n1.join("a", "agent", "thinker", "O")
      yield* n2.connect("old", "subject\u0000secret")
      yield* n2.join("old", "computer", "desk", "O")
      yield* n3.connect("new", "subject\u0000secret")
      yield* n3.join("new", "computer", "desk", "O")
      yield* n1.until(() => n1.received.length === 3)
      yield* n2.until(() => notified(n2).includes("evicted old"))
      assert.deepStrictEqual(notified(n1), ["+old desk@O → a", "-old desk@O → a", "+new desk@O → a"])
      assert.strictEqual(yield* outcome(n2.leave("old", "O")), "not_in_office")
      yield* n2.disconnect("old")
      assert.deepStrictEqual(sidsIn(n3, "O"), ["a", "new"])
    })

    check("lets a reconnected member take over its membership on the same node", function* (open) {
      const n1 = yield* open("n1")
      for (const sid of ["old", "new"]) {
        yield* n1.connect(sid, "h")
        yield* n1.join(sid, "agent", "thinker", "O")
      }
      yield* n1.until(() => n1.received.length === 2)
      assert.deepStrictEqual(notified(n1), ["-old thinker@O → ", "evicted old"])
      assert.deepStrictEqual(sidsIn(n1, "O"), ["new"])
    })

    for (const [title, reconnectKey, role, name, rejection] of [
      ["by another member", "other", "agent", "thinker", "agent_exists"],
      ["without a reconnect key", "", "agent", "thinker", "agent_exists"],
      ["of an Agent under another name", "h", "agent", "another", "agent_exists"],
      ["of a Computer under another spelling of its name", "h", "computer", "ｄｅｓｋ", "name_taken"]
    ] as const) {
      check(`rejects a takeover ${title}`, function* (open) {
        const [n1, n2] = [yield* open("n1"), yield* open("n2")]
        yield* n1.connect("old", "h")
        yield* n1.join("old", role, role === "agent" ? "thinker" : "desk", "O")
        yield* n2.connect("new", reconnectKey)
        assert.strictEqual(yield* outcome(n2.join("new", role, name, "O")), rejection)
      })
    }

    check("names the current member and the time of its join in a rejection, on every node", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "a", "c")
      const n2 = yield* nodeWith(open, "n2", "b", "d")
      const at = Date.UTC(2026, 10, 23, 12)
      yield* n1.join("a", "agent", "thinker", "O", undefined, { at })
      yield* n1.join("c", "computer", "desk", "O", undefined, { at })
      const time = "connected since 2026-11-23T12:00:00.000Z"
      assert.strictEqual(
        (yield* Effect.flip(n2.join("b", "agent", "other", "O"))).message,
        `Room already has an agent: office 'O' has the Agent 'thinker', ${time}`
      )
      assert.strictEqual(
        (yield* Effect.flip(n2.join("d", "computer", "desk", "O"))).message,
        `Computer with name 'desk' already exists in room 'O': office 'O' has the Computer 'desk', ${time}`
      )
      assert.deepStrictEqual(
        n1.registry.members("O").map(({ joinedAt }) => joinedAt),
        [at, at]
      )
    })

    check("replaces a member of the same subject on request, on another node", function* (open) {
      const n1 = yield* open("n1")
      const n2 = yield* open("n2")
      yield* n1.connect("old", "", "ada")
      yield* n1.join("old", "agent", "thinker", "O")
      yield* n2.connect("eve", "", "eve")
      yield* n2.connect("none")
      yield* n2.connect("new", "", "ada")
      const takeOver = (sid: string, name: string) =>
        outcome(n2.join(sid, "agent", name, "O", undefined, { takeOver: true }))
      assert.strictEqual(yield* takeOver("eve", "thinker"), "agent_exists")
      assert.strictEqual(yield* takeOver("none", "thinker"), "agent_exists")
      assert.strictEqual(yield* outcome(n2.join("new", "agent", "thinker", "O")), "agent_exists")
      assert.strictEqual(yield* takeOver("new", "another"), "ok")
      yield* n1.until(() => n1.received.length === 2)
      assert.deepStrictEqual(notified(n1), ["-old thinker@O → ", "evicted old"])
      assert.deepStrictEqual(sidsIn(n2, "O"), ["new"])
    })

    check("replaces a member without authentication on request of one with the same name", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "old", "new")
      yield* n1.connect("ada", "", "ada")
      yield* n1.join("old", "computer", "desk", "O")
      const takeOver = (sid: string, name: string) =>
        outcome(n1.join(sid, "computer", name, "O", undefined, { takeOver: true }))
      assert.strictEqual(yield* takeOver("new", "ｄｅｓｋ"), "name_taken")
      assert.strictEqual(yield* takeOver("ada", "desk"), "name_taken")
      assert.strictEqual(yield* takeOver("new", "desk"), "ok")
      assert.deepStrictEqual(sidsIn(n1, "O"), ["new"])
    })

    check("finds a Computer in other offices until it leaves", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "1", "2")
      const n2 = yield* open("n2")
      yield* n1.join("1", "computer", "desk", "O")
      yield* n1.join("2", "computer", "desk", "P")
      yield* n1.disconnect("1")
      const elsewhere = (office: string) => n2.registry.isComputerElsewhere(office, "desk")
      assert.deepStrictEqual([yield* elsewhere("O"), yield* elsewhere("P")], [true, false])
      yield* n1.disconnect("2")
      assert.isFalse(yield* elsewhere("O"))
    })

    check("removes the members of a node that ends", function* (open) {
      const n1 = yield* nodeWith(open, "n1", "a")
      yield* n1.join("a", "agent", "thinker", "O")
      const scope = yield* Scope.make()
      const n2 = yield* Scope.provide(nodeWith(open, "n2", "c"), scope)
      yield* n2.join("c", "computer", "desk", "O")
      yield* Scope.close(scope, Exit.void)
      yield* n1.until(() => n1.received.length === 3)
      assert.deepStrictEqual(notified(n1), ["+c desk@O → a", "-c desk@O → a", "gone n2"])
      assert.deepStrictEqual(sidsIn(n1, "O"), ["a"])
    })

    check("reports many concurrent changes to every node once and in order", function* (open) {
      const nodes = yield* Effect.forEach(["n1", "n2", "n3"], open)
      yield* Effect.forEach(nodes, (node, index) =>
        Effect.andThen(node.connect(`w${index}`), node.join(`w${index}`, "computer", `watcher ${index}`, "O"))
      )
      const storm = Array.from({ length: 60 }, (_, index) => index)
      yield* Effect.forEach(
        storm,
        (index) => {
          const node = nodes[index % 3] as TestNode
          const sid = `c${index}`
          const join = node.join(sid, "computer", sid, "O")
          return Effect.all([node.connect(sid), join, node.disconnect(sid)], { discard: true })
        },
        { concurrency: "unbounded" }
      )
      for (const [index, node] of nodes.entries()) {
        const forWatcher = () =>
          node.received.filter(
            (change) => "recipients" in change && change.recipients.includes(`w${index}`)
          ) as ReadonlyArray<Extract<TestNode["received"][number], { recipients: unknown }>>
        const left = () => forWatcher().filter(({ _tag, sid }) => _tag === "Left" && sid.startsWith("c"))
        yield* node.until(() => left().length === 60)
        for (const sid of storm.map((one) => `c${one}`)) {
          const own = forWatcher().filter((change) => change.sid === sid)
          assert.deepStrictEqual(
            own.map(({ _tag }) => _tag),
            ["Entered", "Left"]
          )
        }
        assert.deepStrictEqual(sidsIn(node, "O"), ["w0", "w1", "w2"])
      }
    })

    check("keeps no state after all sessions have disconnected", function* (open) {
      const { n1, n2 } = yield* pair(open)
      yield* n1.disconnect("a")
      yield* n2.disconnect("c")
      for (const { registry } of [n1, n2]) {
        const { offices, sessions } = registry.state()
        assert.deepStrictEqual([offices, sessions], [0, 0])
      }
    })

    it.live(
      "gives the outcomes of the domain rules for random commands",
      () =>
        Effect.gen(function* () {
          const result = yield* Arbitrary.checkEffect(
            Arbitrary.schema(Steps),
            (steps) => Effect.as(Effect.scoped(followRules(cluster(), sane(steps.map(toCommand)))), true),
            { runs: name === "memory" ? 200 : 40, size: 30 }
          )
          assert.strictEqual(result._tag, "Passed", JSON.stringify(result))
        }),
      180_000
    )
  })
}
