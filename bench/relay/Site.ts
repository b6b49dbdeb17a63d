import { cpuOf, type Running, type ServerKind } from "./kinds.ts"
import { defaultDialect } from "./peers/Dialect.ts"
import { lightPeersOf } from "./peers/light.ts"
import { officialPeersOf } from "./peers/official.ts"
import type { Fail, Pair, Peers } from "./peers/Peers.ts"
import { prefixPeers } from "./peers/prefix.ts"
import type { Payload } from "./payloads.ts"

/** The client of Socket.IO peers. */
export type Client = "light" | "official"

/** A running server with its peers. */
export interface Site {
  /** The name of its kind. */
  readonly name: string
  readonly running: Running
  readonly peers: Peers
  readonly fail: Fail
}

const peersOf = ({ dialect = defaultDialect, wire }: ServerKind, client: Client): Peers => {
  if (wire === "prefix") return prefixPeers
  return client === "light" ? lightPeersOf(dialect) : officialPeersOf(dialect)
}

/**
 * Starts servers of these kinds at once, and ends them after `use`. Rejects as soon as a peer is lost or receives a wrong
 * message.
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
    // From here on, lost peers are no failure.
    failed.promise.catch(() => undefined)
    await Promise.all(running.map(({ stop }) => stop()))
  }
}

/** Connects pairs, numbered from `first` on. */
export const connectPairs = async (
  { fail, peers, running }: Site,
  count: number,
  payload: Payload,
  first = 1
): Promise<ReadonlyArray<Pair>> =>
  Promise.all(Array.from({ length: count }, (_, index) => peers.pair(running, first + index, payload, fail)))

/** Writes a CPU profile of each process of a server, to files of this name without extension. */
export const profileSite = async (
  { running: { children } }: Site,
  file: string,
  load: () => Promise<unknown>
): Promise<void> => {
  await Promise.all(children.map((child) => child.startProfile()))
  await load()
  const named = (index: number) => (index === 0 ? file : `${file}-${index + 1}`)
  await Promise.all(children.map((child, index) => child.stopProfile(`${named(index)}.cpuprofile`)))
}

/** Maximum CPU time of a quiet server per window and the window, in milliseconds; and the maximum number of windows. */
const quiet = { cpuMillis: 5, windowMillis: 50, maxWindows: 100 }

/** Waits until a server has finished its pending work, for at most five seconds. */
export const untilQuiet = async ({ running }: Site): Promise<void> => {
  for (let window = 0; window < quiet.maxWindows; window++) {
    const before = await cpuOf(running)
    await new Promise((resolve) => setTimeout(resolve, quiet.windowMillis))
    if ((await cpuOf(running)) - before < quiet.cpuMillis * 1000) return
  }
}
