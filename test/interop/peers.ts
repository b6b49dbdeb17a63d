import type { LineName } from "../../src/domain/wire/lines.ts"

/** A published package that contains an Agent, a Computer and a Server. */
export interface Peer {
  /** The name on the command line. */
  readonly name: string
  readonly language: "python" | "rust"
  readonly version: string
  /** The protocol line that it speaks. */
  readonly line: LineName
  /** The form of the options of a `pickString` input in its configuration. */
  readonly pickOptions: "text" | "labelled"
}

const python = (version: string, line: LineName, pickOptions: Peer["pickOptions"]): Peer => ({
  name: `python-${version}`,
  language: "python",
  version,
  line,
  pickOptions
})

/** The newest package of each protocol line first, which differ most from each other. */
export const peers: ReadonlyArray<Peer> = [
  python("0.4.2", "0.4", "labelled"),
  python("0.2.2", "0.2", "text"),
  python("0.3.3", "0.3", "labelled"),
  python("0.3.0", "0.3", "text"),
  { name: "rust-0.4.1", language: "rust", version: "0.4.1", line: "0.4", pickOptions: "labelled" }
]

const roles = ["agent", "computer", "server"] as const
export type Role = (typeof roles)[number]

/** The implementation of a part. */
export type Side = "ours" | "theirs"

/** The implementation of each part of an office. */
export type Pairing = { readonly [R in Role]: Side }

const sides: ReadonlyArray<Side> = ["theirs", "ours"]

const allPairings: ReadonlyArray<Pairing> = sides.flatMap((server) =>
  sides.flatMap((agent) => sides.map((computer) => ({ agent, computer, server })))
)

const isOnly = (side: Side) => (pairing: Pairing) => roles.every((role) => pairing[role] === side)

/** The pairings of different implementations. */
export const mixedPairings: ReadonlyArray<Pairing> = allPairings.filter(
  (pairing) => !isOnly("ours")(pairing) && !isOnly("theirs")(pairing)
)

/** The parts of a peer among themselves: shows which faults do not depend on this project. */
export const peerAlone: Pairing = { agent: "theirs", computer: "theirs", server: "theirs" }

export const formatPairing = (pairing: Pairing): string => roles.map((role) => `${pairing[role]} ${role}`).join(", ")

/** Compares versions of packages, as numbers with dots. */
export const compareReleases = (one: string, other: string): number => {
  const [left, right] = [one, other].map((text) => text.split(".").map(Number)) as [Array<number>, Array<number>]
  const index = left.findIndex((part, at) => part !== right[at])
  return index < 0 ? 0 : (left[index] ?? 0) - (right[index] ?? 0)
}
