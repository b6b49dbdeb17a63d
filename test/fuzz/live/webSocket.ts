import { openSocket } from "../../attacks/wire.ts"
import { oneIn, type Random } from "../random.ts"
import type { Client } from "./Client.ts"
import { answering, requestedIn, entranceOf, fence, firstFence, message } from "./memberships.ts"

/** How far a client connects before it sends inputs. */
type Fixture = "unauthenticated" | "connected" | "member"

const stepOf = (random: Random): Fixture =>
  oneIn(random, 12) ? "unauthenticated" : oneIn(random, 8) ? "connected" : "member"

/** A WebSocket client whose messages are inputs. */
export const openWebSocket = async (url: string, random: Random, lane: number): Promise<Client> => {
  const fixture = stepOf(random)
  const socket = await openSocket(url)
  const closed = Promise.withResolvers<undefined>()
  const requests: Array<string> = []
  let isOpen = true
  let fences = firstFence
  let wanted: { readonly start: string; readonly found: () => void } | undefined
  socket.on("error", () => socket.terminate())
  socket.on("close", () => {
    isOpen = false
    closed.resolve(undefined)
  })
  socket.on("message", (data: Buffer) => {
    const text = data.toString()
    if (text === "2" && isOpen) socket.send("3")
    requests.push(...requestedIn(text))
    if (wanted !== undefined && text.startsWith(wanted.start)) wanted.found()
  })
  /** Sends a message and waits for a reply with this prefix, or for the close. */
  const request = async (text: string, start: string): Promise<void> => {
    const answer = Promise.withResolvers<undefined>()
    wanted = { start, found: () => answer.resolve(undefined) }
    if (isOpen) socket.send(text)
    await Promise.race([answer.promise, closed.promise])
    wanted = undefined
  }
  const { connect, connected, join, joined } = entranceOf(lane)
  if (fixture !== "unauthenticated") await request(connect, connected)
  if (fixture === "member") await request(join, joined)
  return {
    isOpen: () => isOpen,
    send: async (input, choose) => {
      const packet = answering(input, requests)
      const frame = oneIn(choose, 20) ? packet : Buffer.concat([message, packet])
      socket.send(frame, { binary: oneIn(choose, 40) })
      if (fixture === "unauthenticated") {
        // An unauthenticated client has no request with a certain reply.
        socket.close()
        await closed.promise
      } else if (oneIn(choose, 2)) {
        fences += 1
        const { answer, text } = fence(fences)
        await request(text, answer)
      }
      return isOpen ? "accepted" : "refused"
    },
    close: async () => {
      if (isOpen) socket.close()
      await closed.promise
    }
  }
}
