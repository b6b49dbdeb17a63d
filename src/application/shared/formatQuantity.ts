/** Formats a count with its noun: `1 note`, `2 notes`. */
export const formatQuantity = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`
