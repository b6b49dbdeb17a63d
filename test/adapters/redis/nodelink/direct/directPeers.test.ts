import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import type {
  DirectAddress,
  DirectConnections
} from "../../../../../src/adapters/redis/nodelink/direct/DirectConnections.ts"
import { addressFrame } from "../../../../../src/adapters/redis/nodelink/frameContents.ts"
import { frameKinds, MessageWriter, toBytes } from "../../../../../src/adapters/redis/nodelink/messageFormat.ts"
import { NodeMessenger } from "../../../../../src/adapters/redis/nodelink/NodeMessenger.ts"
import { jsonBody } from "../../../../../src/application/ports/Body.ts"
import { memberOf, outcomeOf } from "../../../nodeLink.contract.ts"

const address: DirectAddress = { host: "10.0.0.2", port: 7000, secret: Buffer.alloc(32, 7) }

type Events = Parameters<DirectConnections["open"]>[1]

/** A node whose direct connections the test opens and loses. Records what it does with them. */
const start = () => {
  const done: Array<string> = []
  const opened: Array<Events> = []
  const published: Array<(outcome: number | string) => void> = []
  const warned: Array<string> = []
  const connections = {
    open: (to: DirectAddress, events: Events) => {
      done.push(`open ${to.host}:${to.port}`)
      opened.push(events)
      return () => void done.push("close")
    },
    drop: (node: string) => void done.push(`drop ${node}`),
    dropAll: () => void done.push("drop all"),
    startReading: (node: string, id: number) => void done.push(`read ${node} ${id}`)
  }
  const messenger = new NodeMessenger({
    node: "here",
    tickMillis: 250,
    direct: { address: { ...address, host: "10.0.0.1" }, connections: connections as never },
    publish: (_to, _message, onPublished) => void published.push(onPublished),
    warn: (message) => void warned.push(message),
    onDefect: (error) => assert.fail(String(error))
  })
  messenger.onConnected()
  const ends: Array<unknown> = []
  return {
    messenger,
    opened,
    published,
    warned,
    ends,
    /** What was done since the last look. */
    takeDone: () => done.splice(0),
    /** Sends a request to the other node. */
    request: () =>
      messenger.startRequest("two", memberOf(), "echo", jsonBody(1), Duration.minutes(1), (exit) =>
        ends.push(outcomeOf(exit))
      )
  }
}

/** A message of the other node with one frame. */
const messageOf = (kind: number, write: (writer: MessageWriter) => unknown = () => undefined): Buffer => {
  const writer = new MessageWriter(Buffer.alloc(1024)).beginMessage("two").beginFrame(kind)
  write(writer)
  writer.endFrame()
  return writer.finishMessage(1, 0, 0)
}

const announced = messageOf(frameKinds.address, (writer) => {
  const { content, writeFields } = addressFrame(address)
  writeFields(writer)
  writer.bytes(toBytes(content))
})

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A node that has opened a connection to the address of the other node. */
const connecting = () => {
  const node = start()
  node.messenger.onMessage(announced)
  assert.deepStrictEqual(node.takeDone(), ["open 10.0.0.2:7000"])
  return node
}

const connected = () => {
  const node = connecting()
  node.opened[0]?.onOpen({ id: 1, send: () => undefined })
  assert.strictEqual(node.messenger.load().directNodes, 1)
  return node
}

describe("the address of another node", () => {
  it("is used once while its connection is open or being opened", () => {
    for (const { messenger, request, takeDone } of [connecting(), connected()]) {
      messenger.onMessage(announced)
      request()
      assert.deepStrictEqual(takeDone(), [])
    }
  })

  it("is used again after the node has reset the link", () => {
    const { messenger, request, takeDone } = connected()
    messenger.onMessage(messageOf(frameKinds.reset))
    assert.deepStrictEqual(takeDone(), ["close", "drop two"])
    request()
    assert.deepStrictEqual(takeDone(), ["open 10.0.0.2:7000"])
  })

  it.each<readonly [string, (messenger: NodeMessenger) => void, ReadonlyArray<string>]>([
    ["the node is lost", (messenger) => messenger.onNodeLost("two"), ["close", "drop two"]],
    ["the node leaves", (messenger) => messenger.onBroadcast(messageOf(frameKinds.leaving)), ["close", "drop two"]],
    [
      "this node has lost Redis",
      (messenger) => {
        messenger.onDisconnected("no Redis")
        messenger.onConnected()
      },
      ["close", "drop two", "drop all"]
    ]
  ])("is forgotten when %s", (_, lose, expected) => {
    const { messenger, request, takeDone } = connected()
    lose(messenger)
    assert.deepStrictEqual(takeDone(), expected)
    request()
    assert.deepStrictEqual(takeDone(), [])
  })

  it("is reported once when it does not work, and fails no request", () => {
    const { ends, messenger, opened, request, warned } = connecting()
    request()
    opened[0]?.onLost("refused")
    assert.deepStrictEqual([ends, messenger.load().outboundRequests], [[], 1])
    assert.deepStrictEqual(warned, ["no direct connection to another node"])
  })
})

describe("a message to a node", () => {
  it("fails its requests when it was not received, but not those to a later connection of the node", async () => {
    const { ends, messenger, published, request, takeDone } = connecting()
    request()
    await turn()
    const [onPublished] = published
    assert.isDefined(onPublished)
    messenger.onNodeLost("two")
    request()
    takeDone()
    onPublished(0)
    assert.deepStrictEqual([ends, messenger.load().outboundRequests, takeDone()], [["NodeUnreachable"], 1, []])
  })

  it("is reported once for each connection when Redis rejects it", async () => {
    const { ends, messenger, published, request, warned } = start()
    for (const _ of [1, 2]) {
      request()
      await turn()
      published.pop()?.("NOPERM no permission")
    }
    assert.deepStrictEqual([ends, warned], [["NodeUnreachable", "NodeUnreachable"], ["Redis publish rejected"]])
    messenger.onDisconnected("no Redis")
    messenger.onConnected()
    request()
    await turn()
    published.pop()?.("NOPERM no permission")
    assert.lengthOf(warned, 2)
  })

  it("counts as dropped for each member while Redis is lost", () => {
    const { messenger } = start()
    messenger.onDisconnected("no Redis")
    messenger.notify("two", ["a", "b"], "tell", jsonBody(1))
    assert.strictEqual(messenger.load().unsent, 2)
  })
})
