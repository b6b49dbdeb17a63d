import { Arbitrary, Option, Schema } from "effect"
import type { MembershipCommand, Capacity } from "../../../src/domain/office/decideMembership.ts"

/** Few different names, which maximizes conflicts between sessions. */
export const sids = ["1", "2", "3", "4", "5", "6"] as const
/** The second name equals the first one after NFKC. */
export const names = ["x", "\uff58", "__proto__"] as const
export const officeIds = ["O", "P", 'toString"\n'] as const

/** A number that no history reaches. */
const plenty = 1000

const shared = {
  sid: Schema.Literals(sids),
  /** Event loop ticks to wait before the command; only for concurrent commands. */
  turns: Schema.Literals([0, 1, 2, 4]),
  /** True when it waits for all earlier commands; only for concurrent commands. */
  waits: Schema.Literals([true, false, false])
}
const Join = Schema.Struct({
  do: Schema.Literal("join"),
  ...shared,
  role: Schema.Literals(["agent", "computer"]),
  name: Schema.Literals(names),
  office: Schema.Literals(officeIds),
  takeOver: Schema.Literals([false, false, true])
})
const Connect = Schema.Struct({
  do: Schema.Literal("connect"),
  ...shared,
  role: Schema.Literals(["any", "any", "agent", "computer"]),
  reconnectKey: Schema.Literals(["", "h", "h", "i"]),
  /** The empty one is that of a client without authentication. */
  subject: Schema.Literals(["", "ada", "eve"])
})
const Leave = Schema.Struct({ do: Schema.Literal("leave"), ...shared, office: Schema.Literals(officeIds) })
const Disconnect = Schema.Struct({ do: Schema.Literal("disconnect"), ...shared })

/** The kinds of steps. Repetition raises the frequency of a kind. */
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

/** The kinds of steps of connections that take over each other's membership. */
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

/** The steps of several sessions in order, with the capacity. */
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

/** Generates histories up to a number of steps. They shrink by omitting steps. */
export const histories = historiesOf(AnyStep)

/** Generates histories in which most connections belong to one member, and take over its membership. */
export const returns = historiesOf(ReturningStep)

/** The node that holds the connection of a session. */
export const nodeOf = (sid: string, nodes: number): string => `n${Number(sid) % nodes}`

/** Converts a step to a command on one of several nodes. */
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
        reconnectKey: step.reconnectKey,
        subject: step.subject
      }
    }
    case "join": {
      const { name, office, role, takeOver } = step
      return { _tag: "Join", sid, role, name, office, takeOver }
    }
    case "leave":
      return { _tag: "Leave", sid, office: step.office }
    case "disconnect":
      return { _tag: "Disconnect", sid }
  }
}

/** Formats a command for messages. */
export const inWords = (command: MembershipCommand): string => {
  const { sid } = command
  switch (command._tag) {
    case "Connect":
      return (
        `${sid} connects (${Option.getOrElse(command.role, () => "any role")}, ` +
        `holder '${command.reconnectKey}', subject '${command.subject}')`
      )
    case "Join":
      return `${sid} joins ${JSON.stringify(command.office)} as ${command.role} ${command.name}${command.takeOver === true ? " instead of another" : ""}`
    case "Leave":
      return `${sid} leaves ${JSON.stringify(command.office)}`
    case "Disconnect":
      return `${sid} disconnects`
  }
}

/** The commands of a history in order. Each session connects once, like on a real transport. */
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
