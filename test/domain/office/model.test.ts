import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, HashMap, Option, Result } from "effect"
import {
  decide,
  evolve,
  type MembershipCommand,
  type MembershipEvent,
  findComputer,
  isComputerElsewhere,
  membersOf,
  emptyMembershipState,
  type MembershipState
} from "../../../src/domain/office/decideMembership.ts"
import { MembershipError, type Membership } from "../../../src/domain/model/Membership.ts"
import { sortedMembers } from "../../../src/domain/office/OfficeReplica.ts"
import { commandsOf, histories, type History, inWords, names, officeIds } from "./histories.ts"
import {
  expectedOutcome,
  listedMembers,
  type ModelNotification,
  type ModelSessions,
  modelMembersOf
} from "./referenceModel.ts"

/** The rules of membership, or a mutant of them. */
interface Rules {
  readonly decide: (...given: Required<Parameters<typeof decide>>) => ReturnType<typeof decide>
  readonly evolve: typeof evolve
}

const rules: Rules = { decide, evolve }

/** The notification of an event, for all members of the office except its subject. */
const notificationsOf = (after: MembershipState, event: MembershipEvent): ReadonlyArray<ModelNotification> => {
  if (event._tag !== "Entered" && event._tag !== "Left") return []
  const { _tag, membership, sid } = event
  const to = membersOf(after, membership.office)
    .map((member) => member.sid)
    .filter((other) => other !== sid)
  return [{ kind: _tag, sid, membership, to, replaced: event._tag === "Left" && event.replaced }]
}

const inOneOrder = (notifications: ReadonlyArray<ModelNotification>) =>
  notifications.map(({ replaced, membership: { name, office, role }, sid, to, kind }) =>
    JSON.stringify([kind, sid, office, role, name, to.toSorted(), replaced])
  )

/** The observable state of all offices, counted from their members. */
const seenByRules = (state: MembershipState) => ({
  sessions: [...HashMap.values(state.sessions)]
    .map(({ reconnectKey, role, membership, sid }) =>
      JSON.stringify([sid, reconnectKey, Option.getOrNull(role), placeOf(Option.getOrUndefined(membership))])
    )
    .toSorted(),
  offices: [...HashMap.entries(state.offices)]
    .map(([id, office]) =>
      JSON.stringify([id, sortedMembers(office).map(({ membership, sid }) => [sid, placeOf(membership)])])
    )
    .toSorted(),
  names: [...HashMap.entries(state.computerNames)].map(([name, count]) => `${name} ${count}`).toSorted(),
  found: officeIds.flatMap((office) => names.map((name) => Option.getOrNull(findComputer(state, office, name))?.sid)),
  elsewhere: officeIds.flatMap((office) => names.map((name) => isComputerElsewhere(state, office, name)))
})

const seenByModel = (sessions: ModelSessions): ReturnType<typeof seenByRules> => {
  const computers = sessions.filter(({ membership }) => membership?.role === "computer")
  const bearing = (name: string) => computers.filter(({ membership }) => membership?.name === name)
  return {
    sessions: sessions
      .map(({ membership, reconnectKey, role, sid }) =>
        JSON.stringify([sid, reconnectKey, role ?? null, placeOf(membership)])
      )
      .toSorted(),
    offices: officeIds
      .filter((id) => modelMembersOf(sessions, id).length > 0)
      .map((id) =>
        JSON.stringify([id, listedMembers(sessions, id).map(({ membership, sid }) => [sid, placeOf(membership)])])
      )
      .toSorted(),
    names: names
      .filter((name) => bearing(name).length > 0)
      .map((name) => `${name} ${bearing(name).length}`)
      .toSorted(),
    found: officeIds.flatMap((office) =>
      names.map((name) => bearing(name).find(({ membership }) => membership?.office === office)?.sid)
    ),
    elsewhere: officeIds.flatMap((office) =>
      names.map((name) => bearing(name).some(({ membership }) => membership?.office !== office))
    )
  }
}

const placeOf = (membership: Membership | undefined) =>
  membership === undefined ? null : [membership.office, membership.role, membership.name]

/** The invariants of every state: one Agent per office, unique names, one office per session. */
const brokenRule = (state: MembershipState): string | undefined => {
  const sids = new Set<string>()
  for (const id of officeIds) {
    const members = membersOf(state, id)
    const computers = members
      .filter(({ membership }) => membership.role === "computer")
      .map(({ membership }) => membership.name)
    if (members.length - computers.length > 1) return `two Agents in ${id}`
    if (new Set(computers.map((name) => name.normalize("NFKC"))).size < computers.length)
      return `two Computers of one name in ${id}`
    for (const { membership, sid } of members) {
      if (membership.office !== id) return `${sid} is listed in ${id} and sits in ${membership.office}`
      if (sids.has(sid)) return `${sid} is in two offices`
      sids.add(sid)
    }
  }
  return undefined
}

const inLines = (seen: object): ReadonlyArray<string> =>
  Object.entries(seen).map(([what, value]) => `${what} ${JSON.stringify(value)}`)

/** The first difference between rules and the model in a history; `undefined` without one. */
const difference = (tried: Rules, history: History): string | undefined => {
  let state = emptyMembershipState
  let sessions: ModelSessions = []
  let notified = 0
  for (const command of commandsOf(history)) {
    const expected = expectedOutcome(sessions, command, history.capacity)
    const decision = tried.decide(state, command, history.capacity)
    const prints = Result.match(decision, { onFailure: ({ reason }) => reason, onSuccess: () => "ok" })
    const notifications: Array<ModelNotification> = []
    for (const event of Result.getOrElse(decision, () => [])) {
      state = tried.evolve(state, event)
      notifications.push(...notificationsOf(state, event))
    }
    sessions = expected.after
    notified += expected.notifications.length
    const broken = brokenRule(state)
    if (broken !== undefined) return `${inWords(command)}: ${broken}`
    const actually = inLines({
      prints,
      notifications: inOneOrder(notifications),
      notified: state.revision,
      ...seenByRules(state)
    })
    const wanted = inLines({
      prints: expected.result,
      notifications: inOneOrder(expected.notifications),
      notified,
      ...seenByModel(sessions)
    })
    const wrong = wanted.findIndex((line, index) => line !== actually[index])
    if (wrong >= 0) return `${inWords(command)}: ${actually[wrong]} instead of ${wanted[wrong]}`
  }
  return undefined
}

const longest = 60

/** The factor for the number of histories. */
const times = Number(process.env["A2C_MODEL_RUNS"] ?? 1)

/** The number of histories; the search for a mutant ends at the first difference. */
const runs = 2000 * times

/** The number of attempts to shrink a failing history. */
const maxShrinks = 5000

const check = (tried: Rules, seed?: number) =>
  Arbitrary.checkEffect(
    histories(longest),
    (history) => {
      const found = difference(tried, history)
      return found === undefined ? Effect.succeed(true) : Effect.fail(found)
    },
    { runs, size: longest, maxShrinks, seed }
  )

type Decide = Rules["decide"]

/** Accepts what these reasons reject, by deciding on a changed state. */
const ignoring =
  (
    reasons: ReadonlyArray<MembershipError["reason"]>,
    otherwise: (state: MembershipState, command: MembershipCommand) => MembershipState
  ): Decide =>
  (state, command, capacity) => {
    const decision = decide(state, command, capacity)
    const isRefused = Result.isFailure(decision) && reasons.includes(decision.failure.reason)
    return isRefused ? decide(otherwise(state, command), command, capacity) : decision
  }

const changingEvents =
  (
    change: (
      events: ReadonlyArray<MembershipEvent>,
      command: MembershipCommand,
      state: MembershipState
    ) => ReadonlyArray<MembershipEvent>
  ): Decide =>
  (state, command, capacity) =>
    Result.map(decide(state, command, capacity), (events) => change(events, command, state))

const sessionOf = (state: MembershipState, sid: string) => HashMap.getUnsafe(state.sessions, sid)

const entering = (command: MembershipCommand): ReadonlyArray<MembershipEvent> =>
  command._tag === "Join"
    ? [
        {
          _tag: "Entered",
          sid: command.sid,
          membership: { office: command.office, role: command.role, name: command.name }
        }
      ]
    : []

interface Mutant extends Partial<Rules> {
  readonly mistake: string
  /** The smallest number of commands that shows the mistake. */
  readonly fewest: number
}

const mutants: ReadonlyArray<Mutant> = [
  {
    mistake: "accepts a second Agent in an office",
    fewest: 4,
    decide: ignoring(["agent_exists"], (state) => ({
      ...state,
      offices: HashMap.map(state.offices, (office) => ({ ...office, agent: Option.none() }))
    }))
  },
  {
    mistake: "allows a takeover without the member's secret",
    fewest: 4,
    decide: ignoring(["agent_exists", "name_taken"], (state) => ({
      ...state,
      sessions: HashMap.map(state.sessions, (session) => ({ ...session, reconnectKey: "shared" }))
    }))
  },
  {
    mistake: "treats a missing secret as a secret",
    fewest: 4,
    decide: ignoring(["agent_exists", "name_taken"], (state) => ({
      ...state,
      sessions: HashMap.map(state.sessions, (session) => ({
        ...session,
        reconnectKey: session.reconnectKey || "none"
      }))
    }))
  },
  {
    mistake: "rejects every takeover",
    fewest: 4,
    decide: (state, command, capacity) =>
      decide(state, command._tag === "Connect" ? { ...command, reconnectKey: "", subject: "" } : command, capacity)
  },
  {
    mistake: "replaces a member of another subject on request",
    fewest: 4,
    decide: (state, command, capacity) =>
      decide(state, command._tag === "Connect" ? { ...command, subject: "shared" } : command, capacity)
  },
  {
    mistake: "replaces a member of the same subject without a request",
    fewest: 4,
    decide: (state, command, capacity) =>
      decide(state, command._tag === "Join" ? { ...command, takeOver: true } : command, capacity)
  },
  {
    mistake: "requires unique names of Computers over all offices",
    fewest: 4,
    decide: (state, command, capacity) =>
      command._tag === "Join" && command.role === "computer" && isComputerElsewhere(state, command.office, command.name)
        ? Result.fail(new MembershipError({ reason: "name_taken", message: "" }))
        : decide(state, command, capacity)
  },
  {
    mistake: "notifies twice of a leave",
    fewest: 3,
    decide: changingEvents((events) =>
      events.flatMap((one): ReadonlyArray<MembershipEvent> => (one._tag === "Left" ? [one, one] : [one]))
    )
  },
  {
    mistake: "omits the leave of a Computer that moves",
    fewest: 3,
    decide: changingEvents((events, command) =>
      command._tag === "Join" ? events.filter(({ _tag }) => _tag !== "Left") : events
    )
  },
  {
    mistake: "omits the leave of a disconnect",
    fewest: 3,
    decide: changingEvents((events, command) =>
      command._tag === "Disconnect" ? events.filter(({ _tag }) => _tag !== "Left") : events
    )
  },
  {
    mistake: "notifies of a repeated join",
    fewest: 3,
    decide: changingEvents((events, command) => (events.length === 0 ? entering(command) : events))
  },
  {
    mistake: "allows an Agent to move without a leave",
    fewest: 3,
    decide: ignoring(["agent_in_other_office"], (state, { sid }) => ({
      ...state,
      sessions: HashMap.set(state.sessions, sid, { ...sessionOf(state, sid), membership: Option.none() })
    }))
  },
  {
    mistake: "removes a Computer after a rejected join",
    fewest: 5,
    decide: (state, command, capacity) => {
      const decision = decide(state, command, capacity)
      if (command._tag !== "Join" || Result.isSuccess(decision) || decision.failure.reason !== "name_taken") {
        return decision
      }
      return Option.match(sessionOf(state, command.sid).membership, {
        onNone: () => decision,
        onSome: (membership) => Result.succeed([{ _tag: "Left", sid: command.sid, membership, replaced: false }])
      })
    }
  },
  {
    mistake: "accepts a change of the role",
    fewest: 2,
    decide: ignoring(["role_mismatch"], (state, { sid }) => ({
      ...state,
      sessions: HashMap.set(state.sessions, sid, { ...sessionOf(state, sid), role: Option.none() })
    }))
  },
  {
    mistake: "accepts one member over the capacity",
    fewest: 4,
    decide: (state, command, { membersPerOffice, offices }) =>
      decide(state, command, { membersPerOffice: membersPerOffice + 1, offices })
  },
  {
    mistake: "accepts one office over the capacity",
    fewest: 4,
    decide: (state, command, { membersPerOffice, offices }) =>
      decide(state, command, { membersPerOffice, offices: offices + 1 })
  },
  {
    mistake: "accepts a leave of another office",
    fewest: 3,
    decide: (state, command, capacity) => {
      if (command._tag !== "Leave") return decide(state, command, capacity)
      const membership = Option.flatMap(HashMap.get(state.sessions, command.sid), (session) => session.membership)
      const office = Option.match(membership, { onNone: () => command.office, onSome: (own) => own.office })
      return decide(state, { ...command, office }, capacity)
    }
  },
  {
    mistake: "keeps the names of Computers that left",
    fewest: 3,
    evolve: (state, event) => ({
      ...evolve(state, event),
      ...(event._tag === "Left" ? { computerNames: state.computerNames } : {})
    })
  },
  {
    mistake: "keeps empty offices",
    fewest: 3,
    evolve: (state, event) => {
      const next = evolve(state, event)
      if (event._tag !== "Left" || HashMap.has(next.offices, event.membership.office)) return next
      const empty = { agent: Option.none(), computers: HashMap.empty() }
      return { ...next, offices: HashMap.set(next.offices, event.membership.office, empty) }
    }
  }
]

describe("membership rules", () => {
  it.effect(
    `equals the reference model in ${runs} histories of up to ${longest} commands`,
    () => Effect.map(check(rules), (result) => assert.isUndefined(Arbitrary.formatCheckFailure(result))),
    180_000 * times
  )

  describe("mutant of the membership rules", () => {
    it.effect.each(mutants)(
      "$mistake",
      ({ fewest, mistake, ...tried }) =>
        Effect.gen(function* () {
          const result = yield* check({ ...rules, ...tried }, 1)
          if (result._tag !== "Falsified") return assert.fail(`no history shows the mutant: ${mistake}`)
          const commands = commandsOf(result.shrunkInput).map(inWords)
          assert.isAtMost(commands.length, fewest, commands.join("\n"))
        }),
      180_000
    )
  })
})
