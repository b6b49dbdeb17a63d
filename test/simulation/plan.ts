import { type Dice, makeDice } from "./dice.ts"

/** Who takes part: numbers from 0, which steps name them by. */
export interface Cast {
  readonly nodes: number
  readonly offices: number
  readonly agents: number
  readonly computers: number
}

/** Somebody with a connection. */
export type Who = { readonly kind: "agent" | "computer"; readonly index: number }

/** What an Agent asks a Computer for, beside calling tools. */
const questions = ["tools", "desktop", "documents", "config", "members"] as const
type Question = (typeof questions)[number]

/** What is done to the connection of somebody. */
const linkFaults = [
  /** Both ends notice at once that it is gone. */
  "cut",
  /** Nothing arrives any more, and nobody notices before the next sign of life is overdue. */
  "mute",
  /** Only the member notices: the Server takes it for connected. */
  "sever"
] as const
export type LinkFault = (typeof linkFaults)[number]

export type Action =
  /** `computer` picks one of the office, or of all. Times in milliseconds, but `seconds`, the timeout of the call. `cancelAfter` counts from the call. */
  | {
      readonly do: "call"
      readonly agent: number
      readonly computer: number
      readonly takes: number
      readonly seconds: number
      readonly cancelAfter: number | undefined
    }
  /** The same request twice, as by a peer that repeats what it sent. */
  | { readonly do: "repeat"; readonly agent: number; readonly computer: number; readonly takes: number }
  | { readonly do: "ask"; readonly agent: number; readonly computer: number; readonly what: Question }
  | { readonly do: "enter"; readonly who: Who; readonly office: number }
  | { readonly do: "leave"; readonly who: Who }
  /** The process ends without a word; the network says so at once, or not (`silently`). */
  | { readonly do: "kill"; readonly who: Who; readonly silently: boolean }
  | { readonly do: "link"; readonly who: Who; readonly fault: LinkFault }
  /** From now on messages take so long. */
  | { readonly do: "slow"; readonly who: Who; readonly low: number; readonly high: number }
  | { readonly do: "tools" | "windows" | "configure" | "crash"; readonly computer: number }
  | { readonly do: "stopNode" | "startNode"; readonly node: number }

/** Something that happens `wait` milliseconds after what was before it. */
export type Step = Action & { readonly wait: number }

/** A whole run, as data. */
export interface Plan {
  readonly seed: number
  readonly cast: Cast
  readonly steps: ReadonlyArray<Step>
}

const whoOf = (dice: Dice, { agents, computers }: Cast): Who =>
  dice.chance(0.35)
    ? { kind: "agent", index: dice.between(0, agents - 1) }
    : { kind: "computer", index: dice.between(0, computers - 1) }

/** How often each kind of step comes: most of it is work, so that there is something to disturb. */
const weights: ReadonlyArray<readonly [number, Action["do"]]> = [
  [40, "call"],
  [3, "repeat"],
  [10, "ask"],
  [14, "enter"],
  [5, "leave"],
  [4, "kill"],
  [6, "link"],
  [4, "slow"],
  [3, "tools"],
  [3, "windows"],
  [2, "configure"],
  [2, "crash"],
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

/** How long a tool works, in milliseconds: mostly not for long, and now and then far longer than anybody waits. */
const workOf = (dice: Dice): number => {
  if (dice.chance(0.05)) return 300_000
  return dice.chance(0.5) ? dice.between(0, 50) : dice.between(50, 8000)
}

const actionOf = (dice: Dice, cast: Cast): Action => {
  const kind = kindOf(dice)
  const agent = () => dice.between(0, cast.agents - 1)
  const computer = () => dice.between(0, cast.computers - 1)
  const partner = () => dice.between(0, 999)
  switch (kind) {
    case "call": {
      const takes = workOf(dice)
      return {
        do: kind,
        agent: agent(),
        computer: partner(),
        takes,
        seconds: dice.oneOf([1, 3, 30, 60]),
        cancelAfter: dice.chance(0.2) ? dice.between(0, 4000) : undefined
      }
    }
    case "repeat":
      return { do: kind, agent: agent(), computer: partner(), takes: dice.between(0, 2000) }
    case "ask":
      return { do: kind, agent: agent(), computer: partner(), what: dice.oneOf(questions) }
    case "enter":
      return { do: kind, who: whoOf(dice, cast), office: dice.between(0, cast.offices - 1) }
    case "leave":
      return { do: kind, who: whoOf(dice, cast) }
    case "kill":
      return { do: kind, who: whoOf(dice, cast), silently: dice.chance(0.5) }
    case "link":
      return { do: kind, who: whoOf(dice, cast), fault: dice.oneOf(linkFaults) }
    case "slow": {
      const low = dice.oneOf([0, 1, 20, 200])
      return { do: kind, who: whoOf(dice, cast), low, high: low * dice.between(1, 10) + dice.between(0, 5) }
    }
    case "stopNode":
    case "startNode":
      return { do: kind, node: dice.between(0, cast.nodes - 1) }
    case "tools":
    case "windows":
    case "configure":
    case "crash":
      return { do: kind, computer: computer() }
  }
}

/** Everybody finds a place before anything else happens. */
const arrivals = (dice: Dice, { agents, computers, offices }: Cast): ReadonlyArray<Step> => [
  ...Array.from(
    { length: agents },
    (_, index): Step => ({
      wait: dice.between(0, 5),
      do: "enter",
      who: { kind: "agent", index },
      office: index % offices
    })
  ),
  ...Array.from(
    { length: computers },
    (_, index): Step => ({
      wait: dice.between(0, 5),
      do: "enter",
      who: { kind: "computer", index },
      office: dice.between(0, offices - 1)
    })
  )
]

/** The plan of a seed: who takes part, and that many steps after everybody has been sent to an office. */
export const planOf = (seed: number, steps: number): Plan => {
  const dice = makeDice(seed, "plan")
  const offices = dice.between(1, 4)
  const cast: Cast = {
    nodes: dice.between(1, 3),
    offices,
    agents: offices + dice.between(0, 6),
    computers: dice.between(2, 20)
  }
  const wait = () => (dice.chance(0.7) ? dice.between(0, 100) : dice.between(100, 5000))
  return {
    seed,
    cast,
    steps: [
      ...arrivals(dice, cast),
      ...Array.from({ length: steps }, (): Step => ({ ...actionOf(dice, cast), wait: wait() }))
    ]
  }
}
