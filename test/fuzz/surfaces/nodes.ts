import { Effect, Exit, type Fiber, Layer, Logger, Result } from "effect"
import {
  encodeEvent,
  encodeReply,
  decodeFrame,
  FrameReader,
  frameKinds
} from "../../../src/adapters/tcp/transport/frames.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import {
  NodeTransport,
  type Link,
  LinkClosed,
  type MessageHandler,
  type TransportServer,
  Unreachable
} from "../../../src/application/ports/Transport.ts"
import { NodeLink } from "../../../src/application/server/nodes/NodeLink.ts"
import {
  decodeOutcome,
  encodeNodeMessage,
  encodeOutcome,
  type NodeMessageHandler
} from "../../../src/application/server/nodes/nodeMessages.ts"
import { parseVersion } from "../../../src/domain/wire/version.ts"
import { oneIn } from "../random.ts"
import { type Feeder, must, type Note, type Surface, type Verdict } from "../Surface.ts"

const maxFrameBytes = 64 * 1024

/** The target of every request. */
const member = { sid: "sid", office: "O" }

const noQueue = { onDequeued: () => undefined }

const event = (id: number, name: string, value: unknown): Buffer =>
  Buffer.concat(encodeEvent(id, name, jsonBody(value), noQueue).chunks)

const request = (id: number, name: string, value: unknown): Buffer =>
  event(id, encodeNodeMessage(["request", id, 5000, member.sid, member.office, name]), value)

const reply = (id: number, ...values: ReadonlyArray<Body>): Buffer =>
  Buffer.concat(encodeReply(id, values, noQueue).chunks)

const frames: ReadonlyArray<Buffer> = [
  request(1, "echo", { a: 1 }),
  Buffer.concat([request(2, "hold", [1, 2, { b: null }]), event(0, encodeNodeMessage(["cancel", 2]), null)]),
  Buffer.concat([request(3, "faulty", null), request(4, "many", [])]),
  event(0, encodeNodeMessage(["notify", ["s1", "s2"], "notify:x"]), { x: 1 }),
  event(5, "[]", {}),
  reply(1, jsonBody({ ok: true })),
  reply(2, ...encodeOutcome(Exit.fail(new LinkClosed({ reason: "gone" })))),
  reply(3, ...encodeOutcome(Exit.succeed([jsonBody(1), jsonBody(2)]))),
  reply(4),
  Buffer.from([0, 0, 0, 1, frameKinds.check])
]

/** The text that the witness must receive back. */
const question = "how are you?"

/** The interval of the witness requests. */
const every = 50

/** Replies at once, never, wrongly, or with many values, depending on the event. */
const handler: NodeMessageHandler = {
  startRequest: (_to, name, body, _timeout, onReply) => {
    if (name === "hold") return () => undefined
    if (name === "faulty") onReply(Exit.fail(new LinkClosed({ reason: "gone" })))
    else if (name === "many") onReply(Exit.succeed([body, jsonBody(1), jsonBody({})]))
    else onReply(Exit.succeed([body]))
    return () => undefined
  },
  notify: (sids, name) => void [...sids, name]
}

/** A link on which the attacked node sends nothing but replies. */
const linkOf = (id: string): Link => ({
  id,
  request: () => Effect.never,
  startRequest: () => () => undefined,
  notify: () => Effect.void,
  post: () => undefined,
  maxBytes: () => Number.POSITIVE_INFINITY,
  fits: () => true,
  backlog: () => 0,
  sentBytes: () => 0,
  pauseReading: () => undefined,
  closed: Effect.never,
  close: () => Effect.void
})

type Accept = Parameters<TransportServer["Service"]["serve"]>[0]

const play = Effect.fnUntraced(function* (note: Note) {
  let accept: Accept = () => Effect.die(new Error("the node does not serve"))
  const transport = NodeTransport.of({
    node: "target",
    serve: (given) => Effect.sync(() => ({ url: (accept = given) && "fuzz:" })),
    connect: () => Effect.fail(new Unreachable({ message: "no other node" }))
  })
  const attacked = yield* NodeLink.pipe(
    Effect.provide(Layer.provide(NodeLink.layer, Layer.succeed(NodeTransport, transport)), { local: true })
  )
  yield* attacked.serve(handler)
  const version = Result.getOrThrow(parseVersion("0.2.0"))
  const openLink = (node: string) =>
    Effect.orDie(accept(linkOf(node), { version, auth: { node }, headers: {}, remoteAddress: "fuzz" }))
  const attacker: MessageHandler = yield* openLink("attacker")
  const witness: MessageHandler = yield* openLink("witness")
  const quiet = Effect.provide(Logger.layer([]))
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const open = new Set<Fiber.Fiber<unknown>>()
  let requests = 0
  let answered = 0
  let verdict: Verdict = "accepted"

  const ask = () => {
    requests += 1
    const header = encodeNodeMessage(["request", requests, 60_000, member.sid, member.office, "echo"])
    run(
      Effect.map(witness(header, jsonBody(question)), (values) => {
        const outcome = decodeOutcome(values)
        const [body] = outcome !== undefined && Exit.isSuccess(outcome) ? outcome.value : []
        if (body !== undefined && Result.getOrUndefined(body.value()) === question) answered += 1
        else note(`the witness received ${JSON.stringify(outcome)}`)
      })
    )
  }

  const onFrame = (frame: Buffer) => {
    const isMessage = frame[0] === frameKinds.event || frame[0] === frameKinds.reply
    const message = isMessage ? decodeFrame(frame) : undefined
    if (message === undefined) verdict = "refused"
    else if (message.type === "ack") decodeOutcome(message.values)
    else {
      const fiber = run(quiet(attacker(message.event, message.body)))
      open.add(fiber)
      fiber.addObserver(() => open.delete(fiber))
    }
  }
  const makeReader = () => new FrameReader(maxFrameBytes, onFrame)
  let reader = makeReader()
  let fed = 0
  const feed: Feeder["feed"] = (input, random) => {
    fed += 1
    if (fed % every === 0) ask()
    if (oneIn(random, 400)) attacked.onNodeLost("attacker")
    verdict = "accepted"
    const cut = Math.floor(input.length / 2)
    const isRead = reader.read(input.subarray(0, cut)) && reader.read(input.subarray(cut))
    // A real connection would be closed, or wait for the rest of a long frame.
    if (!isRead || oneIn(random, 4)) reader = makeReader()
    return isRead ? verdict : "refused"
  }
  const settle = async () => {
    // The end of its connection interrupts what a node asks for.
    for (const fiber of open) fiber.interruptUnsafe()
    await new Promise<void>((resolve) => setImmediate(resolve))
    const { inboundRequests, outboundRequests, queuedBytes } = attacked.load()
    must(outboundRequests + inboundRequests + queuedBytes === 0, "interrupted requests left state behind")
    must(answered === requests, `${requests - answered} witness requests have no reply`)
  }
  const nothing = () => Promise.resolve()
  return { feed, begin: nothing, settle, finish: nothing }
})

/** Messages between nodes. */
export const nodeSurface: Surface = {
  name: "nodes",
  about: "messages between nodes, next to a correct node",
  weight: 16,
  lanes: 1,
  corpus: frames,
  words: [
    Object.values(frameKinds).map((kind) => Buffer.from([0, 0, 0, 5, kind, 0, 0, 0, 1])),
    [Buffer.from([0xff, 0xff, 0xff, 0xff]), Buffer.alloc(4)],
    ["request", "cancel", "notify", "sid", "echo", "hold", "{}", "null", '{"__proto__":1}', '{"values":[{}]}']
  ].flat(),
  longest: 4096,
  open: play
}
