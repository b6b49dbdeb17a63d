import type { Effect, Scope } from "effect"
import type { Random } from "./random.ts"

/** What became of an input: as far as that can be seen, it was taken for what it should be, or turned down. */
export type Verdict = "accepted" | "refused"

/** Says that something is wrong which no call throws: an error in the log, a witness without an answer. */
export type Note = (what: string) => void

/** What is fuzzed, as long as it is open. What throws or rejects here is a fault of what is fuzzed. */
export interface Feeder {
  /** Inputs of one lane come one after the other, those of several side by side. */
  readonly feed: (input: Buffer, random: Random, lane: number) => Verdict | Promise<Verdict>
  /** Before the first input, and again after each {@link settle}. */
  readonly begin: () => Promise<void>
  /** Ends what is under way, and checks that nothing of it is left but the witnesses. */
  readonly settle: () => Promise<void>
  /** After the last {@link settle}: the witnesses go, too. */
  readonly finish: () => Promise<void>
}

/** Some way in which bytes of a stranger come in. */
export interface Surface {
  readonly name: string
  readonly about: string
  /** How many of all inputs are its share, in proportion to the others. */
  readonly weight: number
  readonly lanes: number
  /** Valid inputs, from which the others are made. */
  readonly corpus: ReadonlyArray<Buffer>
  /** What means something here. */
  readonly words: ReadonlyArray<string | Buffer>
  /** Bytes that an input has at most. */
  readonly longest: number
  readonly open: (note: Note) => Effect.Effect<Feeder, unknown, Scope.Scope>
}

const nothing = () => Promise.resolve()

/** A feeder of something that keeps nothing between two inputs. */
export const pure = (feed: (input: Buffer, random: Random) => Verdict): Feeder => ({
  feed,
  begin: nothing,
  settle: nothing,
  finish: nothing
})

/** Throws unless something holds. */
export const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}
