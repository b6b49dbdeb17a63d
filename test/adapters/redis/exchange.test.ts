import { assert, describe, it } from "@effect/vitest"
import { Duration, Exit } from "effect"
import { Exchange } from "../../../src/adapters/redis/Exchange.ts"
import {
  fieldsOf,
  firstPiece,
  FrameReader,
  FrameWriter,
  kinds,
  readHeader
} from "../../../src/adapters/redis/frames.ts"
import { boundOfRequest, writeRequest } from "../../../src/adapters/redis/wire.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { makeEcho, memberOf, outcomeOf } from "../nodeLink.contract.ts"

const mib = 1024 * 1024
const minute = Duration.minutes(1)

interface Sent {
  readonly to: string
  readonly message: Buffer
}

/** An exchange with everything that it sends and warns of. */
const exchangeOf = (node: string, publish?: (sent: Sent) => void) => {
  const sent: Array<Sent> = []
  const warned: Array<string> = []
  const exchange = new Exchange({
    node,
    pulseTime: 250,
    publish: (to, message, done) => {
      const copy = { to, message: Buffer.from(message) }
      sent.push(copy)
      setImmediate(() => done(1))
      publish?.(copy)
    },
    warn: (message) => warned.push(message),
    defect: (error) => assert.fail(String(error))
  })
  exchange.up()
  return { exchange, sent, warned }
}

/** The first piece of a frame that promises a text of so many bytes. */
const promise = (node: string, stream: number, fields: Uint8Array, bytes: number): Buffer => {
  const writer = new FrameWriter(Buffer.alloc(1024)).open(node)
  writer.begin(kinds.piece).u32(stream).u8(firstPiece)
  writer.u32(fields.length).bytes(fields).u32(bytes).end()
  return Buffer.from(writer.seal(1, 0, 0))
}

const requestFields = (id: number) =>
  fieldsOf(boundOfRequest(memberOf(), "echo"), kinds.request, (writer) =>
    writeRequest(writer, id, 60_000, memberOf(), "echo")
  )

const answerFields = (id: number) => fieldsOf(6, kinds.answer, (writer) => writer.u32(id).u8(1).u8(0))

/** Kind and id of every frame in a message. */
const framesIn = (message: Buffer): ReadonlyArray<readonly [kind: number, id: number]> => {
  const reader = new FrameReader(message)
  readHeader(reader)
  const frames: Array<readonly [number, number]> = []
  for (let frame = reader.frame(); frame !== undefined; frame = reader.frame()) {
    frames.push([frame.u8(), frame.u32()])
  }
  return frames
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe("a node that promises more than may be held for it", () => {
  it("is refused what it asks beyond that, at once, and an operator hears of it once", async () => {
    const { exchange, sent, warned } = exchangeOf("here")
    exchange.serveWith(makeEcho())
    for (let id = 1; id <= 10; id++) exchange.take(promise("hostile", id, requestFields(id), 64 * mib))
    await turn()
    assert.strictEqual(exchange.load().incomplete, 1)
    assert.deepStrictEqual(
      sent.flatMap(({ message }) => framesIn(message)),
      [2, 3, 4, 5, 6, 7, 8, 9, 10].map((id) => [kinds.refused, id] as const)
    )
    assert.include(String(sent[0]?.message), '"code":503')
    assert.lengthOf(warned, 1)
    assert.strictEqual(exchange.load().ignored, 9)
  })

  it("is as if away to whoever waits for such an answer of it", async () => {
    const { exchange } = exchangeOf("here")
    const ends: Array<unknown> = []
    for (let count = 0; count < 2; count++) {
      exchange.request("hostile", memberOf(), "echo", jsonBody(1), minute, (asked) =>
        ends.push(outcomeOf(asked))
      )
    }
    await turn()
    for (const id of [1, 2]) exchange.take(promise("hostile", id, answerFields(id), 64 * mib))
    assert.deepStrictEqual(ends, ["NodeAway"])
    assert.strictEqual(exchange.size(), 1)
  })

  it("fills no more, under however many names, than is shared by all; and room is made when it goes", () => {
    const { exchange } = exchangeOf("here")
    const names = Array.from({ length: 20 }, (_, index) => `hostile ${index}`)
    const promises = () => {
      for (const name of names) exchange.take(promise(name, 1, requestFields(1), 64 * mib))
      return exchange.load().incomplete
    }
    assert.strictEqual(promises(), 8)
    for (const name of names) exchange.lost(name)
    assert.strictEqual(exchange.load().incomplete, 0)
    assert.strictEqual(promises(), 8)
  })
})

describe("a node that behaves", () => {
  it("never promises more than the other one holds, whatever it has to send", async () => {
    const there = exchangeOf("there")
    there.exchange.serveWith({
      ...makeEcho(),
      request: (_, __, ___, ____, end) => (end(Exit.succeed([])), () => {})
    })
    const here = exchangeOf("here", ({ message, to }) => {
      if (to === "there") there.exchange.take(message)
    })
    /** What goes back tells what has arrived, so that more may go. */
    let taken = 0
    const deliver = () => {
      for (const { message } of there.sent.slice(taken)) here.exchange.take(message)
      taken = there.sent.length
    }
    const ends = new Map<string, number>()
    let open = 0
    const ask = (sid: string, length: number) => {
      open++
      here.exchange.request("there", memberOf(sid), "echo", jsonBody("x".repeat(length)), minute, (asked) => {
        open--
        const how = Exit.isSuccess(asked) ? "answered" : String(outcomeOf(asked))
        ends.set(how, (ends.get(how) ?? 0) + 1)
      })
    }
    // Much is almost there when as much begins anew, and again.
    for (let round = 0; round < 6; round++) {
      for (let count = 0; count < 8; count++) ask(`${round} ${count}`, (8 - round) * mib)
      while (here.exchange.load().waiting > 16 * mib && open > 0) {
        await turn()
        deliver()
      }
    }
    while (open > 0) {
      await turn()
      deliver()
    }
    assert.isAbove(ends.get("answered") ?? 0, 20)
    assert.deepStrictEqual([there.exchange.load().ignored, there.warned], [0, []])
  })

  it("leaves no more in the hands of Redis than it takes, however many short bodies there are", async () => {
    const there = exchangeOf("there")
    there.exchange.serveWith(makeEcho())
    const here = exchangeOf("here")
    const total = 200
    let ended = 0
    const ask = (count: number) =>
      here.exchange.request(
        "there",
        memberOf(`${count}`),
        "echo",
        jsonBody("x".repeat(30_000)),
        minute,
        () => {
          ended++
        }
      )
    for (let count = 0; count < total; count++) {
      ask(count)
      await turn()
    }
    const bytes = here.sent.reduce((sum, { message }) => sum + message.length, 0)
    assert.isBelow(bytes, 2.2 * mib)
    // As what was sent arrives the rest goes, too.
    for (let sent = 0, back = 0; ended < total; await turn()) {
      const arriving = here.sent.slice(sent)
      sent = here.sent.length
      for (const { message } of arriving) there.exchange.take(message)
      await turn()
      const returning = there.sent.slice(back)
      back = there.sent.length
      for (const { message } of returning) here.exchange.take(message)
    }
  })
})
