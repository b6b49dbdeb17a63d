import { Duration, Effect, Exit } from "effect"
import { Exchange } from "../../../src/adapters/redis/Exchange.ts"
import { firstPiece, FrameWriter, kinds, lastPiece } from "../../../src/adapters/redis/frames.ts"
import { writeRequest, writeTell } from "../../../src/adapters/redis/wire.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import type { NodeReceive } from "../../../src/application/ports/NodeLink.ts"
import { LinkClosed } from "../../../src/application/ports/Transport.ts"
import { type Feeder, must, type Note, type Surface, type Verdict } from "../Surface.ts"
import { oneIn, type Random } from "../random.ts"

const target = "target"
const witness = "witness"
const stranger = "stranger"

const pulseTime = 250
const bufferBytes = 4096

/** Bytes of which less than two may be promised by one node. */
const mostPromised = 40 * 1024 * 1024

/** A message of the stranger, with one frame or several. */
const message = (
  ...frames: ReadonlyArray<readonly [kind: number, write: (writer: FrameWriter) => unknown]>
) => {
  const writer = new FrameWriter(Buffer.alloc(bufferBytes)).open(stranger)
  for (const [kind, write] of frames) {
    writer.begin(kind)
    write(writer)
    writer.end()
  }
  return Buffer.from(writer.seal(1, 0, 10))
}

/** Whom every request is for. */
const member = { sid: "sid", office: "O" }

const request = (id: number, event: string, text: string) =>
  [
    kinds.request,
    (writer: FrameWriter) => writeRequest(writer, id, 5000, member, event).content(text)
  ] as const

const tell = (sids: ReadonlyArray<string>, text: string) =>
  [kinds.tell, (writer: FrameWriter) => writeTell(writer, sids, "notify:x").content(text)] as const

const withId = (kind: number, id: number, text = "") =>
  [kind, (writer: FrameWriter) => writer.u32(id).content(text)] as const

/** A piece of a request; the first one says what it is, and how long the text will be. */
const piece = (flags: number, part: string, length: number, stream = 1) =>
  [
    kinds.piece,
    (writer: FrameWriter) => {
      writer.u32(stream).u8(flags)
      if ((flags & firstPiece) !== 0) {
        const fields = new FrameWriter(Buffer.alloc(200))
        writeRequest(fields.u8(kinds.request), 8 + stream, 5000, member, "echo")
        const bytes = fields.buffer.subarray(0, fields.length)
        writer.u32(bytes.length).bytes(bytes).u32(length)
      }
      writer.content(part)
    }
  ] as const

const messages: ReadonlyArray<Buffer> = [
  message([kinds.up, () => undefined]),
  message([kinds.bye, () => undefined]),
  message([kinds.over, () => undefined]),
  message(request(1, "echo", '{"a":1}')),
  message(request(2, "hold", '{"a":[1,2,{"b":null}]}'), withId(kinds.forget, 2)),
  message(request(3, "faulty", "null"), request(4, "many", "[]")),
  message(tell(["s1", "s2"], '{"x":1}')),
  message(withId(kinds.closed, 1, "gone"), withId(kinds.refused, 2, '{"code":404,"message":"no"}')),
  message([kinds.noAnswer, (writer) => writer.u32(1).f64(3000)]),
  message([kinds.answer, (writer) => writer.u32(1).u8(1).u8(0).content('{"ok":true}')]),
  message([kinds.answer, (writer) => writer.u32(2).u8(2).u8(0).u8(1).u32(2).u32(2).content("{}{}")]),
  message(piece(firstPiece, '{"a":"', 12), piece(lastPiece, 'xxxx"}', 12)),
  message(piece(firstPiece | lastPiece, "{}", 2)),
  message(piece(firstPiece, "{", 100)),
  // More than is held for one node: the second one is refused, and room is made for the third.
  message(
    piece(firstPiece, "{", mostPromised),
    piece(firstPiece, "{", mostPromised, 2),
    withId(kinds.drop, 1),
    piece(firstPiece, "{", mostPromised, 3),
    withId(kinds.drop, 3)
  ),
  message(withId(kinds.drop, 1)),
  message(withId(kinds.piece, 1))
]

/** A text that the witness has to get back. */
const question = "how are you?"

/** How often the witness asks, and how many of its answers may be outstanding. */
const every = 50

/** Answers at once, never, badly, or with many values, as its event says. */
const receive: NodeReceive = {
  request: (_sid, event, body, _deadline, end) => {
    if (event === "hold") return () => undefined
    if (event === "faulty") end(Exit.fail(new LinkClosed({ reason: "gone" })))
    else if (event === "many") end(Exit.succeed([body, jsonBody(1), jsonBody({})]))
    else end(Exit.succeed([body]))
    return () => undefined
  },
  tell: (sids, event) => void [...sids, event]
}

const play = (note: Note): Feeder => {
  const exchanges = new Map<string, Exchange>()
  const make = (node: string): Exchange => {
    const exchange = new Exchange({
      node,
      pulseTime,
      publish: (to, sent, done) => {
        // What goes out is read by others later, when its buffer is used again.
        const copy = Buffer.from(sent)
        setImmediate(() => {
          exchanges.get(to)?.take(copy)
          done(1)
        })
      },
      warn: () => undefined,
      defect: (error) => note(`a handler has thrown: ${String(error)}`)
    })
    exchange.up()
    exchanges.set(node, exchange)
    return exchange
  }
  const attacked = make(target)
  const other = make(witness)
  attacked.serveWith(receive)
  let asked = 0
  let answered = 0
  let open = 0

  const ask = () => {
    asked += 1
    open += 1
    other.request(target, member, "echo", jsonBody(question), Duration.minutes(1), (outcome) => {
      open -= 1
      const [body] = Exit.isSuccess(outcome) ? outcome.value : []
      if (body?.whole()._tag === "Success" && JSON.stringify(body.text()).includes(question)) answered += 1
      else note(`the witness got ${JSON.stringify(outcome)}`)
    })
  }

  /** Asks the stranger, too, so that its answers are waited for. */
  const askStranger = () => {
    attacked.request(stranger, member, "echo", jsonBody({}), Duration.millis(1), () => undefined)
  }

  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  let fed = 0
  const feed = (input: Buffer, random: Random): Verdict => {
    fed += 1
    if (fed % every === 0) ask()
    if (oneIn(random, 20)) askStranger()
    if (oneIn(random, 40)) attacked.pulse()
    if (oneIn(random, 400)) attacked.lost(stranger)
    const ignored = attacked.load().ignored
    if (oneIn(random, 10)) attacked.heard(Buffer.from(input))
    else attacked.take(Buffer.from(input))
    return attacked.load().ignored === ignored ? "accepted" : "refused"
  }
  const settle = async () => {
    for (let turns = 0; open > 0 && turns < 1000; turns += 1) await turn()
    must(open === 0 && answered === asked, `${asked - answered} of the witness' questions have no answer`)
    attacked.down("settling")
    const { asked: waits, incomplete, serving, waiting } = attacked.load()
    must(waits + serving + waiting + incomplete === 0, "something is left of what has ended")
    other.down("settling")
    attacked.up()
    other.up()
  }
  const nothing = () => Promise.resolve()
  return { feed, begin: nothing, settle, finish: nothing }
}

/** What nodes tell each other. */
export const nodeSurface: Surface = {
  name: "nodes",
  about: "messages between nodes, beside a node that behaves",
  weight: 16,
  lanes: 1,
  corpus: messages,
  words: [
    Buffer.from("a2c1", "hex"),
    Buffer.from("00000000", "hex"),
    Buffer.from("ffffffff", "hex"),
    Buffer.from("00000001", "hex"),
    Buffer.from("7ff0000000000000", "hex"),
    Buffer.from("7ff8000000000000", "hex"),
    Buffer.from("ffefffffffffffff", "hex"),
    ...Object.values(kinds).map((kind) => Buffer.from([0, 0, 0, 5, kind, 0, 0, 0, 1])),
    stranger,
    "sid",
    "echo",
    "hold",
    "{}",
    "null",
    '{"__proto__":1}'
  ],
  longest: 4096,
  open: (note) => Effect.sync(() => play(note))
}
