import { Duration, Effect, Exit, type Fiber, Layer } from "effect"
import { type Body, invalidBody } from "../../application/ports/Body.ts"
import {
  NodeUnreachable,
  type NodeReplyExit,
  NodeLink,
  type NodeMessageHandler
} from "../../application/ports/NodeLink.ts"
import { textBody } from "../bytes/TextBody.ts"
import { type ReplyExit, LinkClosed, RequestTimeout, SendFailed } from "../../application/ports/Transport.ts"

/** How much longer than the deadline an answer is waited for: the other node keeps the deadline. */
const timeoutGrace = Duration.seconds(3)

/** A request between two nodes. Whoever takes it off both ends first decides how it ended. */
interface NodeCall {
  readonly caller: NodeEndpoint
  readonly callee: NodeEndpoint
  readonly onReply: (exit: NodeReplyExit) => void
  /** What the member's node does when the answer is not wanted any more, once it has been asked. */
  cancel: () => void
  /** Ends it when the member's node does not. */
  readonly timeoutFiber: Fiber.Fiber<void>
}

/** A node, as the others see it. */
interface NodeEndpoint {
  readonly node: string
  readonly outboundRequests: Set<NodeCall>
  readonly inboundRequests: Set<NodeCall>
  handler: NodeMessageHandler | undefined
  ignoredReplies: number
  droppedMessages: number
}

/** The nodes of a cluster within one process, by name. */
export interface MemoryNetwork {
  readonly nodes: Map<string, NodeEndpoint>
}

/** A cluster without nodes. Each {@link layer} on it is one. */
export const makeNetwork = (): MemoryNetwork => ({ nodes: new Map() })

/** A body as the far end gets it: by its text, so that the nodes share no object. */
const copyBody = (body: Body): Body => {
  const text = body.text()
  return text._tag === "Failure" ? invalidBody(text.failure) : textBody(text.success)
}

const removeCall = (call: NodeCall): boolean => {
  call.timeoutFiber.interruptUnsafe()
  call.callee.inboundRequests.delete(call)
  return call.caller.outboundRequests.delete(call)
}

/** Ends everything between two nodes, at both ends. */
const disconnectNodes = (one: NodeEndpoint, other: NodeEndpoint, reason: string): void => {
  for (const [from, to] of [[one, other] as const, [other, one] as const]) {
    for (const call of new Set(from.outboundRequests)) {
      if (call.callee !== to || !removeCall(call)) continue
      call.cancel()
      call.onReply(Exit.fail(new NodeUnreachable({ node: to.node, reason })))
    }
  }
}

/**
 * The way to the other nodes of a cluster in this process: a full peer of the one over Redis, for deterministic tests
 * on virtual time and for hosts of several Servers. The node is gone when the layer's scope closes.
 */
export const layer = (network: MemoryNetwork, node: string): Layer.Layer<NodeLink> =>
  Layer.effect(
    NodeLink,
    Effect.gen(function* () {
      const { nodes } = network
      const context = yield* Effect.context<never>()
      const runFork = Effect.runForkWith(context)
      /** By Effect's scheduler, of which a virtual clock knows: it does not tick before this is done. */
      const runSoon = (callback: () => void) =>
        void runFork(Effect.andThen(Effect.yieldNow, Effect.sync(callback)))
      const self: NodeEndpoint = {
        node,
        outboundRequests: new Set(),
        inboundRequests: new Set(),
        handler: undefined,
        ignoredReplies: 0,
        droppedMessages: 0
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => void nodes.set(node, self)),
        () =>
          Effect.sync(() => {
            if (nodes.get(node) === self) nodes.delete(node)
            for (const { caller, callee } of new Set([...self.outboundRequests, ...self.inboundRequests])) {
              disconnectNodes(self, caller === self ? callee : caller, "the node has shut down")
            }
          })
      )

      const startRequest: NodeLink["Service"]["startRequest"] = (name, to, event, body, timeout, onReply) => {
        const callee = nodes.get(name)
        const text = body.text()
        if (text._tag === "Failure" || callee === undefined || nodes.get(node) !== self) {
          let isAwaited = true
          runSoon(() => {
            if (!isAwaited) return
            onReply(
              Exit.fail(
                text._tag === "Failure"
                  ? new SendFailed({ error: text.failure })
                  : new NodeUnreachable({ node: name, reason: "the node is not subscribed" })
              )
            )
          })
          return () => {
            isAwaited = false
          }
        }
        const timeoutFiber = runFork(
          Effect.andThen(
            Effect.sleep(Duration.sum(timeout, timeoutGrace)),
            Effect.sync(() => {
              if (!removeCall(call)) return
              call.cancel()
              onReply(Exit.fail(new RequestTimeout({ timeout })))
            })
          )
        )
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
          Effect.acquireRelease(
            Effect.sync(() => {
              self.handler = handler
            }),
            () =>
              Effect.sync(() => {
                self.handler = undefined
                for (const call of new Set(self.inboundRequests)) {
                  if (!removeCall(call)) continue
                  call.cancel()
                  call.onReply(Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
                }
              })
          ),
        notify: (name, sids, event, body) => {
          const to = nodes.get(name)
          if (to === undefined) {
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
        outboundCount: () => self.outboundRequests.size,
        load: () => ({
          outboundRequests: self.outboundRequests.size,
          inboundRequests: self.inboundRequests.size,
          queuedBytes: 0,
          incompleteBodies: 0,
          ignored: self.ignoredReplies,
          unsent: self.droppedMessages
        })
      })
    })
  )
