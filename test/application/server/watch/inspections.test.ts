import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { lineNamed, PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { formatVersion } from "../../../../src/domain/wire/version.ts"
import { elapse, line, olga, openStream, startWatched, type Watched } from "./watchedServer.ts"
import { effectWith } from "../../../testWith.ts"

const features = { a2c_features: ["inspection"] }

const inspection = { servers: [], consent: [], parts: [] }
const inspected = { _tag: "Inspected", line, office: "O", computer: "pc", inspection } as const

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

const focus = (server: Watched, { snapshot }: Stream, office = "O", on = line) =>
  server.watch.execute({ _tag: "Focus", stream: snapshot.stream, line: on, office }, olga)

/** A Server with a stream. */
const watched = Effect.gen(function* () {
  const server = yield* startWatched()
  return { server, stream: yield* openStream(server) }
})

type Stream = Effect.Success<typeof watched>["stream"]

/** A Server with a reporting Computer, and a stream whose operator watches its office. */
const focused = Effect.gen(function* () {
  const { server, stream } = yield* watched
  const reports = yield* reporting(server)
  yield* focus(server, stream)
  return { server, stream, ...reports }
})

describe("the inspection of an office", () => {
  const test = effectWith(watched)
  const testFocused = effectWith(focused)

  test("asks no Computer without an operator that watches its office", function* ({ server, stream }) {
    const { requests } = yield* reporting(server)
    yield* focus(server, stream, "other")
    yield* elapse()
    assert.deepStrictEqual(requests, [])
  })

  testFocused("asks a Computer that announces it, and publishes its report", function* ({ reply, requests, stream }) {
    yield* reply({ revision: 1, inspection })
    yield* elapse()
    assert.deepStrictEqual(stream.tagged("Inspected"), [inspected])
    assert.deepStrictEqual(requests, [
      { event: "a2c:inspect", value: { waitMillis: 0 } },
      { event: "a2c:inspect", value: { waitMillis: 20_000, revision: 1 } }
    ])
  })

  testFocused("asks for all again after a reply that it cannot read", function* ({ reply, requests, stream }) {
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

  test("never asks a Computer that does not announce it", function* ({ server, stream }) {
    const requests: Array<string> = []
    yield* server.computer("pc", { answer: (event) => Effect.sync(() => void requests.push(event)) })
    yield* focus(server, stream)
    yield* elapse()
    assert.deepStrictEqual(requests, [])
  })

  testFocused("publishes each revision once", function* ({ reply, stream }) {
    for (const revision of [1, 1, 2]) yield* reply({ revision, inspection })
    yield* elapse()
    assert.lengthOf(stream.tagged("Inspected"), 2)
  })

  testFocused("asks no Computer again when the operator watches the same office once more", function* (office) {
    yield* elapse()
    yield* focus(office.server, office.stream)
    yield* elapse()
    assert.lengthOf(office.requests, 1)
  })

  test("turns to the office of the same id on another line", function* ({ server, stream }) {
    const later = lineNamed("0.3")
    const { requests } = yield* reporting(server, "pc", "O", formatVersion(later.version))
    yield* focus(server, stream)
    yield* focus(server, stream, "O", later.name)
    yield* elapse()
    assert.lengthOf(requests, 1)
  })

  testFocused("waits for a report for as long as its Computer may wait for a change", function* (office) {
    const { reply, requests, stream } = office
    yield* reply({ revision: 1, inspection })
    yield* elapse("24 seconds")
    assert.lengthOf(requests, 2)
    yield* reply({ revision: 2, inspection })
    yield* elapse()
    assert.lengthOf(stream.tagged("Inspected"), 2)
  })

  test("asks a Computer that joins later for each stream that watches its office", function* ({ server, stream }) {
    const streams = [stream, yield* openStream(server)]
    for (const each of streams) yield* focus(server, each)
    const { reply } = yield* reporting(server)
    for (const _ of streams) yield* reply({ revision: 1, inspection })
    yield* elapse()
    for (const { tagged } of streams) assert.deepStrictEqual(tagged("Inspected"), [inspected])
  })

  test("turns to another office", function* ({ server, stream }) {
    const one = yield* reporting(server, "one", "O")
    const two = yield* reporting(server, "two", "P")
    yield* focus(server, stream, "O")
    yield* elapse()
    yield* focus(server, stream, "P")
    yield* one.reply({ revision: 1, inspection })
    yield* two.reply({ revision: 1, inspection })
    yield* elapse()
    assert.deepStrictEqual(stream.tagged("Inspected"), [{ ...inspected, office: "P", computer: "two" }])
  })

  it.effect.each([
    ["an error", { code: 400, message: "no" }],
    ["a malformed report", { revision: 1, inspection: { servers: 1 } }],
    ["a report that is too large", { revision: 1, inspection, padding: "x".repeat(1024 * 1024) }]
  ] as const)("asks again 5 s after %s", ([, bad]) =>
    Effect.gen(function* () {
      const { reply, requests, stream } = yield* focused
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
      const { reply, requests } = yield* reporting(server)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* focus(server, yield* openStream(server))
          yield* elapse()
        })
      )
      yield* reply({ revision: 1, inspection })
      yield* elapse("10 seconds")
      assert.lengthOf(requests, 1)
    })
  )
})
