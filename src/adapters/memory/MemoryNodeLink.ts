import { Duration, Effect, Exit, type Fiber, Layer, Result } from "effect"
import { type Body, invalidBody } from "../../application/ports/Body.ts"
import {
  NodeLink,
  type NodeMessageHandler,
  type NodeReplyExit,
  NodeUnreachable
} from "../../application/ports/NodeLink.ts"
import { LinkClosed, type ReplyExit, RequestTimeout, SendFailed } from "../../application/ports/Transport.ts"
import { textBody } from "../bytes/TextBody.ts"

/** Extra time for a reply: the callee's node keeps the timeout itself. */
const timeoutGrace = Duration.seconds(3)

/** A request between two nodes. The end that removes it first decides its result. */
interface NodeCall {
  readonly caller: NodeEndpoint
  readonly callee: NodeEndpoint
  readonly onReply: (exit: NodeReplyExit) => void
  /** Cancels the request at the callee, once it has been sent. */
  cancel: () => void
  /** Ends the call when the callee does not. */
  readonly timeoutFiber: Fiber.Fiber<void>
}

interface NodeEndpoint {
  readonly node: string
  readonly outboundRequests: Set<NodeCall>
  readonly inboundRequests: Set<NodeCall>
  handler: NodeMessageHandler | undefined
  ignoredReplies: number
  droppedMessages: number
}

export interface MemoryNetwork {
  readonly nodes: Map<string, NodeEndpoint>
}

/** Makes a network without nodes. Each {@link layer} adds one. */
export const makeNetwork = (): MemoryNetwork => ({ nodes: new Map() })

/** The nodes share no object. */
const copyBody = (body: Body): Body => Result.match(body.text(), { onFailure: invalidBody, onSuccess: textBody })

const removeCall = (call: NodeCall): boolean => {
  call.timeoutFiber.interruptUnsafe()
  call.callee.inboundRequests.delete(call)
  return call.caller.outboundRequests.delete(call)
}

/** Removes a call unless it has ended, cancels it at the callee and reports `exit` to the caller. */
const abortCall = (call: NodeCall, exit: NodeReplyExit): void => {
  if (!removeCall(call)) return
  call.cancel()
  call.onReply(exit)
}

const disconnectNodes = (one: NodeEndpoint, other: NodeEndpoint, reason: string): void => {
  for (const [from, to] of [[one, other] as const, [other, one] as const]) {
    const exit = Exit.fail(new NodeUnreachable({ node: to.node, reason }))
    for (const call of new Set(from.outboundRequests)) if (call.callee === to) abortCall(call, exit)
  }
}

const make = Effect.fnUntraced(function* ({ nodes }: MemoryNetwork, node: string) {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  // Effect's scheduler, not the platform's: the virtual clock waits for it.
  const runSoon = (callback: () => void) => runFork(Effect.map(Effect.yieldNow, callback))
  const self: NodeEndpoint = {
    node,
    outboundRequests: new Set(),
    inboundRequests: new Set(),
    handler: undefined,
    ignoredReplies: 0,
    droppedMessages: 0
  }
  nodes.set(node, self)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (nodes.get(node) === self) nodes.delete(node)
      for (const { caller, callee } of new Set([...self.outboundRequests, ...self.inboundRequests])) {
        disconnectNodes(self, caller === self ? callee : caller, "the node has shut down")
      }
    })
  )

  const startRequest: NodeLink["Service"]["startRequest"] = (
    name,
    to,
    event,
    body,
    timeout,
    onReply,
    extend = () => Duration.zero
  ) => {
    const callee = nodes.get(name)
    const text = body.text()
    if (Result.isFailure(text) || callee === undefined || nodes.get(node) !== self) {
      const error = Result.isFailure(text)
        ? new SendFailed({ error: text.failure })
        : new NodeUnreachable({ node: name, reason: "the node is not subscribed" })
      const failing = runSoon(() => onReply(Exit.fail(error)))
      return () => failing.interruptUnsafe()
    }
    const expire = (wait: Duration.Duration): Effect.Effect<void> =>
      Effect.flatMap(Effect.sleep(wait), () => {
        const more = extend()
        if (!Duration.isZero(more)) return expire(more)
        return Effect.sync(() => abortCall(call, Exit.fail(new RequestTimeout({ timeout }))))
      })
    const timeoutFiber = runFork(expire(Duration.sum(timeout, timeoutGrace)))
    const call: NodeCall = { caller: self, callee, onReply, cancel: () => {}, timeoutFiber }
    self.outboundRequests.add(call)
    callee.inboundRequests.add(call)
    const finish = (exit: ReplyExit) => {
      if (removeCall(call)) call.onReply(Exit.map(exit, (reply) => reply.map(copyBody)))
      else self.ignoredReplies++
    }
    const sent = copyBody(body)
    runSoon(() => {
      if (!callee.inboundRequests.has(call)) return
      const { handler } = callee
      if (handler === undefined) finish(Exit.fail(new LinkClosed({ reason: "the node does not serve" })))
      else call.cancel = handler.startRequest(to, event, sent, timeout, finish)
    })
    return () => {
      if (removeCall(call)) call.cancel()
    }
  }

  return NodeLink.of({
    node,
    startRequest,
    serve: (handler) =>
      Effect.suspend(() => {
        self.handler = handler
        return Effect.addFinalizer(() =>
          Effect.sync(() => {
            self.handler = undefined
            const exit = Exit.fail(new LinkClosed({ reason: "the node has stopped serving" }))
            for (const call of new Set(self.inboundRequests)) abortCall(call, exit)
          })
        )
      }),
    notify: (name, sids, event, body) => {
      const to = nodes.get(name)
      if (to === undefined || nodes.get(node) !== self) {
        self.droppedMessages += sids.length
        return
      }
      const sent = copyBody(body)
      runSoon(() => to.handler?.notify(sids, event, sent))
    },
    onNodeLost: (name) => {
      const to = nodes.get(name)
      if (to !== undefined) disconnectNodes(self, to, "the node left the cluster")
    },
    load: () => ({
      outboundRequests: self.outboundRequests.size,
      inboundRequests: self.inboundRequests.size,
      queuedBytes: 0,
      incompleteBodies: 0,
      directNodes: 0,
      ignored: self.ignoredReplies,
      unsent: self.droppedMessages
    })
  })
})

/**
 * The link between the nodes of a cluster in one process, for tests on virtual time and for hosts of several Servers.
 * Behaves like the link over Redis. Closing the layer's scope removes the node.
 */
export const layer = (network: MemoryNetwork, node: string): Layer.Layer<NodeLink> =>
  Layer.effect(NodeLink, make(network, node))
