import { assert, describe, it } from "@effect/vitest"
import { ByteBudget } from "../../../../src/adapters/redis/nodelink/ByteBudget.ts"
import { notificationFrame } from "../../../../src/adapters/redis/nodelink/frameContents.ts"
import { LinkDiagnostics } from "../../../../src/adapters/redis/nodelink/LinkDiagnostics.ts"
import { decodeHeader, MessageReader } from "../../../../src/adapters/redis/nodelink/messageFormat.ts"
import { BufferPool, SendQueue } from "../../../../src/adapters/redis/nodelink/SendQueue.ts"

const mib = 1024 * 1024

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A queue to another node, and its messages. */
const start = (node = "here") => {
  const messages: Array<Buffer> = []
  const diagnostics = new LinkDiagnostics({ warn: () => undefined, onDefect: (error) => assert.fail(String(error)) })
  const budget = new ByteBudget(64 * mib)
  const context = { node, generation: 1, bufferPool: new BufferPool(), diagnostics, nextId: () => 1, tickMillis: 250 }
  const queue = new SendQueue(
    { ...context, sendBudget: budget, reassemblyBudget: new ByteBudget(64 * mib) },
    (message) => messages.push(message)
  )
  return { queue, messages, budget }
}

const frameOf = (bytes: number) => notificationFrame(["a"], "tell", Buffer.alloc(bytes))

/** The first four bytes of the frames of messages, after their kind: of fragments the id of their frame. */
const idsOf = (messages: ReadonlyArray<Buffer>) =>
  messages.flatMap((message) => {
    const reader = new MessageReader(message)
    decodeHeader(reader)
    const ids: Array<number> = []
    for (let frame = reader.nextFrame(); frame !== undefined; frame = reader.nextFrame()) {
      frame.u8()
      ids.push(frame.u32())
    }
    return ids
  })

describe("the queue of messages to another node", () => {
  it("serves its lanes in turn, fragment by fragment", async () => {
    const { messages, queue } = start()
    for (const lane of ["a", "b", "c"]) queue.send(lane, frameOf(mib / 4))
    await turn()
    assert.deepStrictEqual(idsOf(messages).slice(0, 6), [1, 2, 3, 1, 2, 3])
  })

  it("does not count acknowledgements alone as unacknowledged: the other node never acknowledges them", async () => {
    const { messages, queue } = start("x".repeat(255))
    for (let bytes = 0; bytes < 1.1 * mib; bytes += messages.at(-1)?.length ?? 0) {
      queue.onReceived(mib)
      await turn()
    }
    const before = messages.length
    queue.send("a", frameOf(mib / 4))
    await turn()
    assert.strictEqual(messages.length, before + 3)
  })

  it("holds no bytes of frames that are sent, of long ones and short ones after them", async () => {
    const { budget, messages, queue } = start()
    queue.send("a", frameOf(2 * mib))
    queue.send("a", frameOf(7))
    assert.strictEqual(budget.usedBytes, 2 * mib + 7)
    while (queue.queuedBytes > 0 && messages.length < 100) {
      await turn()
      queue.onAcknowledged(mib)
    }
    assert.strictEqual(budget.usedBytes, 0)
  })

  it("holds the bytes of a frame until its last fragment is sent, or it is withdrawn", async () => {
    const { budget, queue } = start()
    const [first, second] = [queue.send("a", frameOf(2 * mib)), queue.send("a", frameOf(mib))]
    await turn()
    assert.strictEqual(budget.usedBytes, 3 * mib)
    assert.isObject(first)
    assert.isObject(second)
    if (typeof first !== "object" || typeof second !== "object") return
    assert.deepStrictEqual([queue.withdraw(second), budget.usedBytes], ["unsent", 2 * mib])
    assert.deepStrictEqual([queue.withdraw(first), budget.usedBytes], ["partial", 0])
    assert.strictEqual(queue.withdraw(first), "sent")
    assert.strictEqual(budget.usedBytes, 0)
  })
})
