import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { lineNamed, PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { formatVersion } from "../../../../src/domain/wire/version.ts"
import { elapse, line, olga, openStream, startWatched, type Watched } from "./watchedServer.ts"

const features = { a2c_features: ["inspection"] }

const inspection = { servers: [], consent: [], parts: [] }

/** A Computer that replies to inspections with the values of a queue. */
const reporting = Effect.fnUntraced(function* (server: Watched, name = "pc", office = "O", version = PROTOCOL_VERSION) {
  const replies = yield* Queue.unbounded<unknown>()
  const requests: Array<unknown> = []
  const computer = yield* server.computer(name, {
    office,
    version,
    auth: features,
    answer: (event, value) => {
      requests.push({ event, value })
      return Queue.take(replies)
    }
  })
  return { computer, requests, reply: (value: unknown) => Queue.offer(replies, value) }
})

const focus = (server: Watched, stream: string, office = "O") =>
  server.watch.execute({ _tag: "Focus", stream, line, office }, olga)

describe("the inspection of an office", () => {
  it.effect("asks no Computer without an operator that watches its office", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { requests } = yield* reporting(server)
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream, "other")
      yield* elapse()
      assert.deepStrictEqual(requests, [])
    })
  )

  it.effect("asks a Computer that announces it, and publishes its report", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { requests, reply } = yield* reporting(server)
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      yield* reply({ revision: 1, inspection })
      yield* elapse()
      assert.deepStrictEqual(stream.tagged("Inspected"), [
        { _tag: "Inspected", line, office: "O", computer: "pc", inspection }
      ])
      assert.deepStrictEqual(requests, [
        { event: "a2c:inspect", value: { waitMillis: 0 } },
        { event: "a2c:inspect", value: { waitMillis: 20_000, revision: 1 } }
      ])
    })
  )

  it.effect("asks for all again after a reply that it cannot read", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { requests, reply } = yield* reporting(server)
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      for (const value of [{ revision: 1, inspection }, { nonsense: true }, { revision: 1, inspection }]) {
        yield* reply(value)
        yield* elapse()
      }
      yield* elapse("6 seconds")
      assert.deepStrictEqual(
        requests.map((request) => Object(request).value),
        [{ waitMillis: 0 }, { waitMillis: 20_000, revision: 1 }, { waitMillis: 0 }, { waitMillis: 20_000, revision: 1 }]
      )
      assert.lengthOf(stream.tagged("Inspected"), 2)
    })
  )

  it.effect("never asks a Computer that does not announce it", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const requests: Array<string> = []
      yield* server.computer("pc", { answer: (event) => Effect.sync(() => void requests.push(event)) })
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      yield* elapse()
      assert.deepStrictEqual(requests, [])
    })
  )

  it.effect("publishes each revision once", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { reply } = yield* reporting(server)
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      for (const revision of [1, 1, 2]) yield* reply({ revision, inspection })
      yield* elapse()
      assert.lengthOf(stream.tagged("Inspected"), 2)
    })
  )

  it.effect("asks no Computer again when the operator watches the same office once more", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { requests } = yield* reporting(server)
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      yield* elapse()
      yield* focus(server, stream.snapshot.stream)
      yield* elapse()
      assert.lengthOf(requests, 1)
    })
  )

  it.effect("turns to the office of the same id on another line", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const later = lineNamed("0.3")
      const { requests } = yield* reporting(server, "pc", "O", formatVersion(later.version))
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      yield* server.watch.execute(
        { _tag: "Focus", stream: stream.snapshot.stream, line: later.name, office: "O" },
        olga
      )
      yield* elapse()
      assert.lengthOf(requests, 1)
    })
  )

  it.effect("waits for a report for as long as its Computer may wait for a change", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { requests, reply } = yield* reporting(server)
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      yield* reply({ revision: 1, inspection })
      yield* elapse("24 seconds")
      assert.lengthOf(requests, 2)
      yield* reply({ revision: 2, inspection })
      yield* elapse()
      assert.lengthOf(stream.tagged("Inspected"), 2)
    })
  )

  it.effect("asks a Computer that joins later for each stream that watches its office", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const streams = [yield* openStream(server), yield* openStream(server)]
      for (const { snapshot } of streams) yield* focus(server, snapshot.stream)
      const { reply } = yield* reporting(server)
      for (const _ of streams) yield* reply({ revision: 1, inspection })
      yield* elapse()
      assert.deepStrictEqual(
        streams.map(({ tagged }) => tagged("Inspected").length),
        [1, 1]
      )
    })
  )

  it.effect("asks a Computer that joins later", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      const { reply } = yield* reporting(server)
      yield* reply({ revision: 1, inspection })
      yield* elapse()
      assert.deepStrictEqual(
        stream.tagged("Inspected").map(({ computer }) => computer),
        ["pc"]
      )
    })
  )

  it.effect("turns to another office", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const one = yield* reporting(server, "one", "O")
      const two = yield* reporting(server, "two", "P")
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream, "O")
      yield* elapse()
      yield* focus(server, stream.snapshot.stream, "P")
      yield* one.reply({ revision: 1, inspection })
      yield* two.reply({ revision: 1, inspection })
      yield* elapse()
      assert.deepStrictEqual(
        stream.tagged("Inspected").map(({ computer }) => computer),
        ["two"]
      )
    })
  )

  it.effect.each([
    ["an error", { code: 400, message: "no" }],
    ["a malformed report", { revision: 1, inspection: { servers: 1 } }],
    ["a report that is too large", { revision: 1, inspection, padding: "x".repeat(1024 * 1024) }]
  ] as const)("asks again 5 s after %s", ([, bad]) =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { requests, reply } = yield* reporting(server)
      const stream = yield* openStream(server)
      yield* focus(server, stream.snapshot.stream)
      yield* reply(bad)
      yield* elapse("4900 millis")
      const before = requests.length
      yield* reply({ revision: 1, inspection })
      yield* elapse("1 second")
      yield* elapse()
      assert.deepStrictEqual({ before, shown: stream.tagged("Inspected").length }, { before: 1, shown: 1 })
    })
  )

  it.effect("ends with the stream", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const { requests, reply } = yield* reporting(server)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const stream = yield* openStream(server)
          yield* focus(server, stream.snapshot.stream)
          yield* elapse()
        })
      )
      yield* reply({ revision: 1, inspection })
      yield* elapse("10 seconds")
      assert.lengthOf(requests, 1)
    })
  )
})
