import { Effect } from "effect"
import { type Client, makeLanes } from "../live/Client.ts"
import { openFrames } from "../live/frames.ts"
import { openPolling } from "../live/polling.ts"
import { openSite } from "../live/Site.ts"
import { openWebSocket } from "../live/webSocket.ts"
import type { Random } from "../random.ts"
import type { Surface } from "../Surface.ts"
import { packets, packetWords } from "./packetCorpus.ts"

/** The mix of connections: more than half WebSocket, some polling, some handmade frames. */
const kinds = 16
const ofWebSocket = 10
const ofPolling = 3

const openClient = (url: string, random: Random, lane: number): Promise<Client> => {
  const kind = random(kinds)
  if (kind < ofWebSocket) return openWebSocket(url, random, lane)
  return kind < ofWebSocket + ofPolling ? openPolling(url, random, lane) : openFrames(url, random, lane)
}

/** Packets of Socket.IO at a Server: over WebSocket, in handmade frames, and over polling. */
export const socketSurface: Surface = {
  name: "sockets",
  about: "packets, frames and payloads at a live Server, next to a correct office",
  weight: 6,
  lanes: 8,
  corpus: packets.map((text) => Buffer.from(text)),
  words: packetWords,
  // More than twice the limit of the Server.
  longest: 40 * 1024,
  open: (note) =>
    Effect.map(openSite(note), ({ begin, finish, settle, url }) => {
      const { feed, leaveAll } = makeLanes((random, lane) => openClient(url, random, lane))
      return {
        feed,
        begin,
        settle: async () => {
          await leaveAll()
          await settle()
        },
        finish
      }
    })
}
