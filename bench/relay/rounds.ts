import { median, shuffled } from "./statistics.ts"

/** What one window found: values by the name of what was measured. */
export type Reading<Measure extends string> = { readonly [measure in Measure]: number }

/** Readings of one round, by the name of the kind. */
type Round<Measure extends string> = ReadonlyMap<string, Reading<Measure>>

/** What all rounds say about one thing that was measured. */
export interface Summary {
  /** Median of each kind over the counted rounds, by its name. */
  readonly values: { readonly [kind: string]: number }
  /** Median over the counted rounds of kind ÷ reference of the same round, by its name. */
  readonly ratios: { readonly [kind: string]: number }
  readonly counted: number
  readonly rounds: number
}

/** Measures every server once a round, in an order that changes, so that slow and fast times of the machine hit all. */
export const interleave = async <Server extends { readonly name: string }, Measure extends string>(
  servers: ReadonlyArray<Server>,
  rounds: number,
  window: (server: Server) => Promise<Reading<Measure>>,
  note: (progress: string) => void
): Promise<ReadonlyArray<Round<Measure>>> => {
  const all: Array<Round<Measure>> = []
  for (let round = 1; round <= rounds; round++) {
    note(`round ${round} of ${rounds}`)
    const readings = new Map<string, Reading<Measure>>()
    for (const server of shuffled(servers)) readings.set(server.name, await window(server))
    all.push(readings)
  }
  return all
}

/** How far the reference may be from its own median, as a factor either way, in a round that counts. */
const steady = 1.5

/**
 * The rounds in which the reference was about as fast as usual. Others were disturbed by something else on the machine.
 * Only the reference is looked at: our own Server does not choose its rounds.
 */
const undisturbed = <Measure extends string>(
  rounds: ReadonlyArray<Round<Measure>>,
  reference: string,
  by: Measure
): ReadonlyArray<Round<Measure>> => {
  const of = (round: Round<Measure>) => round.get(reference)?.[by] ?? Number.NaN
  const usual = median(rounds.map(of))
  return rounds.filter((round) => of(round) <= usual * steady && of(round) >= usual / steady)
}

/** Summarises one thing that was measured; `by` decides which rounds count. */
export const summarise = <Measure extends string>(
  rounds: ReadonlyArray<Round<Measure>>,
  reference: string,
  measure: Measure,
  by: Measure
): Summary => {
  const counted = undisturbed(rounds, reference, by)
  const kinds = [...(rounds[0]?.keys() ?? [])].toSorted()
  const of = (round: Round<Measure>, kind: string) => round.get(kind)?.[measure] ?? Number.NaN
  const each = (value: (kind: string) => number) =>
    Object.fromEntries(kinds.map((kind) => [kind, value(kind)]))
  return {
    values: each((kind) => median(counted.map((round) => of(round, kind)))),
    ratios: each((kind) => median(counted.map((round) => of(round, kind) / of(round, reference)))),
    counted: counted.length,
    rounds: rounds.length
  }
}
