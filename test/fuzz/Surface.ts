import type { Effect, Scope } from "effect"
import type { Random } from "./random.ts"

/** The visible outcome of an input: accepted or rejected. */
export type Verdict = "accepted" | "refused"

/** Reports a fault that no call throws: an error in the log, a witness without a reply. */
export type Note = (what: string) => void

/** An open surface. Exceptions and rejections are faults of the code under test. */
export interface Feeder {
  /** Inputs of one lane are sequential; lanes are concurrent. */
  readonly feed: (input: Buffer, random: Random, lane: number) => Verdict | Promise<Verdict>
  /** Runs before the first input and after each {@link settle}. */
  readonly begin: () => Promise<void>
  /** Ends all work and verifies that only the witnesses are left. */
  readonly settle: () => Promise<void>
  /** Runs after the last {@link settle} and stops the witnesses. */
  readonly finish: () => Promise<void>
}

/** An interface that receives untrusted bytes. */
export interface Surface {
  readonly name: string
  readonly about: string
  /** The relative share of all inputs. */
  readonly weight: number
  readonly lanes: number
  /** Valid inputs to mutate. */
  readonly corpus: ReadonlyArray<Buffer>
  /** Tokens of the format. */
  readonly words: ReadonlyArray<string | Buffer>
  /** Maximum size of an input in bytes. */
  readonly longest: number
  readonly open: (note: Note) => Effect.Effect<Feeder, unknown, Scope.Scope>
}

const nothing = () => Promise.resolve()

/** Makes a feeder of a stateless function. */
export const pure = (feed: (input: Buffer, random: Random) => Verdict): Feeder => ({
  feed,
  begin: nothing,
  settle: nothing,
  finish: nothing
})

/** Throws unless the condition holds. */
export const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}
