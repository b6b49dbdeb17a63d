/** Bytes of the receiver name that starts every message of the bare relay. */
export const nameLength = 8

const spelled = (side: "A" | "C", pair: number) => `${side}${String(pair).padStart(nameLength - 1, "0")}`

/** The name of a pair's Agent. */
export const agentOf = (pair: number): string => spelled("A", pair)

/** The name of a pair's Computer. */
export const computerOf = (pair: number): string => spelled("C", pair)
