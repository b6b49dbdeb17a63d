import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { PageCall } from "../../../../src/domain/page/PageEvent.ts"
import {
  makeStreamBuffer,
  maxCallsPerBatch,
  maxQueuedEvents,
  type StreamBuffer
} from "../../../../src/application/shared/page/StreamBuffer.ts"

const running = (id: string): PageCall => ({
  id,
  node: "n",
  line: "0.4",
  office: "O",
  agent: "ada",
  subject: "s",
  computer: "pc",
  event: "client:tool_call",
  reqId: id,
  startedAt: 0
})

const ended = (id: string): PageCall => ({ ...running(id), endedAt: 1, outcome: "ok" })

const idsOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

/** Takes a batch and gives its calls as `id` or `id ended`, and the number of omitted ones. */
const takeCalls = (buffer: StreamBuffer) => {
  const { events, omittedCalls } = buffer.take(0)
  const calls = events.flatMap((event) => (event._tag === "Call" ? [event.call] : []))
  return { omittedCalls, calls: calls.map(({ endedAt, id }) => (endedAt === undefined ? id : `${id} ended`)) }
}

describe("the buffer of a stream", () => {
  it("has no events at first and after each batch", () => {
    const buffer = makeStreamBuffer([])
    assert.isFalse(buffer.hasEvents())
    buffer.addCall(running("a"))
    buffer.addEvent({ _tag: "Left", sid: "s", at: 0 })
    buffer.setStatus([{ _tag: "Activity", at: 0, offices: [] }])
    assert.isTrue(buffer.hasEvents())
    assert.strictEqual(buffer.take(0).events.length, 3)
    assert.isFalse(buffer.hasEvents())
    assert.deepStrictEqual(buffer.take(7), { at: 7, events: [], omittedCalls: 0, droppedEvents: 0 })
  })

  it("gives the last state of a call only", () => {
    const buffer = makeStreamBuffer([])
    buffer.addCall(running("a"))
    buffer.addCall({ ...running("a"), status: { _tag: "WaitingForConsent", computer: "pc" } })
    buffer.addCall(ended("a"))
    assert.deepStrictEqual(takeCalls(buffer), { calls: ["a ended"], omittedCalls: 0 })
  })

  const addAtStartAndEnd = (buffer: StreamBuffer, id: string) => {
    buffer.addCall(running(id))
    buffer.addCall(ended(id))
  }

  it.each([
    ["ended calls", addAtStartAndEnd],
    ["calls that were added at their end", (buffer: StreamBuffer, id: string) => buffer.addEndedCall(ended(id))]
  ])("omits and counts %s beyond the maximum", (_, add) => {
    const buffer = makeStreamBuffer([])
    for (const id of idsOf("a", maxCallsPerBatch + 5)) add(buffer, id)
    const { calls, omittedCalls } = takeCalls(buffer)
    assert.deepStrictEqual([calls[0], calls.length, omittedCalls], ["a0 ended", maxCallsPerBatch, 5])
    assert.isFalse(buffer.hasEvents())
  })

  it("gives running calls beyond the maximum in the next batches, the oldest first", () => {
    const buffer = makeStreamBuffer([])
    const ids = idsOf("a", 2 * maxCallsPerBatch + 5)
    for (const id of ids) buffer.addCall(running(id))
    const batches = [takeCalls(buffer), takeCalls(buffer), takeCalls(buffer)]
    assert.deepStrictEqual(
      batches.map(({ calls }) => calls.length),
      [maxCallsPerBatch, maxCallsPerBatch, 5]
    )
    assert.deepStrictEqual(
      batches.flatMap(({ calls }) => calls),
      ids
    )
    assert.isFalse(buffer.hasEvents())
  })

  it("gives running calls although every batch is full of calls that end", () => {
    const buffer = makeStreamBuffer([])
    const endMany = (prefix: string) => {
      for (const id of idsOf(prefix, 100)) buffer.addEndedCall(ended(id))
    }
    endMany("a")
    const ids = idsOf("long", maxCallsPerBatch / 2 + 3)
    for (const id of ids) buffer.addCall(running(id))
    const batches = ["b", "c", "d"].map((prefix) => {
      const { calls } = takeCalls(buffer)
      endMany(prefix)
      return calls.filter((call) => call.startsWith("long"))
    })
    assert.deepStrictEqual(batches, [[], ids.slice(0, maxCallsPerBatch / 2), ids.slice(maxCallsPerBatch / 2)])
  })

  it("omits no end of a call that the page shows", () => {
    const ids = idsOf("shown", 50)
    const buffer = makeStreamBuffer(ids)
    for (const id of idsOf("a", maxCallsPerBatch)) buffer.addCall(running(id))
    for (const id of ids) buffer.addCall(ended(id))
    const { calls } = takeCalls(buffer)
    assert.includeMembers(
      calls,
      ids.map((id) => `${id} ended`)
    )
  })

  it("counts the ends of shown calls to no maximum", () => {
    const shown = idsOf("shown", maxCallsPerBatch)
    const buffer = makeStreamBuffer(shown)
    for (const id of shown) buffer.addCall(ended(id))
    buffer.addCall(running("a"))
    assert.include(takeCalls(buffer).calls, "a")
  })

  it("drops the oldest events beyond the maximum and counts them", () => {
    const buffer = makeStreamBuffer([])
    for (const sid of idsOf("s", maxQueuedEvents + 3)) buffer.addEvent({ _tag: "Left", sid, at: 0 })
    const { droppedEvents, events } = buffer.take(0)
    assert.deepStrictEqual([droppedEvents, events.length], [3, maxQueuedEvents])
    assert.deepStrictEqual(events[0], { _tag: "Left", sid: "s3", at: 0 })
    assert.strictEqual(buffer.take(0).droppedEvents, 0)
  })

  it("keeps the last status of a reader that takes none", () => {
    const buffer = makeStreamBuffer([])
    for (const at of [1, 2, 3]) buffer.setStatus([{ _tag: "Activity", at, offices: [] }])
    assert.deepStrictEqual(buffer.take(3).events, [{ _tag: "Activity", at: 3, offices: [] }])
  })

  it("stays bounded while a reader takes nothing", () => {
    const buffer = makeStreamBuffer([])
    for (const id of idsOf("a", 20_000)) {
      buffer.addCall(running(id))
      buffer.addEvent({ _tag: "Left", sid: id, at: 0 })
    }
    for (const id of idsOf("a", 20_000)) buffer.addCall(ended(id))
    assert.strictEqual(buffer.take(0).events.length, maxQueuedEvents + maxCallsPerBatch)
    assert.isFalse(buffer.hasEvents())
  })
})

/** A change of one of 100 calls, or the take of a batch. */
const Step = Schema.Union([
  Schema.TaggedStruct("Start", { call: Schema.Int }),
  Schema.TaggedStruct("Report", { call: Schema.Int }),
  Schema.TaggedStruct("End", { call: Schema.Int }),
  Schema.TaggedStruct("Burst", { size: Schema.Int }),
  Schema.TaggedStruct("ShortCalls", { count: Schema.Int }),
  Schema.TaggedStruct("Take", {})
])

describe("a page that applies the batches of a stream", () => {
  it.prop(
    "shows no call as running that has ended, and all that run",
    [Schema.Array(Step)],
    ([steps]) => {
      const active = new Set(["before"])
      const buffer = makeStreamBuffer(active)
      const page = new Map([["before", running("before")]])
      const take = () => {
        for (const event of buffer.take(0).events) if (event._tag === "Call") page.set(event.call.id, event.call)
      }
      let count = 0
      const start = () => {
        const id = `call ${(count += 1)}`
        active.add(id)
        buffer.addCall(running(id))
      }
      const pick = (number: number) => [...active][Math.abs(number) % Math.max(1, active.size)]
      const end = (id: string | undefined) => {
        if (id !== undefined && active.delete(id)) buffer.addCall(ended(id))
      }
      for (const step of steps) {
        switch (step._tag) {
          case "Start":
            start()
            break
          case "Report": {
            const id = pick(step.call)
            if (id !== undefined) buffer.addCall(running(id))
            break
          }
          case "End":
            end(pick(step.call))
            break
          case "Burst":
            for (let index = 0; index < Math.abs(step.size) % 60; index += 1) start()
            break
          case "ShortCalls":
            for (let index = 0; index < Math.abs(step.count) % 60; index += 1)
              buffer.addEndedCall(ended(`call ${(count += 1)}`))
            break
          case "Take":
            take()
        }
      }
      while (buffer.hasEvents()) take()
      const shown = [...page.values()].flatMap(({ endedAt, id }) => (endedAt === undefined ? [id] : []))
      assert.sameMembers(shown, [...active])
      for (const id of active) end(id)
      take()
      assert.isTrue([...page.values()].every(({ endedAt }) => endedAt !== undefined))
    },
    { arbitrary: { runs: 200, size: 300 } }
  )
})
