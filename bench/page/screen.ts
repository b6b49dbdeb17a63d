import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import type { Page } from "playwright-core"
import { io, type Socket } from "socket.io-client"
import { launchChromium } from "../../test/programs/launchChromium.ts"
import { callSeconds, path } from "../relay/limits.ts"
import { library as a2c, type Running } from "../relay/kinds.ts"
import { closedLoop } from "../relay/loops.ts"
import { text } from "../relay/payloads.ts"
import { connectPairs, withSites } from "../relay/Site.ts"
import { quantile } from "../relay/statistics.ts"
import { load, startLoad } from "./load.ts"

const office = "marker"

/** How long the page may take to show an event, in milliseconds. */
const maxWait = 5000

/** How often the recorded times are read, in milliseconds. */
const pollInterval = 50

/** The Server sends a batch every 100 ms: the events must not keep step with it. */
const pause = (): Promise<unknown> => sleep(150 + Math.random() * 100)

/** Records in the page when each marker is on the screen: in the task after the frame that follows its change. */
const recordMarkers = `
  globalThis.shownAt = {}
  const seen = new Set()
  new MutationObserver(() => {
    for (const [marker] of document.body.textContent.matchAll(/marker_\\d+_/g)) {
      if (seen.has(marker)) continue
      seen.add(marker)
      requestAnimationFrame(() => setTimeout(() => (shownAt[marker] = performance.timeOrigin + performance.now())))
    }
  }).observe(document.body, { childList: true, subtree: true, characterData: true })
`

type Role = "agent" | "computer"

const connect = async ({ agents }: Running, role: Role): Promise<Socket> => {
  const socket = io(`http://${agents}${path}`, {
    path,
    query: { a2c_version: "0.2.0" },
    auth: { role },
    transports: ["websocket"],
    forceNew: true
  })
  await new Promise<void>((resolve) => socket.once("connect", resolve))
  return socket
}

const join = (socket: Socket, role: Role, name: string): Promise<unknown> =>
  socket.emitWithAck("server:join_office", { role, name, office_id: office })

/** Opens a view of the office, and waits for its heading. */
const openView = async (page: Page, { agents }: Running, view: string): Promise<void> => {
  await page.goto(`http://${agents}/office#/office/0.2/${office}/${view}`)
  await page.locator("main h1").first().waitFor()
  await page.evaluate(recordMarkers)
}

/** The milliseconds from before an event until its marker is on the screen. */
const timeEvent = async (page: Page, marker: string, cause: () => Promise<unknown>): Promise<number> => {
  const begun = performance.timeOrigin + performance.now()
  await cause()
  for (let waited = 0; waited < maxWait; waited += pollInterval) {
    await sleep(pollInterval)
    const shown = await page.evaluate<number | null>(`shownAt[${JSON.stringify(marker)}] ?? null`)
    if (shown !== null) return shown - begun
  }
  throw new Error(`the page does not show ${marker}`)
}

/** Causes events one after the other and formats their times. */
const timeEvents = async (
  label: string,
  events: number,
  timeNext: (marker: string) => Promise<number>
): Promise<string> => {
  const times: Array<number> = []
  for (let event = 0; event < events; event++) {
    await pause()
    times.push(await timeNext(`marker_${event}_`))
  }
  const at = (share: number) => `p${share * 100} ${quantile(times, share).toFixed(0)} ms`
  return `${label}: ${at(0.5)}, ${at(0.95)}, ${at(1)} (${events} events)`
}

/** Measures the time from an event at a Server until Chromium shows it. Gives the result as text. */
export const measureScreen = ({
  events,
  note
}: {
  readonly events: number
  readonly note: (progress: string) => void
}): Promise<string> =>
  withSites([a2c], "light", async ([site]) => {
    if (site === undefined) throw new Error("no Server")
    const { running } = site
    const scope = Scope.makeUnsafe()
    try {
      note("starting Chromium")
      const browser = await Effect.runPromise(Scope.provide(launchChromium, scope))
      const page = await browser.newPage()
      const computer = await connect(running, "computer")
      await join(computer, "computer", "desk")
      computer.on("client:tool_call", (_call: unknown, reply: (result: object) => void) =>
        reply({ content: [], isError: false })
      )
      const agent = await connect(running, "agent")
      await join(agent, "agent", "ada")
      const call = (tool: string) =>
        agent.emitWithAck("client:tool_call", {
          agent: "ada",
          req_id: tool,
          computer: "desk",
          tool_name: tool,
          params: {},
          timeout: callSeconds
        })
      const timeJoin = async (name: string): Promise<number> => {
        const member = await connect(running, "computer")
        const time = await timeEvent(page, name, () => join(member, "computer", name))
        member.disconnect()
        return time
      }

      await openView(page, running, "activity")
      note("calls")
      const quiet = await timeEvents("a call, no other calls", events, (tool) =>
        timeEvent(page, tool, () => call(tool))
      )
      const pairs = await connectPairs(site, load.pairs, text(load.bytes))
      await closedLoop(pairs, 4, { calls: 20_000 }).ended
      startLoad(pairs, (turn) => setTimeout(turn, 2))
      await openView(page, running, "settings")
      note("joins")
      const busy = await timeEvents(`a join, beside ${load.perSecond} calls/s`, events, timeJoin)
      return `${quiet}\n${busy}\n`
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  })
