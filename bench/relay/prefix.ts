/** Length of the name at the start of every message of the bare relay, in bytes. */
export const nameLength = 8

const spelled = (side: "A" | "C", pair: number) => `${side}${String(pair).padStart(nameLength - 1, "0")}`

/** What the Agent of a pair is called at the bare relay. */
export const agentOf = (pair: number): string => spelled("A", pair)

/** What the Computer of a pair is called at the bare relay. */
export const computerOf = (pair: number): string => spelled("C", pair)
