import { openSocket } from "../../attacks/wire.ts"
import { oneIn, type Random } from "../random.ts"
import type { Client } from "./Client.ts"
import { answering, askedIn, entranceOf, fence, firstFence, message } from "./memberships.ts"

/** How far a client connects before it sends inputs. */
type Stage = "unauthenticated" | "connected" | "member"

const stageOf = (random: Random): Stage =>
  oneIn(random, 12) ? "unauthenticated" : oneIn(random, 8) ? "connected" : "member"

/** A WebSocket client whose messages are inputs. */
export const openWebSocket = async (url: string, random: Random, lane: number): Promise<Client> => {
  const stage = stageOf(random)
  const socket = await openSocket(url)
  const closed = Promise.withResolvers<undefined>()
  const asked: Array<string> = []
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
    asked.push(...askedIn(text))
    if (wanted !== undefined && text.startsWith(wanted.start)) wanted.found()
  })
  /** Sends a message and waits for a reply with this prefix, or for the close. */
  const ask = async (text: string, start: string): Promise<void> => {
    const answer = Promise.withResolvers<undefined>()
    wanted = { start, found: () => answer.resolve(undefined) }
    if (isOpen) socket.send(text)
    await Promise.race([answer.promise, closed.promise])
    wanted = undefined
  }
  const { connect, connected, join, joined } = entranceOf(lane)
  if (stage !== "unauthenticated") await ask(connect, connected)
  if (stage === "member") await ask(join, joined)
  return {
    isOpen: () => isOpen,
    send: async (input, choose) => {
      const packet = answering(input, asked)
      const frame = oneIn(choose, 20) ? packet : Buffer.concat([message, packet])
      socket.send(frame, { binary: oneIn(choose, 40) })
      if (stage === "unauthenticated") {
        // An unauthenticated client has no request with a certain reply.
        socket.close()
        await closed.promise
      } else if (oneIn(choose, 2)) {
        fences += 1
        const { answer, text } = fence(fences)
        await ask(text, answer)
      }
      return isOpen ? "accepted" : "refused"
    },
    close: async () => {
      if (isOpen) socket.close()
      await closed.promise
    }
  }
}
