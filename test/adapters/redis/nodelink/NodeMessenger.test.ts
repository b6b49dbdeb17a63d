import { assert, describe, it } from "@effect/vitest"
import { Duration, Exit } from "effect"
import { NodeMessenger } from "../../../../src/adapters/redis/nodelink/NodeMessenger.ts"
import {
  encodeFields,
  firstFragment,
  MessageReader,
  MessageWriter,
  frameKinds,
  decodeHeader
} from "../../../../src/adapters/redis/nodelink/messageFormat.ts"
import { requestFrame } from "../../../../src/adapters/redis/nodelink/frameContents.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { makeEcho, memberOf, outcomeOf } from "../../nodeLink.contract.ts"

const mib = 1024 * 1024
const minute = Duration.minutes(1)

interface Sent {
  readonly to: string
  readonly message: Buffer
}

/** A messenger with its sent messages and its warnings. */
const messengerOf = (node: string, publish?: (sent: Sent) => void) => {
  const sent: Array<Sent> = []
  const warned: Array<string> = []
  const messenger = new NodeMessenger({
    node,
    tickMillis: 250,
    publish: (to, message, done) => {
      const copy = { to, message: Buffer.from(message) }
      sent.push(copy)
      setImmediate(() => done(1))
      publish?.(copy)
    },
    warn: (message) => warned.push(message),
    onDefect: (error) => assert.fail(String(error))
  })
  messenger.onConnected()
  return { messenger, sent, warned }
}

/** The first fragment of a frame that announces a text of this length. */
const announcement = (node: string, stream: number, fields: Uint8Array, bytes: number): Buffer => {
  const writer = new MessageWriter(Buffer.alloc(1024)).beginMessage(node)
  writer.beginFrame(frameKinds.fragment).u32(stream).u8(firstFragment)
  writer.u32(fields.length).bytes(fields).u32(bytes).endFrame()
  return Buffer.from(writer.finishMessage(1, 0, 0))
}

const requestFields = (id: number) => {
  const request = requestFrame(id, 60_000, { to: memberOf(), event: "echo", content: "" })
  return encodeFields(request.maxFieldBytes, request.kind, request.writeFields)
}

const replyFields = (id: number) => encodeFields(6, frameKinds.reply, (writer) => writer.u32(id).u8(1).u8(0))

/** Kind and id of every frame in a message. */
const framesIn = (message: Buffer): ReadonlyArray<readonly [kind: number, id: number]> => {
  const reader = new MessageReader(message)
  decodeHeader(reader)
  const frames: Array<readonly [number, number]> = []
  for (let frame = reader.nextFrame(); frame !== undefined; frame = reader.nextFrame()) {
    frames.push([frame.u8(), frame.u32()])
  }
  return frames
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe("node that exceeds the reassembly budget", () => {
  it("rejects its further requests at once and logs one warning", async () => {
    const { messenger, sent, warned } = messengerOf("here")
    messenger.setHandler(makeEcho())
    for (let id = 1; id <= 10; id++) messenger.onMessage(announcement("hostile", id, requestFields(id), 64 * mib))
    await turn()
    assert.strictEqual(messenger.load().incompleteBodies, 1)
    assert.deepStrictEqual(
      sent.flatMap(({ message }) => framesIn(message)),
      [2, 3, 4, 5, 6, 7, 8, 9, 10].map((id) => [frameKinds.rejected, id] as const)
    )
    assert.include(String(sent[0]?.message), '"code":503')
    assert.lengthOf(warned, 1)
    assert.strictEqual(messenger.load().ignored, 9)
  })

  it("ends a request as unreachable when its reply exceeds the budget", async () => {
    const { messenger } = messengerOf("here")
    const ends: Array<unknown> = []
    for (let count = 0; count < 2; count++) {
      messenger.startRequest("hostile", memberOf(), "echo", jsonBody(1), minute, (exit) => ends.push(outcomeOf(exit)))
    }
    await turn()
    for (const id of [1, 2]) messenger.onMessage(announcement("hostile", id, replyFields(id), 64 * mib))
    assert.deepStrictEqual(ends, ["NodeUnreachable"])
    assert.strictEqual(messenger.load().outboundRequests, 1)
  })

  it("shares one budget among all node names, and releases it when a node leaves", () => {
    const { messenger } = messengerOf("here")
    const names = Array.from({ length: 20 }, (_, index) => `hostile ${index}`)
    const promises = () => {
      for (const name of names) messenger.onMessage(announcement(name, 1, requestFields(1), 64 * mib))
      return messenger.load().incompleteBodies
    }
    assert.strictEqual(promises(), 8)
    for (const name of names) messenger.onNodeLost(name)
    assert.strictEqual(messenger.load().incompleteBodies, 0)
    assert.strictEqual(promises(), 8)
  })
})

describe("sending node", () => {
  it("never exceeds the reassembly budget of the receiver", async () => {
    const there = messengerOf("there")
    there.messenger.setHandler({
      ...makeEcho(),
      startRequest: (_, __, ___, ____, onReply) => (onReply(Exit.succeed([])), () => {})
    })
    const here = messengerOf("here", ({ message, to }) => {
      if (to === "there") there.messenger.onMessage(message)
    })
    /** Replies acknowledge received bytes, which opens the window. */
    let taken = 0
    const deliver = () => {
      for (const { message } of there.sent.slice(taken)) here.messenger.onMessage(message)
      taken = there.sent.length
    }
    const ends = new Map<string, number>()
    let open = 0
    const ask = (sid: string, length: number) => {
      open++
      here.messenger.startRequest("there", memberOf(sid), "echo", jsonBody("x".repeat(length)), minute, (exit) => {
        open--
        const how = Exit.isSuccess(exit) ? "answered" : String(outcomeOf(exit))
        ends.set(how, (ends.get(how) ?? 0) + 1)
      })
    }
    // Most of the bytes have arrived when as many are queued again, and again.
    for (let round = 0; round < 6; round++) {
      for (let count = 0; count < 8; count++) ask(`${round} ${count}`, (8 - round) * mib)
      while (here.messenger.load().queuedBytes > 16 * mib && open > 0) {
        await turn()
        deliver()
      }
    }
    while (open > 0) {
      await turn()
      deliver()
    }
    assert.isAbove(ends.get("answered") ?? 0, 20)
    assert.deepStrictEqual([there.messenger.load().ignored, there.warned], [0, []])
  })

  it("keeps unacknowledged bytes of short bodies within the window", async () => {
    const there = messengerOf("there")
    there.messenger.setHandler(makeEcho())
    const here = messengerOf("here")
    const total = 200
    let ended = 0
    const ask = (count: number) =>
      here.messenger.startRequest("there", memberOf(`${count}`), "echo", jsonBody("x".repeat(30_000)), minute, () => {
        ended++
      })
    for (let count = 0; count < total; count++) {
      ask(count)
      await turn()
    }
    const bytes = here.sent.reduce((sum, { message }) => sum + message.length, 0)
    assert.isBelow(bytes, 2.2 * mib)
    // Acknowledgements release the rest.
    for (let sent = 0, back = 0; ended < total; await turn()) {
      const arriving = here.sent.slice(sent)
      sent = here.sent.length
      for (const { message } of arriving) there.messenger.onMessage(message)
      await turn()
      const returning = there.sent.slice(back)
      back = there.sent.length
      for (const { message } of returning) here.messenger.onMessage(message)
    }
  })
})
