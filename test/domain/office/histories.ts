import { Arbitrary, Option, Schema } from "effect"
import type { MembershipCommand } from "../../../src/domain/office/decide.ts"
import type { Capacity } from "../../../src/domain/office/MembershipState.ts"

/** Everything is taken from few words, so that sessions are in each other's way as often as can be. */
export const sids = ["1", "2", "3", "4", "5", "6"] as const
export const names = ["x", "y", "__proto__"] as const
export const officeIds = ["O", "P", 'toString"\n'] as const

/** A number that no history of ours reaches. */
const plenty = 1000

const shared = {
  sid: Schema.Literals(sids),
  /** Turns of the event loop that it waits; only where commands are issued at once. */
  turns: Schema.Literals([0, 1, 2, 4]),
  /** Does it wait for all before it? Only where commands are issued at once. */
  waits: Schema.Literals([true, false, false])
}
const Join = Schema.Struct({
  do: Schema.Literal("join"),
  ...shared,
  role: Schema.Literals(["agent", "computer"]),
  name: Schema.Literals(names),
  office: Schema.Literals(officeIds)
})
const Connect = Schema.Struct({
  do: Schema.Literal("connect"),
  ...shared,
  role: Schema.Literals(["any", "any", "agent", "computer"]),
  reconnectKey: Schema.Literals(["", "h", "h", "i"])
})
const Leave = Schema.Struct({ do: Schema.Literal("leave"), ...shared, office: Schema.Literals(officeIds) })
const Disconnect = Schema.Struct({ do: Schema.Literal("disconnect"), ...shared })

/** What somebody does. Kinds that stand here repeatedly are as much more frequent. */
const AnyStep = Schema.Union([Connect, Connect, Connect, Join, Join, Join, Join, Join, Leave, Disconnect])
export type Step = typeof AnyStep.Type

const ReturningConnect = Schema.Struct({
  ...Connect.fields,
  role: Schema.Literal("any"),
  reconnectKey: Schema.Literals(["h", "h", "h", "i"])
})
const ReturningJoin = Schema.Struct({
  ...Join.fields,
  role: Schema.Literals(["computer", "computer", "computer", "agent"]),
  name: Schema.Literal("x"),
  office: Schema.Literals(["O", "O", "P"])
})

/** What connections of hardly more than one member do, which take each other's seats. */
const ReturningStep = Schema.Union([
  ReturningConnect,
  ReturningConnect,
  ReturningJoin,
  ReturningJoin,
  ReturningJoin,
  ReturningJoin,
  Leave,
  Disconnect
])

const Limits = Schema.Struct({
  offices: Schema.Literals([plenty, plenty, 1, 2]),
  membersPerOffice: Schema.Literals([plenty, plenty, 1, 2, 3])
})

/** What several sessions do, one after the other, and how much room there is for them. */
export interface History {
  readonly capacity: Capacity
  readonly steps: ReadonlyArray<Step>
}

const historiesOf =
  (Steps: Schema.Codec<Step>) =>
  (steps: number): Arbitrary.Arbitrary<History> =>
    Arbitrary.all({
      capacity: Arbitrary.schema(Limits),
      steps: Arbitrary.array(Arbitrary.schema(Steps), { maxLength: steps })
    })

/** Histories of so many steps at most. They shrink by leaving steps out. */
export const histories = historiesOf(AnyStep)

/** The same of connections that belong to one member, but for a few: they take each other's seats. */
export const returns = historiesOf(ReturningStep)

/** The Server that holds a session's connection, of so many. */
export const nodeOf = (sid: string, nodes: number): string => `n${Number(sid) % nodes}`

/** A step as a command on one of so many Servers. */
export const commandOf = (step: Step, nodes: number): MembershipCommand => {
  const { sid } = step
  switch (step.do) {
    case "connect": {
      const role = step.role === "any" ? Option.none() : Option.some(step.role)
      return {
        _tag: "Connect",
        sid,
        node: nodeOf(sid, nodes),
        version: "0.2.0",
        role,
        reconnectKey: step.reconnectKey
      }
    }
    case "join": {
      const { name, office, role } = step
      return { _tag: "Join", sid, role, name, office }
    }
    case "leave":
      return { _tag: "Leave", sid, office: step.office }
    case "disconnect":
      return { _tag: "Disconnect", sid }
  }
}

/** A command in a few words. */
export const inWords = (command: MembershipCommand): string => {
  const { sid } = command
  switch (command._tag) {
    case "Connect":
      return `${sid} connects (${Option.getOrElse(command.role, () => "any role")}, holder '${command.reconnectKey}')`
    case "Join":
      return `${sid} joins ${JSON.stringify(command.office)} as ${command.role} ${command.name}`
    case "Leave":
      return `${sid} leaves ${JSON.stringify(command.office)}`
    case "Disconnect":
      return `${sid} disconnects`
  }
}

/** The commands of a history one after the other. Connects happen once per session, as on a real transport. */
export const commandsOf = ({ steps }: History, nodes = 1): ReadonlyArray<MembershipCommand> => {
  const alive = new Set<string>()
  return steps.flatMap((step) => {
    if (step.do === "connect") {
      if (alive.has(step.sid)) return []
      alive.add(step.sid)
    }
    if (step.do === "disconnect") alive.delete(step.sid)
    return [commandOf(step, nodes)]
  })
}
