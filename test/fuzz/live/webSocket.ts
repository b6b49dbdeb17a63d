import { openSocket } from "../../attacks/wire.ts"
import { oneIn, type Random } from "../random.ts"
import type { Client } from "./Client.ts"
import { answering, askedIn, entranceOf, fence, firstFence, message } from "./seats.ts"

/** How far somebody goes before it sends inputs. */
type Stage = "stranger" | "guest" | "member"

const stageOf = (random: Random): Stage =>
  oneIn(random, 12) ? "stranger" : oneIn(random, 8) ? "guest" : "member"

/** Somebody whose messages are inputs. */
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
  /** Sends something, and waits for what begins like its answer, or for the end. */
  const ask = async (text: string, start: string): Promise<void> => {
    const answer = Promise.withResolvers<undefined>()
    wanted = { start, found: () => answer.resolve(undefined) }
    if (isOpen) socket.send(text)
    await Promise.race([answer.promise, closed.promise])
    wanted = undefined
  }
  const { connect, connected, join, joined } = entranceOf(lane)
  if (stage !== "stranger") await ask(connect, connected)
  if (stage === "member") await ask(join, joined)
  return {
    isOpen: () => isOpen,
    send: async (input, choose) => {
      const packet = answering(input, asked)
      const frame = oneIn(choose, 20) ? packet : Buffer.concat([message, packet])
      socket.send(frame, { binary: oneIn(choose, 40) })
      if (stage === "stranger") {
        // There is nothing a stranger would be answered for sure.
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
