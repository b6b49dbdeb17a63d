/** A process that reads the stream of the office page as a browser does, in another process than the load. */
import { get, type IncomingMessage } from "node:http"
import { once } from "node:events"
import type { ReaderOrder, ReaderReport } from "./Reader.ts"

const notify = (report: ReaderReport) => void process.send?.(report)

const request = async (url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> => {
  const [response]: ReadonlyArray<IncomingMessage> = await once(get(url, { headers }), "response")
  if (response?.statusCode !== 200) throw new Error(`${url} replied ${response?.statusCode}`)
  return response
}

let stream: IncomingMessage | undefined
let bytes = 0
let messages = 0

const open = async (page: string): Promise<void> => {
  const session = await request(`${page}/api/session`, {})
  session.resume()
  const cookie = session.headers["set-cookie"]?.[0]?.split(";")[0] ?? ""
  stream = await request(`${page}/api/events`, { cookie })
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    for (let at = chunk.indexOf("}\n"); at !== -1; at = chunk.indexOf("}\n", at + 2)) messages += 1
  })
  // The end of a stream that was closed here is an error of the response.
  stream.on("error", () => undefined)
}

const obey = async (order: ReaderOrder): Promise<void> => {
  if (order._tag === "Open") {
    await open(order.page)
    return notify({ _tag: "Opened" })
  }
  stream?.destroy()
  stream = undefined
  notify({ _tag: "Closed", bytes, messages })
  bytes = messages = 0
}

process.on("message", (order: ReaderOrder) => void obey(order))
notify({ _tag: "Ready" })
