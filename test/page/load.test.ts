import { assert, describe, it } from "@effect/vitest"
import type { CDPSession } from "playwright-core"
import { percentile } from "../../src/domain/page/calls/officeCalls.ts"
import type { PageEvent } from "../../src/domain/page/PageEvent.ts"
import { maxCalls } from "../../src/domain/page/PageState.ts"
import { waitUntil } from "./scripted/expectations.ts"
import { describePages, type OpenPage, usePages } from "./scripted/usePages.ts"
import { makeBatch, makeCall, startTime } from "./scripted/pageFixtures.ts"

const callsView = "#/office/0.2/team/activity"

const lanes = ["desk", "printer", "scanner", "gpu"]

/** A call that starts and ends 20 ms later; one in a hundred stays open. */
const eventsOf = (index: number): ReadonlyArray<PageEvent> => {
  const call = makeCall({
    id: `call-${index}`,
    reqId: `req-${index}`,
    tool: `tool_${index}`,
    computer: lanes[index % lanes.length] ?? "desk",
    startedAt: startTime + index * 5
  })
  const ended = { ...call, endedAt: call.startedAt + 20, outcome: index % 7 === 0 ? "tool_error" : "ok" }
  return [{ _tag: "Call", call }, ...(index % 100 === 0 ? [] : [{ _tag: "Call", call: ended } satisfies PageEvent])]
}

const range = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: to - from }, (_, index) => from + index)

/** The calls of a batch, at the time of its last start. */
const batchOf = (from: number, to: number, omittedCalls = 0) =>
  makeBatch(range(from, to).flatMap(eventsOf), { at: startTime + to * 5, omittedCalls })

/** Sends calls in batches of a hundred, and waits until the page has applied all of them. */
const sendCalls = async ({ page, server }: OpenPage, from: number, to: number): Promise<void> => {
  for (let index = from; index < to; index += 100) {
    server.send(batchOf(index, index + 100, 1))
    const applied = `${((index + 100) / 100).toLocaleString("en")} calls were counted`
    // A backlog would measure the buffers of the connection.
    if (index % 1_000 === 900) await page.getByText(applied, { exact: false }).waitFor()
  }
}

const heapBytes = async (client: CDPSession): Promise<number> => {
  await client.send("HeapProfiler.collectGarbage")
  return (await client.send("Runtime.getHeapUsage")).usedSize
}

const threadSeconds = async (client: CDPSession): Promise<number> => {
  const { metrics } = await client.send("Performance.getMetrics")
  return metrics.find(({ name }) => name === "ThreadTime")?.value ?? Number.NaN
}

/** Records when the first row of the list shows a call for the first time, in milliseconds of the epoch. */
const recordRows = `
  globalThis.shownAt = {}
  new MutationObserver(() => {
    const index = /tool_(\\d+)/.exec(document.querySelector(".virtual-row")?.textContent ?? "")?.[1]
    if (index !== undefined) globalThis.shownAt[index] ??= performance.timeOrigin + performance.now()
  }).observe(document.body, { subtree: true, childList: true, characterData: true })
`

describePages("office page", () => {
  const { open } = usePages()

  describe("load", () => {
    it("keeps its heap and its elements over 50,000 calls", async () => {
      const opened = await open(callsView)
      const { page } = opened
      const client = await page.context().newCDPSession(page)
      const elements = (): Promise<number> => page.evaluate("document.querySelectorAll('*').length")
      await sendCalls(opened, 0, 10_000)
      await page.getByText(/^5,000 calls, p50/).waitFor()
      const heapBefore = await heapBytes(client)
      const elementsBefore = await elements()
      await sendCalls(opened, 10_000, 50_000)
      const grownBytes = (await heapBytes(client)) - heapBefore
      assert.isBelow(grownBytes, 4_000_000, `of ${heapBefore} bytes`)
      assert.isBelow((await elements()) - elementsBefore, 500)
      await page.getByText(/^5,000 calls, p50/).waitFor()
    })

    it("spends less than real time on 200 events per second, with all calls that it keeps", async () => {
      const opened = await open(callsView)
      const { page, server } = opened
      await page.evaluate(recordRows)
      const client = await page.context().newCDPSession(page)
      await client.send("Performance.enable")
      await sendCalls(opened, 0, maxCalls)
      const before = await threadSeconds(client)
      const latencies: Array<number> = []
      // Ten events for each twentieth of a second; the next batch follows when the last one is shown.
      const batches = range(0, 100).map((index) => maxCalls + index * 5)
      for (const index of batches) {
        const sentAt = performance.timeOrigin + performance.now()
        server.send(batchOf(index, index + 5))
        const shownAt = () => page.evaluate<number | null>(`globalThis.shownAt[${index + 4}] ?? null`)
        await waitUntil(async () => (await shownAt()) !== null)
        latencies.push(((await shownAt()) ?? Number.NaN) - sentAt)
      }
      const spent = (await threadSeconds(client)) - before
      // Other processes delay some of the events, and the page delays all of them.
      const latency = percentile(latencies, 0.1) ?? Number.NaN
      const figures = `p95 ${percentile(latencies, 0.95)} ms, ${spent} s of CPU for 5 s of events`
      assert.isBelow(latency, 250, figures)
      assert.isBelow(spent, 5, figures)
    })
  })
})
