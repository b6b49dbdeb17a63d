import { cpuOf, type Running, type ServerKind } from "./kinds.ts"
import { lightPeers } from "./peers/light.ts"
import { officialPeers } from "./peers/official.ts"
import type { Fail, Pair, Peers } from "./peers/Peers.ts"
import { prefixPeers } from "./peers/prefix.ts"
import type { Payload } from "./payloads.ts"

/** Which client plays the peers of Socket.IO. */
export type Client = "light" | "official"

/** A running server and who speaks with it. */
export interface Site {
  /** That of its kind. */
  readonly name: string
  readonly running: Running
  readonly peers: Peers
  readonly fail: Fail
}

const peersOf = ({ wire }: ServerKind, client: Client): Peers => {
  if (wire === "prefix") return prefixPeers
  return client === "light" ? lightPeers : officialPeers
}

/**
 * Starts servers of these kinds, all at once, and ends them when `use` is done with them. It rejects as soon as a peer
 * is lost or hears something wrong, even while `use` waits for something else.
 */
export const withSites = async <A>(
  kinds: ReadonlyArray<ServerKind>,
  client: Client,
  use: (sites: ReadonlyArray<Site>) => Promise<A>
): Promise<A> => {
  const failed = Promise.withResolvers<never>()
  const started = await Promise.allSettled(kinds.map((kind) => kind.start()))
  const running = started.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []))
  try {
    const sites = kinds.map((kind, index): Site => {
      const start = started[index]
      if (start?.status !== "fulfilled") throw new Error(`${kind.name} did not start: ${start?.reason}`)
      const fail = (reason: string) => failed.reject(new Error(`${kind.name}: ${reason}`))
      return { name: kind.name, running: start.value, peers: peersOf(kind, client), fail }
    })
    return await Promise.race([failed.promise, use(sites)])
  } finally {
    // Peers that lose their server now are no failure any more.
    failed.promise.catch(() => undefined)
    await Promise.all(running.map(({ stop }) => stop()))
  }
}

/** Connects so many pairs, numbered from `first` on. */
export const connectPairs = async (
  { fail, peers, running }: Site,
  count: number,
  payload: Payload,
  first = 1
): Promise<ReadonlyArray<Pair>> =>
  Promise.all(Array.from({ length: count }, (_, index) => peers.pair(running, first + index, payload, fail)))

/** How busy a server may be to count as quiet, how long that is looked at, and how often: in milliseconds. */
const quiet = { busy: 5, glance: 50, glances: 100 }

/** Waits until a server has worked off what it was left with, five seconds at most. */
export const untilQuiet = async ({ running }: Site): Promise<void> => {
  for (let glance = 0; glance < quiet.glances; glance++) {
    const before = await cpuOf(running)
    await new Promise((resolve) => setTimeout(resolve, quiet.glance))
    if ((await cpuOf(running)) - before < quiet.busy * 1000) return
  }
}
