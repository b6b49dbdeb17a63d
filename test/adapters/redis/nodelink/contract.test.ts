import { Effect } from "effect"
import { NodeMessenger } from "../../../../src/adapters/redis/nodelink/NodeMessenger.ts"
import { makeNodeLink } from "../../../../src/adapters/redis/nodelink/RedisNodeLink.ts"
import { contract, type NodeCluster } from "../../nodeLink.contract.ts"

/** The time that a tick stands for, and the interval of ticks, in milliseconds: timeouts pass ten times as fast. */
const tickMillis = 250
const tickInterval = tickMillis / 10

/** Nodes that publish to each other as Redis would, in one process: in order, and later than the call. */
const makeCluster = (): NodeCluster => {
  const nodes = new Map<string, NodeMessenger>()

  const broadcast = (message: Buffer): void => {
    for (const messenger of nodes.values()) messenger.onBroadcast(message)
  }

  const open = (node: string): NodeMessenger => {
    const messenger = new NodeMessenger({
      node,
      tickMillis,
      publish: (to, message, onPublished) => {
        setImmediate(() => {
          const receiver = nodes.get(to)
          // The sender uses the buffer again.
          receiver?.onMessage(Buffer.from(message))
          onPublished(receiver === undefined ? 0 : 1)
        })
      },
      warn: () => {},
      onDefect: (error) => {
        throw error
      }
    })
    nodes.set(node, messenger)
    broadcast(messenger.onConnected())
    return messenger
  }

  const close = (node: string, messenger: NodeMessenger): void => {
    nodes.delete(node)
    broadcast(messenger.leavingNotice())
    messenger.onDisconnected("this node has shut down")
  }

  const node = (name: string) =>
    Effect.gen(function* () {
      const messenger = yield* Effect.acquireRelease(
        Effect.sync(() => open(name)),
        (opened) => Effect.sync(() => close(name, opened))
      )
      yield* Effect.acquireRelease(
        Effect.sync(() => setInterval(() => messenger.tick(), tickInterval)),
        (timer) => Effect.sync(() => clearInterval(timer))
      )
      return makeNodeLink(name, messenger)
    })
  return { node }
}

contract("over messengers in one process", Effect.sync(makeCluster))
