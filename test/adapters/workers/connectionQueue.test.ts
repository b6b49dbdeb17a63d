import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { makeConnectionQueue } from "../../../src/adapters/workers/connectionQueue.ts"
import type { SentConnection } from "../../../src/adapters/workers/workerMessages.ts"

type Queue = ReturnType<typeof makeConnectionQueue>

/** Adds a worker that keeps what it is sent, and takes connections on demand. */
const addWorker = (queue: Queue, index: number) => {
  const sent: Array<{ readonly message: SentConnection; readonly socket: Socket }> = []
  let released = 0
  const receiver = queue.addReceiver(index, (message, socket) => {
    if (message._tag === "Released") released += 1
    else if (socket !== undefined) sent.push({ message, socket })
  })
  return {
    ...receiver,
    sockets: () => sent.map(({ socket }) => socket),
    messages: () => sent.map(({ message }) => message),
    released: () => released,
    takeAll: () => {
      for (const _ of sent.splice(0)) receiver.taken()
    }
  }
}

const addAll = (queue: Queue, count: number): ReadonlyArray<Socket> => {
  const sockets = Array.from({ length: count }, () => new Socket())
  for (const socket of sockets) queue.add(socket)
  return sockets
}

const isDestroyed = ({ destroyed }: Socket) => destroyed

const passed: SentConnection = { _tag: "Connection", to: 1, read: "" }

describe("a connection queue", () => {
  it("gives connections to the workers in turn", () => {
    const queue = makeConnectionQueue(() => undefined)
    const [one, two] = [addWorker(queue, 0), addWorker(queue, 1)]
    const [first, second, third, fourth] = addAll(queue, 4)
    assert.deepStrictEqual([one.sockets(), two.sockets()], [
      [first, third],
      [second, fourth]
    ] as ReadonlyArray<ReadonlyArray<Socket>>)
  })

  it("keeps connections until a worker is there", () => {
    const queue = makeConnectionQueue(() => undefined)
    const waiting = addAll(queue, 3)
    assert.deepStrictEqual(addWorker(queue, 0).sockets(), waiting)
  })

  it("closes a connection here once its worker has taken it", () => {
    const queue = makeConnectionQueue(() => undefined)
    const { taken } = addWorker(queue, 0)
    const sockets = addAll(queue, 2)
    taken()
    assert.deepStrictEqual(sockets.map(isDestroyed), [true, false])
  })

  it("closes the connections that a worker has not taken when it ends, and gives them to no other one", () => {
    const queue = makeConnectionQueue(() => undefined)
    const { end } = addWorker(queue, 0)
    const sockets = addAll(queue, 3)
    const other = addWorker(queue, 1)
    end()
    assert.deepStrictEqual([sockets.every(isDestroyed), other.sockets()], [true, []])
  })

  it("gives the connections that wait to another worker when one ends", () => {
    const queue = makeConnectionQueue(() => undefined)
    const { end } = addWorker(queue, 0)
    const [, waiting] = [addAll(queue, 16), addAll(queue, 2)]
    end()
    assert.deepStrictEqual(addWorker(queue, 1).sockets(), waiting)
  })

  it("sends nothing more to a worker that shuts down", () => {
    const queue = makeConnectionQueue(() => undefined)
    const [one, two] = [addWorker(queue, 0), addWorker(queue, 1)]
    const sockets = addAll(queue, 2)
    one.stop()
    const later = addAll(queue, 2)
    assert.deepStrictEqual([one.sockets(), two.sockets()], [sockets.slice(0, 1), [...sockets.slice(1), ...later]])
    assert.isFalse(sockets.some(isDestroyed))
  })

  it("passes over a worker that has not taken 16 connections, until it takes them", () => {
    const queue = makeConnectionQueue(() => undefined)
    const [busy, free] = [addWorker(queue, 0), addWorker(queue, 1)]
    for (let count = 0; count < 40; count++) {
      addAll(queue, 1)
      if (count % 2 === 1) free.takeAll()
    }
    assert.lengthOf(busy.sockets(), 16)
    busy.takeAll()
    addAll(queue, 2)
    assert.lengthOf(busy.sockets(), 1)
  })

  it("closes connections beyond a thousand that wait", () => {
    const sockets = addAll(
      makeConnectionQueue(() => undefined),
      1001
    )
    assert.deepStrictEqual(sockets.filter(isDestroyed), sockets.slice(-1))
  })

  it("gives the connection of a session to the worker that has it", () => {
    const queue = makeConnectionQueue(() => undefined)
    const [one, two] = [addWorker(queue, 0), addWorker(queue, 1)]
    const socket = new Socket()
    queue.pass(passed, socket)
    assert.deepStrictEqual([one.messages(), two.messages()], [[], [passed]])
    assert.deepStrictEqual([two.released(), socket.destroyed], [0, false])
    two.takeAll()
    assert.deepStrictEqual([two.released(), socket.destroyed], [1, true])
  })

  it("reports each change of the workers that take connections", () => {
    const reports: Array<ReadonlyArray<number>> = []
    const queue = makeConnectionQueue((workers) => void reports.push(workers))
    const [one, two] = [addWorker(queue, 0), addWorker(queue, 1)]
    one.stop()
    one.end()
    two.end()
    assert.deepStrictEqual(reports, [[0], [0, 1], [1], []])
  })

  it("closes the connection of a session whose worker has ended", () => {
    const queue = makeConnectionQueue(() => undefined)
    addWorker(queue, 0)
    const socket = new Socket()
    queue.pass(passed, socket)
    assert.isTrue(socket.destroyed)
  })
})
