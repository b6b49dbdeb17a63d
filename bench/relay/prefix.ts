/** Bytes of the receiver name that starts every message of the bare relay. */
export const nameLength = 8

const formatName = (side: "A" | "C", pair: number) => `${side}${String(pair).padStart(nameLength - 1, "0")}`

/** The name of a pair's Agent. */
export const agentOf = (pair: number): string => formatName("A", pair)

/** The name of a pair's Computer. */
export const computerOf = (pair: number): string => formatName("C", pair)
