import { Duration, Effect, Exit } from "effect"
import { NodeMessenger } from "../../../src/adapters/redis/nodelink/NodeMessenger.ts"
import {
  firstFragment,
  MessageWriter,
  frameKinds,
  lastFragment
} from "../../../src/adapters/redis/nodelink/messageFormat.ts"
import { notificationFrame, requestFrame } from "../../../src/adapters/redis/nodelink/frameContents.ts"
import type { OutgoingFrame } from "../../../src/adapters/redis/nodelink/SendQueue.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import type { NodeMessageHandler } from "../../../src/application/ports/NodeLink.ts"
import { LinkClosed } from "../../../src/application/ports/Transport.ts"
import { type Feeder, must, type Note, type Surface, type Verdict } from "../Surface.ts"
import { oneIn, type Random } from "../random.ts"

const target = "target"
const witness = "witness"
const attacker = "attacker"

const tickMillis = 250
const bufferBytes = 4096

/** A size of which one node may announce less than twice. */
const maxPromised = 40 * 1024 * 1024

/** A message of the malicious node with one or more frames. */
const message = (...frames: ReadonlyArray<readonly [kind: number, write: (writer: MessageWriter) => unknown]>) => {
  const writer = new MessageWriter(Buffer.alloc(bufferBytes)).beginMessage(attacker)
  for (const [kind, write] of frames) {
    writer.beginFrame(kind)
    write(writer)
    writer.endFrame()
  }
  return Buffer.from(writer.finishMessage(1, 0, 10))
}

/** The target of every request. */
const member = { sid: "sid", office: "O" }

const whole = ({ content, kind, writeFields }: OutgoingFrame) =>
  [
    kind,
    (writer: MessageWriter) => {
      writeFields(writer)
      writer.content(content)
    }
  ] as const

const request = (id: number, event: string, text: string) =>
  whole(requestFrame(id, 5000, { to: member, event, content: text }))

const notification = (sids: ReadonlyArray<string>, text: string) => whole(notificationFrame(sids, "notify:x", text))

const withId = (kind: number, id: number, text = "") =>
  [kind, (writer: MessageWriter) => writer.u32(id).content(text)] as const

/** A fragment of a request; the first one has the header and the total length. */
const fragment = (flags: number, part: string, length: number, stream = 1) =>
  [
    frameKinds.fragment,
    (writer: MessageWriter) => {
      writer.u32(stream).u8(flags)
      if ((flags & firstFragment) !== 0) {
        const fields = new MessageWriter(Buffer.alloc(200))
        const { kind, writeFields } = requestFrame(8 + stream, 5000, {
          to: member,
          event: "echo",
          content: ""
        })
        writeFields(fields.u8(kind))
        const bytes = fields.buffer.subarray(0, fields.length)
        writer.u32(bytes.length).bytes(bytes).u32(length)
      }
      writer.content(part)
    }
  ] as const

const messages: ReadonlyArray<Buffer> = [
  message([frameKinds.connected, () => undefined]),
  message([frameKinds.leaving, () => undefined]),
  message([frameKinds.reset, () => undefined]),
  message(request(1, "echo", '{"a":1}')),
  message(request(2, "hold", '{"a":[1,2,{"b":null}]}'), withId(frameKinds.cancel, 2)),
  message(request(3, "faulty", "null"), request(4, "many", "[]")),
  message(notification(["s1", "s2"], '{"x":1}')),
  message(withId(frameKinds.linkClosed, 1, "gone"), withId(frameKinds.rejected, 2, '{"code":404,"message":"no"}')),
  message([frameKinds.timedOut, (writer) => writer.u32(1).f64(3000)]),
  message([frameKinds.reply, (writer) => writer.u32(1).u8(1).u8(0).content('{"ok":true}')]),
  message([frameKinds.reply, (writer) => writer.u32(2).u8(2).u8(0).u8(1).u32(2).u32(2).content("{}{}")]),
  message(fragment(firstFragment, '{"a":"', 12), fragment(lastFragment, 'xxxx"}', 12)),
  message(fragment(firstFragment | lastFragment, "{}", 2)),
  message(fragment(firstFragment, "{", 100)),
  // Above the buffer limit of one node: the second request is rejected, the third one fits again.
  message(
    fragment(firstFragment, "{", maxPromised),
    fragment(firstFragment, "{", maxPromised, 2),
    withId(frameKinds.discard, 1),
    fragment(firstFragment, "{", maxPromised, 3),
    withId(frameKinds.discard, 3)
  ),
  message(withId(frameKinds.discard, 1)),
  message(withId(frameKinds.fragment, 1))
]

/** The text that the witness must receive back. */
const question = "how are you?"

/** The interval of the witness requests and the maximum number of open ones. */
const every = 50

/** Replies at once, never, wrongly, or with many values, depending on the event. */
const handler: NodeMessageHandler = {
  startRequest: (_sid, event, body, _timeout, onReply) => {
    if (event === "hold") return () => undefined
    if (event === "faulty") onReply(Exit.fail(new LinkClosed({ reason: "gone" })))
    else if (event === "many") onReply(Exit.succeed([body, jsonBody(1), jsonBody({})]))
    else onReply(Exit.succeed([body]))
    return () => undefined
  },
  notify: (sids, event) => void [...sids, event]
}

const play = (note: Note): Feeder => {
  const messengers = new Map<string, NodeMessenger>()
  const make = (node: string): NodeMessenger => {
    const messenger = new NodeMessenger({
      node,
      tickMillis,
      publish: (to, sent, done) => {
        // Copied: the sender reuses its buffer before the message is read.
        const copy = Buffer.from(sent)
        setImmediate(() => {
          messengers.get(to)?.onMessage(copy)
          done(1)
        })
      },
      warn: () => undefined,
      onDefect: (error) => note(`a handler threw: ${String(error)}`)
    })
    messenger.onConnected()
    messengers.set(node, messenger)
    return messenger
  }
  const attacked = make(target)
  const other = make(witness)
  attacked.setHandler(handler)
  let requests = 0
  let answered = 0
  let open = 0

  const request = () => {
    requests += 1
    open += 1
    other.startRequest(target, member, "echo", jsonBody(question), Duration.minutes(1), (outcome) => {
      open -= 1
      const [body] = Exit.isSuccess(outcome) ? outcome.value : []
      if (body?.value()._tag === "Success" && JSON.stringify(body.text()).includes(question)) answered += 1
      else note(`the witness received ${JSON.stringify(outcome)}`)
    })
  }

  /** Also sends requests to the malicious node, which make its replies expected. */
  const requestUnauthenticated = () => {
    attacked.startRequest(attacker, member, "echo", jsonBody({}), Duration.millis(1), () => undefined)
  }

  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  let fed = 0
  const feed = (input: Buffer, random: Random): Verdict => {
    fed += 1
    if (fed % every === 0) request()
    if (oneIn(random, 20)) requestUnauthenticated()
    if (oneIn(random, 40)) attacked.tick()
    if (oneIn(random, 400)) attacked.onNodeLost(attacker)
    const ignored = attacked.load().ignored
    if (oneIn(random, 10)) attacked.onBroadcast(Buffer.from(input))
    else attacked.onMessage(Buffer.from(input))
    return attacked.load().ignored === ignored ? "accepted" : "refused"
  }
  const settle = async () => {
    for (let turns = 0; open > 0 && turns < 1000; turns += 1) await turn()
    must(open === 0 && answered === requests, `${requests - answered} witness requests have no reply`)
    attacked.onDisconnected("settling")
    const { outboundRequests, incompleteBodies, inboundRequests, queuedBytes } = attacked.load()
    must(outboundRequests + inboundRequests + queuedBytes + incompleteBodies === 0, "closed requests left state behind")
    other.onDisconnected("settling")
    attacked.onConnected()
    other.onConnected()
  }
  const nothing = () => Promise.resolve()
  return { feed, begin: nothing, settle, finish: nothing }
}

/** The mark of a message, integers and floats, in hexadecimal digits. */
const fieldBytes = [
  ["a2c1", "00000000", "ffffffff", "00000001"],
  ["7ff0000000000000", "7ff8000000000000", "ffefffffffffffff"]
].flat()

/** Messages between nodes. */
export const nodeSurface: Surface = {
  name: "nodes",
  about: "messages between nodes, next to a correct node",
  weight: 16,
  lanes: 1,
  corpus: messages,
  words: [
    fieldBytes.map((hex) => Buffer.from(hex, "hex")),
    Object.values(frameKinds).map((kind) => Buffer.from([0, 0, 0, 5, kind, 0, 0, 0, 1])),
    [attacker, "sid", "echo", "hold", "{}", "null", '{"__proto__":1}']
  ].flat(),
  longest: 4096,
  open: (note) => Effect.sync(() => play(note))
}
