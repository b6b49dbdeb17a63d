import { Agent, request } from "node:http"
import { oneIn, type Random } from "../random.ts"
import type { Client } from "./Client.ts"
import { answering, requestedIn, entranceOf, fence, firstFence, message } from "./memberships.ts"

const start = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0"

interface Got {
  readonly status: number
  readonly text: string
}

/** Sends a request over a kept-alive connection; status 0 when the connection closes. */
const fetchBy =
  (agent: Agent, url: string) =>
  (path: string, body?: Buffer | string): Promise<Got> =>
    new Promise((resolve) => {
      const asking = request(`${url}${path}`, { agent, method: body === undefined ? "GET" : "POST" })
      const none = () => resolve({ status: 0, text: "" })
      asking.on("error", none)
      asking.on("response", (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk
        })
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
        response.on("error", none)
        response.on("close", none)
      })
      asking.end(body)
    })

/** A polling client whose payloads are inputs. */
export const openPolling = async (url: string, random: Random, lane: number): Promise<Client> => {
  const agent = new Agent({ keepAlive: true })
  const request = fetchBy(agent, url)
  const opened = await request(start)
  const { sid } = JSON.parse(opened.text.slice(1)) as { readonly sid: string }
  const path = `${start}&sid=${sid}`
  const requests: Array<string> = []
  let isOpen = true
  let fences = firstFence
  const post = async (payload: Buffer | string): Promise<void> => {
    if (isOpen && (await request(path, payload)).status !== 200) isOpen = false
  }
  /** Reads until a text arrives or the session ends. */
  const receive = async (wanted: string): Promise<void> => {
    while (isOpen) {
      const { status, text } = await request(path)
      if (status !== 200) isOpen = false
      requests.push(...requestedIn(text))
      if (text.split("\u001e").includes("2")) await post("3")
      if (text.includes(wanted)) return
    }
  }
  const { connect, connected, join, joined } = entranceOf(lane)
  if (!oneIn(random, 8)) {
    await post(connect)
    await receive(connected)
    await post(join)
    await receive(joined)
  } else isOpen = opened.status === 200
  return {
    isOpen: () => isOpen,
    send: async (input, choose) => {
      const packet = answering(input, requests)
      const payload = oneIn(choose, 10) ? packet : Buffer.concat([message, packet])
      await post(oneIn(choose, 8) ? Buffer.concat([payload, Buffer.from("\u001e"), payload]) : payload)
      if (oneIn(choose, 3)) {
        fences += 1
        const { answer, text } = fence(fences)
        await post(text)
        await receive(answer)
      }
      return isOpen ? "accepted" : "refused"
    },
    close: async () => {
      await post("1")
      isOpen = false
      agent.destroy()
    }
  }
}
