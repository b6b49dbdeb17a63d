import { Effect, Random } from "effect"

const toHex = (bits: number, width: number): string => bits.toString(16).padStart(width, "0")

/** Makes a request id: 128 random bits in the form of a UUID. Ids must be unique (spec §6.2). */
export const makeRequestId: Effect.Effect<string> = Effect.map(
  Effect.forEach([0, 1, 2, 3], () => Random.nextIntBetween(0, 2 ** 32 - 1)),
  (words) => {
    const text = words.map((word) => toHex(word, 8)).join("")
    return [8, 12, 16, 20, 32].map((end, index, ends) => text.slice(index === 0 ? 0 : ends[index - 1], end)).join("-")
  }
)
