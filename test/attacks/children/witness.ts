/**
 * A separate office: an Agent calls its Computer all the time and receives notifications of desktop changes. The process
 * does nothing else, so all latency comes from the Server.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { WebSocket } from "ws"
import { goodKey } from "../credentials.ts"
import { connectText, eventText, openSocket } from "../wire.ts"
import { runChild, type Measurements } from "./orders.ts"

/** Milliseconds between calls, and calls between changes. */
const pause = 5
const between = 10

/** Timeout of a call in milliseconds. */
const callTimeout = 5000

/** Minimum number of calls, even during a short attack. */
const fewest = 40

const [, , url = ""] = process.argv
const office = "witnesses"

/** Joins, and passes later messages to `onMessage`. */
const join = async (role: string, name: string, onMessage: (text: string) => void): Promise<WebSocket> => {
  const socket = await openSocket(url)
  const joined = Promise.withResolvers<void>()
  socket.on("close", () => lost(`${name} lost its connection`))
  socket.on("message", (data: Buffer) => {
    const text = data.toString()
    if (text === "2") socket.send("3")
    else if (text.startsWith("40/smcp,")) {
      socket.send(eventText(0, "server:join_office", { role, name, office_id: office }))
    } else if (text.startsWith("43/smcp,0[true")) joined.resolve()
    else if (text.startsWith("4")) onMessage(text)
  })
  socket.send(connectText({ role, token: goodKey }))
  await joined.promise
  return socket
}

const failed: Array<string> = []
const lost = (why: string) => void failed.push(why)
const waiting = new Map<number, number>()
let latencies: Array<number> = []
let calls = 0
let callsBefore = 0
let changes = { notified: 0, received: 0 }
let settled = () => {}

const isQuiet = () => waiting.size === 0 && changes.notified === changes.received

const computer = await join("computer", "witness-pc", (text) => {
  const [, id, body] = /^42\/smcp,(\d+)\["client:get_tools",(.*)\]$/.exec(text) ?? []
  if (id === undefined || body === undefined) return lost(`the Computer heard ${text.slice(0, 100)}`)
  const { req_id } = JSON.parse(body) as { req_id: string }
  computer.send(`43/smcp,${id}[{"tools":[],"req_id":"${req_id}"}]`)
})

const agent = await join("agent", "witness", (text) => {
  const [, id, reqId] = /^43\/smcp,(\d+)\[\{"tools":\[\],"req_id":"(\d+)"\}\]$/.exec(text) ?? []
  const begun = waiting.get(Number(id))
  if (text.startsWith('42/smcp,["notify:update_desktop"')) changes.received += 1
  else if (begun === undefined || id !== reqId) return lost(`the Agent heard ${text.slice(0, 100)}`)
  else {
    waiting.delete(Number(id))
    latencies.push(performance.now() - begun)
  }
  if (isQuiet()) settled()
})

const call = () => {
  calls += 1
  waiting.set(calls, performance.now())
  agent.send(eventText(calls, "client:get_tools", { agent: "witness", req_id: String(calls), computer: "witness-pc" }))
  if (calls % between !== 0) return
  changes.notified += 1
  computer.send(eventText(undefined, "server:update_desktop", { computer: "witness-pc" }))
}

let timer: ReturnType<typeof setInterval> | undefined

const begin = (): boolean => {
  latencies = []
  failed.length = 0
  callsBefore = calls
  clearInterval(timer)
  changes = { notified: 0, received: 0 }
  timer = setInterval(call, pause)
  return true
}

const at = (share: number, sorted: ReadonlyArray<number>): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN

const end = async (): Promise<Measurements> => {
  while (calls - callsBefore < fewest) await sleep(pause)
  clearInterval(timer)
  const late = setTimeout(() => settled(), callTimeout)
  await new Promise<void>((resolve) => {
    settled = resolve
    if (isQuiet()) resolve()
  })
  clearTimeout(late)
  if (waiting.size > 0) lost(`${waiting.size} calls were not answered`)
  if (changes.notified !== changes.received) lost(`of ${changes.notified} changes ${changes.received} were heard`)
  waiting.clear()
  const sorted = latencies.toSorted((a, b) => a - b)
  return {
    calls: latencies.length,
    failed: [...failed],
    p50: at(0.5, sorted),
    p99: at(0.99, sorted),
    max: sorted.at(-1) ?? Number.NaN
  }
}

runChild("ready", (order) => (order._tag === "Begin" ? begin() : order._tag === "End" ? end() : false))
