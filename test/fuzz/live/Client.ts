import { oneIn, type Random } from "../random.ts"
import type { Verdict } from "../Surface.ts"

/** Somebody connected who sends inputs, until the far end has enough. */
export interface Client {
  readonly isOpen: () => boolean
  readonly send: (input: Buffer, random: Random) => Promise<Verdict>
  /** Waits until both ends have closed. */
  readonly close: () => Promise<void>
}

/** One connection in so many ends by itself after an input. */
const usualInputs = 60

/** Whoever sends the inputs of a lane: somebody new whenever the one before is gone. */
export const makeLanes = (open: (random: Random, lane: number) => Promise<Client>) => {
  const clients = new Map<number, Client>()
  const leave = async (lane: number): Promise<void> => {
    const client = clients.get(lane)
    clients.delete(lane)
    await client?.close()
  }
  return {
    feed: async (input: Buffer, random: Random, lane: number): Promise<Verdict> => {
      if (clients.get(lane)?.isOpen() !== true) {
        await leave(lane)
        clients.set(lane, await open(random, lane))
      }
      const verdict = (await clients.get(lane)?.send(input, random)) ?? "refused"
      if (oneIn(random, usualInputs)) await leave(lane)
      return verdict
    },
    leaveAll: async () => {
      await Promise.all([...clients.keys()].map(leave))
    }
  }
}
