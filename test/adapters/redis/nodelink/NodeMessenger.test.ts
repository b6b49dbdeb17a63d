import { assert, describe, it } from "@effect/vitest"
import { Duration, Exit } from "effect"
import { NodeMessenger } from "../../../../src/adapters/redis/nodelink/NodeMessenger.ts"
import {
  encodeFields,
  firstFragment,
  MessageReader,
  MessageWriter,
  frameKinds,
  decodeHeader,
  toBytes
} from "../../../../src/adapters/redis/nodelink/messageFormat.ts"
import { rejectedReply, requestFrame } from "../../../../src/adapters/redis/nodelink/frameContents.ts"
import { RawBody } from "../../../../src/adapters/bytes/RawBody.ts"
import { unavailable } from "../../../../src/domain/model/ProtocolError.ts"
import { type Body, jsonBody } from "../../../../src/application/ports/Body.ts"
import type { ReplyExit } from "../../../../src/application/ports/Transport.ts"
import { makeEcho, memberOf, outcomeOf } from "../../nodeLink.contract.ts"

const mib = 1024 * 1024
const minute = Duration.minutes(1)

interface Sent {
  readonly to: string
  readonly message: Buffer
}

type MemoryLimits = Pick<ConstructorParameters<typeof NodeMessenger>[0], "maxAllQueuedBytes" | "maxAllIncompleteBytes">

/** A messenger with its sent messages and its warnings. */
const messengerOf = (node: string, publish?: (sent: Sent) => void, limits: Partial<MemoryLimits> = {}) => {
  const sent: Array<Sent> = []
  const warned: Array<string> = []
  const messenger = new NodeMessenger({
    node,
    ...limits,
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
  const ends: Array<unknown> = []
  /** Sends a request for a minute, whose outcome is added to `ends`. */
  const request = (to: string, body: Body = jsonBody(1)) =>
    messenger.startRequest(to, memberOf(), "echo", body, minute, (exit) => ends.push(outcomeOf(exit)))
  return { messenger, sent, warned, ends, request }
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
    const { ends, messenger, request } = messengerOf("here")
    for (let count = 0; count < 2; count++) {
      request("hostile")
    }
    await turn()
    for (const id of [1, 2]) messenger.onMessage(announcement("hostile", id, replyFields(id), 64 * mib))
    assert.deepStrictEqual(ends, ["NodeUnreachable"])
    assert.strictEqual(messenger.load().outboundRequests, 1)
  })

  it("receives no more than the limit of its Server", () => {
    const { messenger } = messengerOf("here", undefined, { maxAllIncompleteBytes: 3 * mib })
    for (const name of ["one", "two", "three"]) messenger.onMessage(announcement(name, 1, requestFields(1), mib))
    assert.strictEqual(messenger.load().incompleteBodies, 2)
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
  /** Queues requests of this many bytes to ten nodes that acknowledge nothing. Gives the outcomes of the rejected ones. */
  const queueEverywhere = async (bytes: number, limits?: Partial<MemoryLimits>) => {
    const { ends, messenger, request } = messengerOf("here", undefined, limits)
    // All share one text: the queues hold references.
    const body = RawBody.unparsed(Buffer.alloc(bytes + 1, "x"))
    for (let node = 0; node < 10; node++) {
      request(`node ${node}`, body)
    }
    await turn()
    return { messenger, ends }
  }

  it("limits what it queues for all nodes together, and releases it when a node is lost", async () => {
    const { ends, messenger } = await queueEverywhere(60 * mib)
    assert.deepStrictEqual(ends, ["SendFailed 503", "SendFailed 503"])
    assert.strictEqual(messenger.load().queuedBytes, 8 * 60 * mib)
    for (let node = 0; node < 10; node++) messenger.onNodeLost(`node ${node}`)
    assert.strictEqual(messenger.load().queuedBytes, 0)
    messenger.startRequest("another node", memberOf(), "echo", jsonBody("x".repeat(2 * mib)), minute, () => {})
    assert.isAbove(messenger.load().queuedBytes, 2 * mib)
  })

  it("waits for a reply for three seconds after the timeout", () => {
    const { messenger } = messengerOf("here")
    const ends: Array<unknown> = []
    messenger.startRequest("there", memberOf(), "echo", jsonBody(1), Duration.seconds(2), (exit) => ends.push(exit))
    // Up to one tick more: it may have begun just after one.
    for (let tick = 0; tick < 20; tick++) messenger.tick()
    assert.deepStrictEqual([ends.length, messenger.load().outboundRequests], [0, 1])
    messenger.tick()
    assert.deepStrictEqual([ends.length, messenger.load().outboundRequests], [1, 0])
  })

  it("sends no more of a request that the other node has rejected", async () => {
    const { ends, messenger, sent, request } = messengerOf("here")
    const body = RawBody.unparsed(Buffer.alloc(5 * mib + 1, "x"))
    request("there", body)
    await turn()
    assert.strictEqual(messenger.load().queuedBytes, 5 * mib)
    const rejected = rejectedReply(1, unavailable("full"))
    const fields = encodeFields(rejected.maxFieldBytes, rejected.kind, rejected.writeFields)
    messenger.onMessage(messageOf("there", [1, 0], Buffer.concat([fields, toBytes(rejected.content)])))
    assert.deepStrictEqual([ends.length, messenger.load().queuedBytes], [1, 0])
    await turn()
    assert.deepStrictEqual(framesIn(sent.at(-1)?.message ?? Buffer.alloc(0)), [[frameKinds.discard, 1]])
  })

  it("waits longer for a reply by the time of an extension", () => {
    const { messenger } = messengerOf("here")
    let extension = minute
    const extend = () => {
      const taken = extension
      extension = Duration.zero
      return taken
    }
    let ticks = 0
    let endedAt: number | undefined
    messenger.startRequest(
      "there",
      memberOf(),
      "echo",
      jsonBody(1),
      Duration.seconds(1),
      () => (endedAt ??= ticks),
      extend
    )
    while (endedAt === undefined && ticks < 1000) {
      ticks++
      messenger.tick()
    }
    assert.isAtLeast(endedAt ?? 0, 4 * 60)
  })

  it("queues no more than the limit of its Server", async () => {
    const { ends, messenger } = await queueEverywhere(3 * mib, { maxAllQueuedBytes: 12 * mib })
    assert.lengthOf(ends, 6)
    assert.strictEqual(messenger.load().queuedBytes, 12 * mib)
  })

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
    const request = (sid: string, length: number) => {
      open++
      here.messenger.startRequest("there", memberOf(sid), "echo", jsonBody("x".repeat(length)), minute, (exit) => {
        open--
        const how = Exit.isSuccess(exit) ? "answered" : String(outcomeOf(exit))
        ends.set(how, (ends.get(how) ?? 0) + 1)
      })
    }
    // Most of the bytes have arrived when as many are queued again, and again.
    for (let round = 0; round < 6; round++) {
      for (let count = 0; count < 8; count++) request(`${round} ${count}`, (8 - round) * mib)
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
    const request = (count: number) =>
      here.messenger.startRequest("there", memberOf(`${count}`), "echo", jsonBody("x".repeat(30_000)), minute, () => {
        ended++
      })
    for (let count = 0; count < total; count++) {
      request(count)
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

/** A message of a node with one frame. A generation counts the connections of its node; 0 is an unknown one. */
const messageOf = (
  node: string,
  [sender, receiver]: readonly [sender: number, receiver: number],
  frame: Uint8Array
): Buffer => {
  const writer = new MessageWriter(Buffer.alloc(1024)).beginMessage(node)
  writer
    .beginFrame(frame[0] ?? 0)
    .bytes(frame.subarray(1))
    .endFrame()
  return Buffer.from(writer.finishMessage(sender, receiver, 0))
}

const cancelFields = (id: number) => encodeFields(5, frameKinds.cancel, (writer) => writer.u32(id))

const connectedFields = encodeFields(1, frameKinds.connected, () => undefined)
const announcementOf = (generation: number) => messageOf("there", [generation, 0], connectedFields)

describe("node that reconnects", () => {
  /** A messenger and a handler that never replies. */
  const receiving = () => {
    const cancelled: Array<number> = []
    const started: Array<number> = []
    const node = messengerOf("here")
    node.messenger.setHandler({
      startRequest: () => {
        const number = started.push(started.length)
        return () => void cancelled.push(number)
      },
      notify: () => undefined
    })
    return { ...node, started, cancelled }
  }

  it("has no effect any more by messages of its previous connection", () => {
    const { cancelled, messenger, started } = receiving()
    messenger.onMessage(messageOf("there", [2, 0], requestFields(1)))
    messenger.onMessage(messageOf("there", [1, 0], requestFields(2)))
    messenger.onMessage(messageOf("there", [1, 0], cancelFields(1)))
    assert.deepStrictEqual([started.length, cancelled.length], [1, 0])
    // The later messages of the new connection still count.
    messenger.onMessage(messageOf("there", [2, 0], cancelFields(1)))
    assert.deepStrictEqual([started.length, cancelled.length], [1, 1])
    assert.strictEqual(messenger.load().inboundRequests, 0)
  })

  it("gets no effect by messages to the previous connection of this node", () => {
    const { messenger, started } = receiving()
    messenger.onMessage(messageOf("there", [1, 1], requestFields(1)))
    messenger.onDisconnected("test")
    messenger.onConnected()
    messenger.onMessage(messageOf("there", [1, 1], requestFields(2)))
    assert.lengthOf(started, 1)
    messenger.onMessage(messageOf("there", [1, 2], requestFields(3)))
    messenger.onMessage(messageOf("there", [1, 0], requestFields(4)))
    assert.lengthOf(started, 3)
  })

  it("completes no request by a reply of a previous connection", async () => {
    const { ends, messenger, sent, request } = messengerOf("here")
    messenger.onMessage(messageOf("there", [2, 0], cancelFields(9)))
    request("there")
    await turn()
    const [, id = 0] = framesIn(sent.at(-1)?.message ?? Buffer.alloc(0))[0] ?? []
    messenger.onMessage(messageOf("there", [1, 0], replyFields(id)))
    assert.deepStrictEqual(ends, [])
    messenger.onMessage(messageOf("there", [2, 0], replyFields(id)))
    assert.lengthOf(ends, 1)
  })

  it("ends requests by the announcement of its new connection, and not by an earlier one", () => {
    const { cancelled, messenger } = receiving()
    messenger.onMessage(messageOf("there", [3, 0], requestFields(1)))
    messenger.onBroadcast(announcementOf(2))
    messenger.onBroadcast(announcementOf(3))
    assert.strictEqual(messenger.load().inboundRequests, 1)
    messenger.onBroadcast(announcementOf(4))
    assert.strictEqual(messenger.load().inboundRequests, 0)
    assert.lengthOf(cancelled, 1)
  })

  it("has not lost requests by the announcement of its first connection", () => {
    const { ends, messenger, request } = messengerOf("here")
    request("there")
    for (const generation of [1, 2]) {
      assert.deepStrictEqual(ends, [])
      messenger.onBroadcast(announcementOf(generation))
    }
    assert.deepStrictEqual(ends, ["NodeUnreachable"])
  })

  it("ends the requests of its previous connection by the first message of the new one", () => {
    const { cancelled, ends, messenger, request, started } = receiving()
    messenger.onMessage(messageOf("there", [1, 0], requestFields(1)))
    request("there")
    messenger.onMessage(messageOf("there", [2, 0], requestFields(2)))
    assert.deepStrictEqual([started.length, cancelled.length], [2, 1])
    assert.deepStrictEqual(ends, ["NodeUnreachable"])
    const { inboundRequests, outboundRequests } = messenger.load()
    assert.deepStrictEqual([inboundRequests, outboundRequests], [1, 0])
  })
})

describe("node that gets corrupted messages", () => {
  it("ignores what it cannot decode", async () => {
    const one = messengerOf("one")
    for (const body of [jsonBody({ a: 1 }), jsonBody("x".repeat(300_000))]) {
      one.messenger.startRequest("two", memberOf(), "event", body, minute, () => {})
      one.messenger.notify("two", ["a", "b"], "event", body)
    }
    await turn()
    assert.isAbove(one.sent.length, 2)
    const two = messengerOf("two")
    two.messenger.setHandler(makeEcho())
    let seed = 1
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (let round = 0; round < 3000; round++) {
      const original = one.sent[round % one.sent.length]?.message ?? Buffer.alloc(0)
      const bent = Buffer.from(original.subarray(0, random(10) === 0 ? random(original.length) : undefined))
      // Corrupts mostly the fields.
      for (let count = random(4); count > 0 && bent.length > 0; count--) {
        bent[random(Math.min(bent.length, random(5) === 0 ? bent.length : 80))] = random(256)
      }
      two.messenger.onMessage(bent)
      two.messenger.onBroadcast(bent)
    }
    assert.isAbove(two.messenger.load().ignored, 100)
  })
})

/** A request in an office, whose body is a JSON text. */
const requestOf = (id: number, timeoutMillis = 60_000, json = "1"): Uint8Array => {
  const { kind, maxFieldBytes, writeFields } = requestFrame(id, timeoutMillis, {
    to: memberOf(),
    event: "x",
    content: ""
  })
  return Buffer.concat([encodeFields(maxFieldBytes, kind, writeFields), Buffer.from(json)])
}

describe("request of another node", () => {
  interface Started {
    readonly timeout: number
    readonly reply: (exit: ReplyExit) => void
    isCancelled: boolean
  }

  /** A node with a handler that records requests, and messages of the node `there` to it. */
  const receiving = (onStart: (started: Started) => void = () => {}) => {
    const started: Array<Started> = []
    const { messenger, sent } = messengerOf("here")
    messenger.setHandler({
      startRequest: (_, __, ___, timeout, reply) => {
        const one: Started = { timeout: Duration.toMillis(timeout), reply, isCancelled: false }
        started.push(one)
        onStart(one)
        return () => {
          one.isCancelled = true
        }
      },
      notify: () => undefined
    })
    const receive = (frame: Uint8Array) => messenger.onMessage(messageOf("there", [1, 0], frame))
    const replies = async () => {
      await turn()
      return sent.flatMap(({ message }) => framesIn(message))
    }
    return { messenger, started, receive, replies }
  }

  it("is served with its timeout, which is never negative", () => {
    const { receive, started } = receiving()
    receive(requestOf(1, 1234))
    receive(requestOf(2, -1))
    assert.deepStrictEqual(
      started.map(({ timeout }) => timeout),
      [1234, 0]
    )
  })

  it("is ignored without a valid timeout, and while one with its id is served", () => {
    const { messenger, receive, started } = receiving()
    receive(requestOf(1, Number.NaN))
    receive(requestOf(1).subarray(0, 20))
    assert.lengthOf(started, 0)
    receive(requestOf(1))
    receive(requestOf(1))
    assert.lengthOf(started, 1)
    assert.strictEqual(messenger.load().ignored, 3)
  })

  it("is answered once", async () => {
    const { messenger, receive, replies, started } = receiving()
    receive(requestOf(1))
    for (let count = 0; count < 2; count++) started[0]?.reply(Exit.succeed([]))
    assert.deepStrictEqual(await replies(), [[frameKinds.reply, 1]])
    assert.strictEqual(messenger.load().inboundRequests, 0)
    assert.isFalse(started[0]?.isCancelled)
  })

  it("is answered even when the handler replies at once", async () => {
    const { messenger, receive, replies } = receiving(({ reply }) => reply(Exit.succeed([])))
    receive(requestOf(1))
    assert.deepStrictEqual(await replies(), [[frameKinds.reply, 1]])
    assert.strictEqual(messenger.load().inboundRequests, 0)
  })

  it("is not answered after it is cancelled", async () => {
    const { messenger, receive, replies, started } = receiving()
    receive(requestOf(1))
    receive(cancelFields(1))
    assert.isTrue(started[0]?.isCancelled)
    started[0]?.reply(Exit.succeed([]))
    assert.deepStrictEqual(await replies(), [])
    assert.strictEqual(messenger.load().inboundRequests, 0)
  })

  it("withdraws its queued reply when it is cancelled", async () => {
    const { messenger, receive, started } = receiving()
    receive(requestOf(1))
    receive(requestOf(2))
    for (const { reply } of started) reply(Exit.succeed([jsonBody("x".repeat(mib))]))
    const queued = messenger.load().queuedBytes
    receive(cancelFields(1))
    assert.strictEqual(messenger.load().queuedBytes, queued / 2)
    assert.isFalse(started[0]?.isCancelled)
  })

  it("is rejected when its reply does not fit the queue", async () => {
    const { messenger, receive, replies, started } = receiving()
    receive(requestOf(1))
    started[0]?.reply(Exit.succeed([RawBody.unparsed(Buffer.alloc(65 * mib, "x"))]))
    assert.deepStrictEqual(await replies(), [[frameKinds.rejected, 1]])
    assert.strictEqual(messenger.load().unsent, 1)
  })

  it("gets no reply when its node is lost", async () => {
    const { messenger, receive, replies, started } = receiving()
    receive(requestOf(1))
    messenger.onDisconnected("test")
    assert.isTrue(started[0]?.isCancelled)
    started[0]?.reply(Exit.succeed([]))
    assert.deepStrictEqual(await replies(), [])
  })

  it("ends with LinkClosed when this node serves no longer", async () => {
    const { messenger, receive, replies, started } = receiving()
    receive(requestOf(1))
    messenger.setHandler(undefined)
    receive(requestOf(2))
    assert.deepStrictEqual(await replies(), [
      [frameKinds.linkClosed, 1],
      [frameKinds.linkClosed, 2]
    ])
    assert.isTrue(started[0]?.isCancelled)
    assert.strictEqual(messenger.load().inboundRequests, 0)
  })

  it("affects no other request when its handler throws", () => {
    const defects: Array<unknown> = []
    const messenger = new NodeMessenger({
      node: "here",
      tickMillis: 250,
      publish: () => undefined,
      warn: () => undefined,
      onDefect: (error) => defects.push(error)
    })
    messenger.onConnected()
    let count = 0
    messenger.setHandler({
      startRequest: () => {
        if (++count === 1) throw new Error("first")
        return () => undefined
      },
      notify: () => undefined
    })
    messenger.onMessage(messageOf("there", [1, 0], requestOf(1)))
    messenger.onMessage(messageOf("there", [1, 0], requestOf(2)))
    assert.strictEqual(count, 2)
    assert.deepStrictEqual(defects.map(String), ["Error: first"])
  })
})

describe("notification to members of another node", () => {
  const notified = async (count: number, sidBytes: number, contentBytes: number) => {
    const received: Array<string> = []
    const there = messengerOf("there")
    there.messenger.setHandler({ startRequest: () => () => {}, notify: (sids) => void received.push(...sids) })
    const here = messengerOf("here", ({ message }) => there.messenger.onMessage(message))
    const sids = Array.from({ length: count }, (_, index) => `${index}`.padStart(sidBytes, "0"))
    here.messenger.notify("there", sids, "x", jsonBody("x".repeat(contentBytes)))
    for (let round = 0; round < 20; round++) {
      await turn()
      for (const { message } of there.sent.splice(0)) here.messenger.onMessage(message)
    }
    return { sids, received, unsent: here.messenger.load().unsent }
  }

  it.each([
    [1, 10, 10],
    [3, 10, 10],
    [5, 10, 200_000],
    [5000, 20, 10]
  ])("reaches each of %i members once (%i bytes of a name, %i of the body)", async (count, sidBytes, contentBytes) => {
    const { received, sids, unsent } = await notified(count, sidBytes, contentBytes)
    assert.deepStrictEqual(received.toSorted(), sids)
    assert.strictEqual(unsent, 0)
  })

  it("is dropped, and counted, for a member whose name is too long for a message", async () => {
    const { received, unsent } = await notified(1, 200_000, 10)
    assert.deepStrictEqual([received.length, unsent], [0, 1])
  })

  it("is dropped, and counted, for each member without room in the queue", async () => {
    const { received, unsent } = await notified(2, 10, 40 * mib)
    assert.deepStrictEqual([received.length, unsent], [0, 1])
  })
})

describe("idle node", () => {
  const ticks = (messenger: NodeMessenger, count: number) => {
    for (let tick = 0; tick < count; tick++) messenger.tick()
  }

  it("gets the acknowledgement of what it sent after a second", async () => {
    const { messenger, sent } = messengerOf("here")
    messenger.setHandler(makeEcho())
    const message = messageOf("there", [1, 0], cancelFields(1))
    messenger.onMessage(message)
    ticks(messenger, 3)
    await turn()
    assert.lengthOf(sent, 0)
    ticks(messenger, 1)
    await turn()
    assert.lengthOf(sent, 1)
    const header = decodeHeader(new MessageReader(sent[0]?.message ?? Buffer.alloc(0)))
    assert.strictEqual(header?.acknowledgedBytes, message.length)
    ticks(messenger, 20)
    await turn()
    assert.lengthOf(sent, 1)
  })

  it("is forgotten after a minute, and not while it is busy", () => {
    // A message of an earlier generation has an effect only when its node is unknown.
    const isKnown = (idleTicks: number, isBusy: boolean): boolean => {
      const { messenger } = messengerOf("here")
      let started = 0
      messenger.setHandler({ startRequest: () => (started++, () => {}), notify: () => undefined })
      messenger.onMessage(messageOf("there", [2, 0], isBusy ? requestOf(1) : cancelFields(1)))
      const before = started
      ticks(messenger, idleTicks)
      messenger.onMessage(messageOf("there", [1, 0], requestOf(2)))
      return started === before
    }
    assert.deepStrictEqual([isKnown(240, false), isKnown(241, false), isKnown(241, true)], [true, false, true])
  })

  it("is known for another minute after each message", () => {
    const { messenger } = messengerOf("here")
    let started = 0
    messenger.setHandler({ startRequest: () => (started++, () => {}), notify: () => undefined })
    for (let count = 0; count < 2; count++) {
      messenger.onMessage(messageOf("there", [2, 0], cancelFields(1)))
      ticks(messenger, 200)
    }
    messenger.onMessage(messageOf("there", [1, 0], requestOf(2)))
    assert.strictEqual(started, 0)
  })
})
