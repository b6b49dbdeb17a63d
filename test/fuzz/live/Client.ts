import { oneIn, type Random } from "../random.ts"
import type { Verdict } from "../Surface.ts"

/** A connected client that sends inputs until the peer closes the connection. */
export interface Client {
  readonly isOpen: () => boolean
  readonly send: (input: Buffer, random: Random) => Promise<Verdict>
  /** Resolves when both ends have closed. */
  readonly close: () => Promise<void>
}

/** The client closes one connection in this number after an input. */
const usualInputs = 60

/** Sends the inputs of a lane; replaces a closed client by a new one. */
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
