import { assert, describe, it } from "@effect/vitest"
import { HashMap, Option, Result, Schema } from "effect"
import { checkJoin, decide, evolve, type JoinTerms, type MembershipCommand } from "../../../src/domain/office/decide.ts"
import {
  type Capacity,
  isComputerElsewhere,
  findComputer,
  membersOf,
  emptyMembershipState,
  type MembershipState,
  unlimitedCapacity
} from "../../../src/domain/office/MembershipState.ts"

const connect = (sid: string, role?: "agent" | "computer", reconnectKey = "", subject = ""): MembershipCommand => ({
  _tag: "Connect",
  sid,
  node: "n",
  reconnectKey,
  subject,
  version: "0.2.0",
  role: Option.fromNullishOr(role)
})
const join = (
  sid: string,
  role: "agent" | "computer",
  name: string,
  office: string,
  terms: JoinTerms = {}
): MembershipCommand => ({ _tag: "Join", sid, role, name, office, ...terms })
const leave = (sid: string, office: string): MembershipCommand => ({ _tag: "Leave", sid, office })
const disconnect = (sid: string): MembershipCommand => ({ _tag: "Disconnect", sid })

const apply = (state: MembershipState, command: MembershipCommand): MembershipState =>
  Result.match(decide(state, command), {
    onFailure: () => state,
    onSuccess: (events) => events.reduce(evolve, state)
  })
const after = (...commands: ReadonlyArray<MembershipCommand>) => commands.reduce(apply, emptyMembershipState)
const rejection = (state: MembershipState, command: MembershipCommand) =>
  Result.match(decide(state, command), { onFailure: ({ reason }) => reason, onSuccess: () => "accepted" })
const sidOf = (state: MembershipState, office: string, name: string) =>
  Option.getOrUndefined(findComputer(state, office, name))?.sid
const notified = (state: MembershipState, command: MembershipCommand) =>
  Result.getOrThrow(decide(state, command)).map((event) =>
    "membership" in event ? `${event._tag} ${event.membership.office}` : event._tag
  )

const a1 = [connect("a1", "agent"), join("a1", "agent", "agent-1", "O1")]
const c1 = [connect("c1", "computer"), join("c1", "computer", "pc-1", "O1")]

const Sid = Schema.Literals(["1", "2", "3", "4", "5"])
const Office = Schema.Literals(["O1", "O2", "__proto__"])
const Steps = Schema.Array(
  Schema.Union([
    Schema.Struct({
      do: Schema.Literal("connect"),
      sid: Sid,
      role: Schema.Literals(["agent", "computer", "any"])
    }),
    Schema.Struct({
      do: Schema.Literal("join"),
      sid: Sid,
      role: Schema.Literals(["agent", "computer"]),
      name: Schema.Literals(["x", "y", "toString"]),
      office: Office
    }),
    Schema.Struct({ do: Schema.Literal("leave"), sid: Sid, office: Office }),
    Schema.Struct({ do: Schema.Literal("disconnect"), sid: Sid })
  ])
)
const toCommand = (step: (typeof Steps.Type)[number]): MembershipCommand => {
  switch (step.do) {
    case "connect":
      return connect(step.sid, step.role === "any" ? undefined : step.role)
    case "join":
      return join(step.sid, step.role, step.name, step.office)
    case "leave":
      return leave(step.sid, step.office)
    case "disconnect":
      return disconnect(step.sid)
  }
}
/** Each session connects once, like on a real transport. */
const sane = (commands: ReadonlyArray<MembershipCommand>) => {
  const alive = new Set<string>()
  return commands.filter((command) => {
    if (command._tag === "Connect") return !alive.has(command.sid) && alive.add(command.sid)
    if (command._tag === "Disconnect") alive.delete(command.sid)
    return true
  })
}

describe("membership", () => {
  it.prop("keeps the rules after any history", [Steps], ([steps]) => {
    const state = sane(steps.map(toCommand)).reduce(apply, emptyMembershipState)
    const members = [...HashMap.values(state.sessions)].flatMap(({ membership, sid }) =>
      Option.toArray(Option.map(membership, (place) => ({ sid, ...place })))
    )
    for (const office of ["O1", "O2", "__proto__"]) {
      const here = members.filter((one) => one.office === office)
      const names = here.filter(({ role }) => role === "computer").map(({ name }) => name)
      assert.isAtMost(here.filter(({ role }) => role === "agent").length, 1)
      assert.strictEqual(new Set(names).size, names.length)
      assert.deepStrictEqual(
        membersOf(state, office)
          .map(({ sid }) => sid)
          .sort(),
        here.map(({ sid }) => sid).sort()
      )
      for (const { name, sid } of here.filter(({ role }) => role === "computer")) {
        assert.deepStrictEqual(sidOf(state, office, name), sid)
      }
    }
    for (const name of ["x", "y", "toString"]) {
      assert.strictEqual(
        isComputerElsewhere(state, "O1", name),
        members.some((one) => one.role === "computer" && one.name === name && one.office !== "O1")
      )
    }
  })

  it.prop("keeps no state after all members left", [Steps], ([steps]) => {
    const state = sane(steps.map(toCommand)).reduce(apply, emptyMembershipState)
    const end = ["1", "2", "3", "4", "5"].map(disconnect).reduce(apply, state)
    assert.deepStrictEqual(
      [HashMap.size(end.sessions), HashMap.size(end.offices), HashMap.size(end.computerNames)],
      [0, 0, 0]
    )
  })

  it.prop("ignores the repetition of an accepted join", [Steps], ([steps]) => {
    const commands = sane(steps.map(toCommand))
    const last = commands.findLast(({ _tag }) => _tag === "Join")
    const before = commands.reduce(apply, emptyMembershipState)
    if (last !== undefined && Result.isSuccess(decide(before, last))) {
      assert.deepStrictEqual(Result.getOrThrow(decide(apply(before, last), last)), [])
    }
  })

  it("numbers a member by the revision of its join", () => {
    const state = after(...a1, ...c1)
    assert.deepStrictEqual(
      membersOf(state, "O1").map(({ joinRevision, sid }) => [sid, joinRevision]),
      [
        ["a1", 1],
        ["c1", 2]
      ]
    )
    assert.strictEqual(state.revision, 2)
  })

  it("distinguishes a new join from a repeated one by the session alone", () => {
    const { sessions } = after(...c1)
    const session = HashMap.getUnsafe(sessions, "c1")
    const check = (office: string) => Result.getOrThrow(checkJoin(session, { office, role: "computer", name: "pc-1" }))
    assert.strictEqual(check("O1"), "unchanged")
    assert.strictEqual(check("O2"), "new")
    assert.strictEqual(
      Result.getOrThrow(
        checkJoin({ ...session, membership: Option.none() }, { office: "O1", role: "computer", name: "pc-1" })
      ),
      "new"
    )
  })

  it("case 040: rejects a second Agent with the protocol's message, the first one's name, and the time of its join", () => {
    const first = join("a1", "agent", "agent-1", "O1", { at: 0 })
    const outcome = decide(after(connect("a1"), first, connect("a2")), join("a2", "agent", "agent-2", "O1"))
    assert.strictEqual(
      Result.getOrThrow(Result.flip(outcome)).message,
      "Room already has an agent: office 'O1' has the Agent 'agent-1', connected since 1970-01-01T00:00:00.000Z"
    )
  })

  it("replaces an Agent of the same subject on request, also under another name", () => {
    const state = after(connect("a1", "agent", "", "ada"), join("a1", "agent", "one", "O1"))
    const attempt = (subject: string, name: string) =>
      rejection(apply(state, connect("a2", "agent", "", subject)), join("a2", "agent", name, "O1", { takeOver: true }))
    assert.strictEqual(attempt("eve", "one"), "agent_exists")
    assert.strictEqual(attempt("", "one"), "agent_exists")
    assert.strictEqual(attempt("ada", "two"), "accepted")
  })

  it("replaces an Agent without authentication only by one of the same name", () => {
    const attempt = (name: string) =>
      rejection(after(...a1, connect("a2")), join("a2", "agent", name, "O1", { takeOver: true }))
    assert.strictEqual(attempt("agent-2"), "agent_exists")
    assert.strictEqual(attempt("agent-1"), "accepted")
  })

  it("case 043: requires an Agent to leave before it joins another office", () => {
    assert.strictEqual(rejection(after(...a1), join("a1", "agent", "agent-1", "O2")), "agent_in_other_office")
  })

  it("case 045: moves a Computer that joins another office", () => {
    assert.deepStrictEqual(notified(after(...c1), join("c1", "computer", "pc-1", "O2")), ["Left O1", "Entered O2"])
  })

  it("cases 042 and 047: accepts a repeated join without events", () => {
    assert.deepStrictEqual(notified(after(...a1), join("a1", "agent", "agent-1", "O1")), [])
    assert.deepStrictEqual(notified(after(...c1), join("c1", "computer", "pc-1", "O1")), [])
  })

  it("case 048: rejects a second Computer with the same name in an office", () => {
    const outcome = decide(after(...c1, connect("c2")), join("c2", "computer", "pc-1", "O1"))
    assert.strictEqual(
      Result.getOrThrow(Result.flip(outcome)).message,
      "Computer with name 'pc-1' already exists in room 'O1': office 'O1' has the Computer 'pc-1'"
    )
  })

  it("case 050: keeps a Computer in its office after a rejected join", () => {
    const state = after(...c1, connect("c2"), join("c2", "computer", "pc-1", "O2"))
    assert.strictEqual(rejection(state, join("c1", "computer", "pc-1", "O2")), "name_taken")
    assert.strictEqual(sidOf(state, "O1", "pc-1"), "c1")
  })

  it("case 051: rejects another name in the same office", () => {
    assert.strictEqual(rejection(after(...c1), join("c1", "computer", "pc-x", "O1")), "name_mismatch")
  })

  it("cases 052 and 053: fixes the role by the handshake or the first join", () => {
    assert.strictEqual(rejection(after(connect("1", "agent")), join("1", "computer", "x", "O1")), "role_mismatch")
    const once = after(connect("1"), join("1", "agent", "x", "O1"), leave("1", "O1"))
    assert.strictEqual(rejection(once, join("1", "computer", "x", "O1")), "role_mismatch")
  })

  it("case 054: allows the same name for an Agent and a Computer", () => {
    assert.strictEqual(rejection(after(...a1, connect("c")), join("c", "computer", "agent-1", "O1")), "accepted")
  })

  it("cases 066 and 067: rejects a leave without a membership", () => {
    assert.strictEqual(rejection(after(...c1), leave("c1", "O2")), "not_in_office")
    assert.strictEqual(rejection(after(connect("c")), leave("c", "O1")), "not_in_office")
  })

  describe("takeover of a stale connection", () => {
    const agent = [connect("a1", "agent", "h"), join("a1", "agent", "agent-1", "O1")]
    const computer = [connect("c1", "computer", "h"), join("c1", "computer", "pc-1", "O1")]

    it("replaces the old connection", () => {
      const state = after(...computer, connect("c2", "computer", "h"))
      assert.deepStrictEqual(notified(state, join("c2", "computer", "pc-1", "O1")), ["Left O1", "Entered O1"])
      const next = apply(state, join("c2", "computer", "pc-1", "O1"))
      assert.deepStrictEqual([sidOf(next, "O1", "pc-1"), rejection(next, leave("c1", "O1"))], ["c2", "not_in_office"])
    })

    it("requires the same name", () => {
      const state = after(...agent, connect("a2", "agent", "h"))
      assert.strictEqual(rejection(state, join("a2", "agent", "agent-2", "O1")), "agent_exists")
      assert.strictEqual(rejection(state, join("a2", "agent", "agent-1", "O1")), "accepted")
    })

    it("requires the same secret", () => {
      const others = after(...computer, connect("c2", "computer", "other"), connect("c3", "computer"))
      assert.strictEqual(rejection(others, join("c2", "computer", "pc-1", "O1")), "name_taken")
      assert.strictEqual(rejection(others, join("c3", "computer", "pc-1", "O1")), "name_taken")
    })

    it("rejects a join without a secret", () => {
      const state = after(...c1, connect("c2"))
      assert.strictEqual(rejection(state, join("c2", "computer", "pc-1", "O1")), "name_taken")
    })
  })

  describe("capacity", () => {
    const decided = (state: MembershipState, command: MembershipCommand, capacity: Partial<Capacity>) =>
      Result.match(decide(state, command, { ...unlimitedCapacity, ...capacity }), {
        onFailure: ({ reason }) => reason,
        onSuccess: () => "accepted"
      })

    it("limits the members of an office", () => {
      const state = after(...a1, ...c1, connect("c2"))
      const enter = join("c2", "computer", "pc-2", "O1")
      assert.strictEqual(decided(state, enter, { membersPerOffice: 2 }), "office_full")
      assert.strictEqual(decided(state, enter, { membersPerOffice: 3 }), "accepted")
    })

    it("allows a takeover in a full office", () => {
      const state = after(
        connect("c1", "computer", "h"),
        join("c1", "computer", "x", "O1"),
        connect("c2", "computer", "h")
      )
      assert.strictEqual(decided(state, join("c2", "computer", "x", "O1"), { membersPerOffice: 1 }), "accepted")
    })

    it("limits the offices", () => {
      const state = after(...c1, connect("c2"))
      const open = join("c2", "computer", "pc-2", "O2")
      assert.strictEqual(decided(state, open, { offices: 1 }), "too_many_offices")
      assert.strictEqual(decided(state, open, { offices: 2 }), "accepted")
    })

    it("frees an office when its last Computer moves", () => {
      assert.strictEqual(decided(after(...c1), join("c1", "computer", "pc-1", "O2"), { offices: 1 }), "accepted")
    })
  })

  it("cases 068 and 071: leaves once on disconnect", () => {
    assert.deepStrictEqual(notified(after(...c1), disconnect("c1")), ["Left O1", "Disconnected"])
    assert.deepStrictEqual(notified(after(...c1, leave("c1", "O1")), disconnect("c1")), ["Disconnected"])
    assert.deepStrictEqual(notified(after(...c1, disconnect("c1")), disconnect("c1")), [])
  })
})
