import type { RemoteApprover } from "../../src/application/computer/ComputerSettings.ts"
import { type Dice, makeDice } from "./dice.ts"

/** The numbers of participants; steps refer to them by index from 0. */
export interface Members {
  readonly nodes: number
  readonly offices: number
  /** Programs of Agents. Two share a name. */
  readonly agents: number
  readonly computers: number
}

/** The subjects of the operators. */
export const operators = ["ann", "bob"] as const

/** A reference to a member. */
export type MemberRef = { readonly kind: "agent" | "computer"; readonly index: number }

/** Requests of an Agent besides tool calls. */
const queries = ["tools", "desktop", "documents", "config", "members"] as const
type Query = (typeof queries)[number]

/** Faults of a member's connection. */
const linkFaults = [
  /** Both ends detect the loss at once. */
  "cut",
  /** All messages are dropped; both ends detect the loss by the keepalive timeout. */
  "mute",
  /** Only the member detects the loss; the connection is stale at the Server. */
  "sever"
] as const
export type LinkFault = (typeof linkFaults)[number]

/** Who else may decide at a Computer when it starts for the first time. */
export const initialApprovers = (computer: number): ReadonlyArray<RemoteApprover> =>
  approverSettings[[0, 1, 0, 2][computer % 4] ?? 0] ?? []

/** Who else may decide at a Computer. */
const approverSettings: readonly [ReadonlyArray<RemoteApprover>, ...ReadonlyArray<ReadonlyArray<RemoteApprover>>] = [
  ["agent", "page"],
  ["agent"],
  ["page"],
  []
]

/** The approvers of a call: persons at the Computer and on the office page, a program, and the caller itself. */
const approvers = ["owner", "operator", "program", "agent"] as const

/** The tools of a Computer: one runs, one needs consent, and one asks a question and reports progress. */
export const toolKinds = ["work", "guarded", "asking"] as const
export type ToolKind = (typeof toolKinds)[number]

/** The answer of an approver, `after` milliseconds from the step. */
export interface PlannedAnswer {
  readonly by: (typeof approvers)[number]
  readonly after: number
  readonly action: "allow" | "deny"
  /** With `tool`, it grants the tool for `lasts` milliseconds, or without an end. */
  readonly scope: "once" | "tool"
  readonly lasts: number | undefined
}

export type Action =
  /**
   * `computer` selects a Computer of the office, or of all. Times are in milliseconds except `seconds`, the timeout of
   * the call. `cancelAfter` counts from the call.
   */
  | {
      readonly do: "call"
      readonly agent: number
      readonly computer: number
      readonly tool: ToolKind
      /** It goes where the guarded tool was granted last, if it was. */
      readonly toGrant: boolean
      /** Answers to its approval or its question. */
      readonly answers: ReadonlyArray<PlannedAnswer>
      readonly takes: number
      readonly seconds: number
      readonly cancelAfter: number | undefined
    }
  /** Sends the same request twice, as a retrying peer does. */
  | {
      readonly do: "repeat"
      readonly agent: number
      readonly computer: number
      readonly tool: ToolKind
      readonly takes: number
    }
  /** Starts a call that outlives its Agent, which waits for the result. */
  | {
      readonly do: "task"
      readonly agent: number
      readonly computer: number
      readonly tool: ToolKind
      readonly answers: ReadonlyArray<PlannedAnswer>
      readonly takes: number
      readonly cancelAfter: number | undefined
    }
  /** Calls as an operator: as the Agent of an office without one, or beside it. */
  | {
      readonly do: "operate"
      readonly operator: number
      readonly computer: number
      readonly tool: ToolKind
      readonly answers: ReadonlyArray<PlannedAnswer>
      readonly takes: number
      readonly seconds: number
    }
  /**
   * Ends the Agent of an approval, with `ofGrant` of the last grant, or the process of an Agent. Another program enters the office under its name, and asks
   * for what the first one has left.
   */
  | {
      readonly do: "succeed"
      readonly approval: number
      readonly ofGrant: boolean
      readonly agent: number
      readonly how: "leave" | "kill" | "killSilently"
      /** The other program learns the ids of the tasks. */
      readonly passesIds: boolean
      /** When it asks, in milliseconds. */
      readonly questionAfter: ReadonlyArray<number>
    }
  /** Asks for all approvals of the name of an Agent, and for its tasks with invented ids. */
  | { readonly do: "probe"; readonly agent: number }
  /** Waits for the result of a task that the Agent started, mostly in an earlier process. */
  | { readonly do: "fetch"; readonly task: number }
  | { readonly do: "ask"; readonly agent: number; readonly computer: number; readonly what: Query }
  /** With `takeOver`, it replaces its own process that was killed silently. */
  | { readonly do: "enter"; readonly who: MemberRef; readonly office: number; readonly takeOver: boolean }
  | { readonly do: "leave"; readonly who: MemberRef }
  /** The process ends without leaving; with `silently`, the Server does not detect it at once. */
  | { readonly do: "kill"; readonly who: MemberRef; readonly silently: boolean }
  /**
   * Kills the Computer of an approval, with `ofGrant` of the last grant, and starts it again in its office, with other
   * approvers.
   */
  | {
      readonly do: "restart"
      readonly approval: number
      readonly ofGrant: boolean
      readonly silently: boolean
      readonly approvers: ReadonlyArray<RemoteApprover>
    }
  | { readonly do: "link"; readonly who: MemberRef; readonly fault: LinkFault }
  /** Changes the latency of messages. */
  | { readonly do: "slow"; readonly who: MemberRef; readonly low: number; readonly high: number }
  | { readonly do: "tools" | "windows" | "configure" | "crash"; readonly computer: number }
  /** Changes the tool that needs consent. `ofGrant` as in `restart`. */
  | { readonly do: "redefine"; readonly computer: number; readonly ofGrant: boolean }
  /** Answers an open approval, mostly; several answers may arrive at once. */
  | { readonly do: "answer"; readonly approval: number; readonly answers: ReadonlyArray<PlannedAnswer> }
  /** Revokes the last one of the valid grants. */
  | { readonly do: "revoke" }
  | { readonly do: "stopNode" | "startNode"; readonly node: number }

/** An action `wait` milliseconds after the previous one. */
export type Step = Action & { readonly wait: number }

/** The plan of a run. */
export interface Plan {
  readonly seed: number
  readonly members: Members
  readonly steps: ReadonlyArray<Step>
}

const memberRefOf = (dice: Dice, { agents, computers }: Members): MemberRef =>
  dice.chance(0.35)
    ? { kind: "agent", index: dice.between(0, agents - 1) }
    : { kind: "computer", index: dice.between(0, computers - 1) }

/** Relative frequencies of the actions: mostly work, which the faults disturb. */
const weights: ReadonlyArray<readonly [number, Action["do"]]> = [
  [52, "call"],
  [3, "repeat"],
  [8, "task"],
  [4, "fetch"],
  [4, "operate"],
  [6, "succeed"],
  [3, "probe"],
  [10, "ask"],
  [14, "enter"],
  [5, "leave"],
  [4, "kill"],
  [5, "restart"],
  [6, "link"],
  [4, "slow"],
  [4, "tools"],
  [3, "windows"],
  [2, "configure"],
  [2, "crash"],
  [2, "redefine"],
  [12, "answer"],
  [7, "revoke"],
  [2, "stopNode"],
  [2, "startNode"]
]

const total = weights.reduce((sum, [weight]) => sum + weight, 0)

const kindOf = (dice: Dice): Action["do"] => {
  let left = dice.between(1, total)
  for (const [weight, kind] of weights) {
    left -= weight
    if (left <= 0) return kind
  }
  return "call"
}

/** Duration of a tool run in milliseconds: mostly short, sometimes beyond every timeout. */
const workOf = (dice: Dice): number => {
  if (dice.chance(0.05)) return 300_000
  return dice.chance(0.5) ? dice.between(0, 50) : dice.between(50, 8000)
}

const answerOf = (dice: Dice, after: number): PlannedAnswer => {
  const scope = dice.chance(0.45) ? "tool" : "once"
  return {
    by: dice.oneOf(approvers),
    after,
    action: dice.chance(0.75) ? "allow" : "deny",
    scope,
    lasts: scope === "tool" && dice.chance(0.5) ? dice.between(100, 10_000) : undefined
  }
}

/** The answers of one approver, or of two: at once, or within the time of a message. */
const answersOf = (dice: Dice, after = 0): ReadonlyArray<PlannedAnswer> => {
  const first = answerOf(dice, after)
  return dice.chance(0.5) ? [first] : [first, answerOf(dice, dice.chance(0.7) ? after : after + dice.between(1, 5))]
}

const agentIn = (dice: Dice, { agents }: Members): number => dice.between(0, agents - 1)
const partner = (dice: Dice): number => dice.between(0, 999)
const cancelTimeOf = (dice: Dice) => (dice.chance(0.2) ? dice.between(0, 4000) : undefined)

/** A call that needs consent. Many take nearly their whole timeout, in which a wait does not fit. */
const guardedCallOf = (dice: Dice, members: Members, toGrant: boolean): Action => {
  const seconds = dice.oneOf([1, 3, 10, 10])
  return {
    do: "call",
    agent: agentIn(dice, members),
    computer: partner(dice),
    tool: "guarded",
    toGrant,
    answers: dice.chance(0.6) ? answersOf(dice, dice.between(10, 5000)) : [],
    takes: dice.oneOf([10, seconds * 1000 - 500, seconds * 1000 + 500]),
    seconds,
    cancelAfter: cancelTimeOf(dice)
  }
}

/** A call whose MCP server asks a question. Some wait until it expires. */
const askingCallOf = (dice: Dice, members: Members): Action => ({
  do: "call",
  agent: agentIn(dice, members),
  computer: partner(dice),
  tool: "asking",
  toGrant: false,
  answers: dice.chance(0.8) ? answersOf(dice, dice.between(10, 5000)) : [],
  takes: dice.between(0, 4000),
  seconds: dice.oneOf([1, 3, 10]),
  cancelAfter: cancelTimeOf(dice)
})

/**
 * A call follows, since grants outlive a restart, and end when they are revoked, with the definition of their tool, or with the
 * Agent that gave them.
 */
const beforeGuardedCall: ReadonlyArray<Action["do"]> = ["restart", "redefine", "revoke", "succeed"]

/** The time until the next step in milliseconds; longer after one in which members join. */
const waitOf = (dice: Dice, previous: Action["do"] | undefined): number => {
  if (previous === "restart") return dice.between(20, 200)
  if (previous === "succeed") return dice.between(500, 2000)
  return dice.chance(0.7) ? dice.between(0, 100) : dice.between(100, 5000)
}

/** Another program succeeds an Agent, mostly while its call or its task waits. */
const succeedOf = (dice: Dice, members: Members): Action => ({
  do: "succeed",
  approval: partner(dice),
  ofGrant: dice.chance(0.4),
  agent: agentIn(dice, members),
  how: dice.oneOf(["leave", "leave", "kill", "killSilently"]),
  passesIds: dice.chance(0.4),
  questionAfter: [dice.between(5, 100), dice.between(600, 3000)]
})

const actionOf = (dice: Dice, members: Members, previous: Action["do"] | undefined): Action => {
  if (previous === "task" && dice.chance(0.4)) return succeedOf(dice, members)
  if (previous === "operate" && dice.chance(0.7)) return { do: "probe", agent: agentIn(dice, members) }
  if (previous !== undefined && beforeGuardedCall.includes(previous)) return guardedCallOf(dice, members, true)
  const kind = kindOf(dice)
  const computer = () => dice.between(0, members.computers - 1)
  switch (kind) {
    case "call":
      if (dice.chance(0.2)) return askingCallOf(dice, members)
      return dice.chance(0.5)
        ? guardedCallOf(dice, members, dice.chance(0.3))
        : {
            do: kind,
            agent: agentIn(dice, members),
            computer: partner(dice),
            tool: "work",
            toGrant: false,
            answers: [],
            takes: workOf(dice),
            seconds: dice.oneOf([1, 3, 30, 60]),
            cancelAfter: cancelTimeOf(dice)
          }
    case "repeat":
      return {
        do: kind,
        agent: agentIn(dice, members),
        computer: partner(dice),
        tool: dice.chance(0.4) ? "guarded" : "work",
        takes: dice.between(0, 2000)
      }
    case "task":
      return {
        do: kind,
        agent: agentIn(dice, members),
        computer: partner(dice),
        tool: dice.oneOf(["work", "work", "guarded", "asking"]),
        answers: dice.chance(0.8) ? answersOf(dice, dice.between(10, 5000)) : [],
        takes: workOf(dice),
        cancelAfter: cancelTimeOf(dice)
      }
    case "operate":
      return {
        do: kind,
        operator: dice.between(0, operators.length - 1),
        computer: partner(dice),
        tool: dice.oneOf(["work", "guarded", "asking", "asking"]),
        answers: dice.chance(0.7) ? answersOf(dice, dice.between(10, 5000)) : [],
        takes: dice.between(0, 4000),
        seconds: dice.oneOf([3, 10])
      }
    case "succeed":
      return succeedOf(dice, members)
    case "probe":
      return { do: kind, agent: agentIn(dice, members) }
    case "fetch":
      return { do: kind, task: partner(dice) }
    case "ask":
      return { do: kind, agent: agentIn(dice, members), computer: partner(dice), what: dice.oneOf(queries) }
    case "enter": {
      const who = memberRefOf(dice, members)
      const office = dice.between(0, members.offices - 1)
      // A Computer never takes over: conflicts of names are rare enough.
      return { do: kind, who, office, takeOver: who.kind === "agent" && dice.chance(0.3) }
    }
    case "leave":
      return { do: kind, who: memberRefOf(dice, members) }
    case "kill":
      return { do: kind, who: memberRefOf(dice, members), silently: dice.chance(0.5) }
    case "link":
      return { do: kind, who: memberRefOf(dice, members), fault: dice.oneOf(linkFaults) }
    case "slow": {
      const low = dice.oneOf([0, 1, 20, 200])
      return {
        do: kind,
        who: memberRefOf(dice, members),
        low,
        high: low * dice.between(1, 10) + dice.between(0, 5)
      }
    }
    case "stopNode":
    case "startNode":
      return { do: kind, node: dice.between(0, members.nodes - 1) }
    case "tools":
    case "windows":
    case "configure":
    case "crash":
      return { do: kind, computer: computer() }
    case "redefine":
      return { do: kind, computer: computer(), ofGrant: dice.chance(0.6) }
    case "answer":
      return { do: kind, approval: partner(dice), answers: answersOf(dice) }
    case "restart":
      return {
        do: kind,
        approval: partner(dice),
        ofGrant: dice.chance(0.6),
        silently: dice.chance(0.3),
        approvers: dice.oneOf(approverSettings)
      }
    case "revoke":
      return { do: kind }
  }
}

/** The initial joins of all members. */
const arrivals = (dice: Dice, { agents, computers, offices }: Members): ReadonlyArray<Step> => [
  ...Array.from(
    { length: agents },
    (_, index): Step => ({
      wait: dice.between(0, 5),
      do: "enter",
      who: { kind: "agent", index },
      office: index % offices,
      takeOver: false
    })
  ),
  ...Array.from(
    { length: computers },
    (_, index): Step => ({
      wait: dice.between(0, 5),
      do: "enter",
      who: { kind: "computer", index },
      office: dice.between(0, offices - 1),
      takeOver: false
    })
  )
]

/** Makes the plan of a seed: its participants, and this number of steps after the initial joins. */
export const planOf = (seed: number, steps: number): Plan => {
  const dice = makeDice(seed, "plan")
  const offices = dice.between(1, 4)
  const members: Members = {
    nodes: dice.between(1, 3),
    offices,
    agents: offices + dice.between(1, 6),
    computers: dice.between(2, 20)
  }
  const planned: Array<Step> = [...arrivals(dice, members)]
  for (let step = 0; step < steps; step++) {
    const previous = planned.at(-1)?.do
    planned.push({ ...actionOf(dice, members, previous), wait: waitOf(dice, previous) })
  }
  return { seed, members, steps: planned }
}
