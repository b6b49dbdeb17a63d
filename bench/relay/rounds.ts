import { median, shuffled } from "./statistics.ts"

/** The results of one window, by name. */
export type Reading<Measure extends string> = { readonly [measure in Measure]: number }

/** The results of one round, by kind. */
type Round<Measure extends string> = ReadonlyMap<string, Reading<Measure>>

/** A summary of one result over all rounds. */
export interface Summary {
  /** Median of each kind over the counted rounds. */
  readonly values: { readonly [kind: string]: number }
  /** Median of kind ÷ reference of the same round, over the counted rounds. */
  readonly ratios: { readonly [kind: string]: number }
  readonly counted: number
  readonly rounds: number
}

/** Measures every server once per round, in random order: slow periods of the machine affect all servers. */
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

/** Maximum factor between the reference and its median in a counted round. */
const steady = 1.5

/**
 * The rounds in which the reference was about as fast as its median. Other load disturbed the rest. Only the reference
 * decides: the Server does not select its rounds.
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

/** Summarises one result; `by` decides which rounds count. */
export const summarise = <Measure extends string>(
  rounds: ReadonlyArray<Round<Measure>>,
  reference: string,
  measure: Measure,
  by: Measure
): Summary => {
  const counted = undisturbed(rounds, reference, by)
  const kinds = [...(rounds[0]?.keys() ?? [])].toSorted()
  const of = (round: Round<Measure>, kind: string) => round.get(kind)?.[measure] ?? Number.NaN
  const each = (value: (kind: string) => number) => Object.fromEntries(kinds.map((kind) => [kind, value(kind)]))
  return {
    values: each((kind) => median(counted.map((round) => of(round, kind)))),
    ratios: each((kind) => median(counted.map((round) => of(round, kind) / of(round, reference)))),
    counted: counted.length,
    rounds: rounds.length
  }
}
