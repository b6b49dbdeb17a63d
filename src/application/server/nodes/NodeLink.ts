import { Duration, Effect, Exit, type Scope, Context, Layer, Result } from "effect"
import { asObject, asString } from "../../../domain/json.ts"
import type { Body } from "../../ports/Body.ts"
import {
  type Handshake,
  type Link,
  LinkClosed,
  type MessageHandler,
  type Reply,
  type ReplyExit,
  NodeTransport,
  ServedLines
} from "../../ports/Transport.ts"
import {
  decodeNodeMessage,
  encodeOutcome,
  type NodeMessage,
  type NodeMessageHandler,
  encodeNodeMessage,
  type StartNodeRequest
} from "./nodeMessages.ts"
import { Limits } from "../Limits.ts"
import { makeOutboundLinks, makeOutboundRequests, queueFull } from "./outboundLinks.ts"

/** Cancels a request of another node at the member, and replies; without an outcome, no caller waits for one. */
type Cancel = (exit?: ReplyExit) => void

const noReply: Reply = []

/** The links that other nodes have opened. `limitReply` gives the outcome that a link can still take. */
const makeInboundLinks = (limitReply: (link: Link, exit: ReplyExit) => ReplyExit) => {
  /** The links with the names of their nodes. */
  const links = new Map<Link, string>()
  const requests = new Set<Cancel>()
  let handler: NodeMessageHandler | undefined

  const serveRequest = (
    link: Link,
    ofLink: Map<number, Cancel>,
    [, id, timeoutMillis, sid, office, event]: Extract<NodeMessage, readonly ["request", ...unknown[]]>,
    body: Body
  ): Effect.Effect<Reply> => {
    const current = handler
    if (current === undefined) {
      return Effect.succeed(encodeOutcome(Exit.fail(new LinkClosed({ reason: "the node does not serve" }))))
    }
    const serving = Effect.callback<Reply>((resume) => {
      let cancelMember: (() => void) | undefined
      const finish = (makeReply: () => Reply): boolean => {
        if (!requests.delete(cancel)) return false
        ofLink.delete(id)
        resume(Effect.succeed(makeReply()))
        return true
      }
      const cancel: Cancel = (exit) => {
        if (finish(() => (exit === undefined ? noReply : encodeOutcome(exit)))) cancelMember?.()
      }
      requests.add(cancel)
      ofLink.set(id, cancel)
      const timeout = Duration.millis(timeoutMillis)
      cancelMember = current.startRequest({ sid, office }, event, body, timeout, (exit) => {
        finish(() => encodeOutcome(limitReply(link, exit)))
      })
    })
    // The loss of the link interrupts it, and the handler may throw.
    return Effect.onError(serving, () => Effect.sync(() => ofLink.get(id)?.()))
  }

  const handleMessages = (link: Link): MessageHandler => {
    const ofLink = new Map<number, Cancel>()
    const invalid = Effect.as(Effect.logWarning("invalid node message"), noReply)
    return (text, body) => {
      const message = decodeNodeMessage(text)
      switch (message?.[0]) {
        case "request":
          return ofLink.has(message[1]) ? invalid : serveRequest(link, ofLink, message, body)
        case "cancel":
          ofLink.get(message[1])?.()
          return Effect.succeed(noReply)
        case "notify":
          handler?.notify(message[1], message[2], body)
          return Effect.succeed(noReply)
        case undefined:
          return invalid
      }
    }
  }

  return {
    accept: (link: Link, { auth }: Handshake): Effect.Effect<MessageHandler, never, Scope.Scope> => {
      const node = asString(asObject(auth)["node"]) ?? ""
      const adding = Effect.sync(() => links.set(link, node))
      const added = Effect.acquireRelease(adding, () => Effect.sync(() => links.delete(link)))
      return Effect.as(added, handleMessages(link))
    },
    /** Sets the handler of requests. Without one, pending requests end. */
    setHandler: (next: NodeMessageHandler | undefined): void => {
      handler = next
      if (next !== undefined) return
      for (const cancel of requests) cancel(Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
    },
    linksOf: (node: string): ReadonlyArray<Link> => [...links].flatMap(([link, of]) => (of === node ? [link] : [])),
    /** Bytes that wait for the other nodes. */
    backlog: (): number => {
      let bytes = 0
      for (const link of links.keys()) bytes += link.backlog()
      return bytes
    },
    requestCount: () => requests.size
  }
}

/**
 * Sends messages between the Servers of one cluster, each over the link that its node has opened: a slow node delays only
 * its own messages. Requests and notifications from one node to another arrive in order or not at all.
 *
 * The loss of a link fails its requests with `NodeUnreachable`, and cancels them at the other node. The next message
 * opens a new one.
 */
export class NodeLink extends Context.Service<
  NodeLink,
  {
    /** The name of this node, unique in the cluster and for every run. */
    readonly node: string
    /**
     * Handles messages of other nodes until the scope closes. Requests in flight are then cancelled and fail with
     * {@link LinkClosed}.
     */
    readonly serve: (handler: NodeMessageHandler) => Effect.Effect<void, never, Scope.Scope>
    readonly startRequest: StartNodeRequest
    /** Notifies members of another node with one message, best effort. */
    readonly notify: (node: string, sids: ReadonlyArray<string>, event: string, body: Body) => void
    /** Ends all requests to and from a node that the cluster has lost. */
    readonly onNodeLost: (node: string) => void
    /** All but `links` and the counter are zero when the link is idle. */
    readonly load: () => {
      /** Requests in flight, to and from other nodes. */
      readonly outboundRequests: number
      readonly inboundRequests: number
      /** Bytes that other nodes have not read yet. */
      readonly queuedBytes: number
      /** Open links to other nodes. */
      readonly links: number
      /** Counts notifications and replies dropped because their node could not be reached, or reads too slowly. */
      readonly unsent: number
    }
  }
>()("a2c-smcp/application/server/nodes/NodeLink") {
  static readonly layer: Layer.Layer<NodeLink, never, NodeTransport> = Layer.effect(
    NodeLink,
    Effect.suspend(() => make)
  )
}

/** Bytes that may wait for one node: several messages of the maximum size. */
const maxQueuedBytes = 64 * 1024 * 1024

const make = Effect.gen(function* () {
  const { node, serve } = yield* NodeTransport
  const { totalBacklogBytes } = yield* Limits
  // Not in the scope: requests of a node that has shut down also end.
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const outbound = yield* makeOutboundLinks
  let unsent = 0

  const queuedBytes = (): number => outbound.backlog() + inbound.backlog()
  /** The message that exceeds a limit is still sent. */
  const isFull = (link: Link): boolean => link.backlog() >= maxQueuedBytes || queuedBytes() >= totalBacklogBytes

  const inbound = makeInboundLinks((link, exit) => {
    if (!isFull(link)) return exit
    unsent += 1
    return Exit.fail(queueFull)
  })
  const requests = makeOutboundRequests({ outbound, isFull, run })
  // The nodes of a cluster may serve different lines.
  yield* Effect.provideService(serve(inbound.accept), ServedLines, ServedLines.defaultValue()).pipe(Effect.orDie)

  const notify = (name: string, sids: ReadonlyArray<string>, event: string, body: Body): void => {
    if (sids.length === 0) return
    const header = encodeNodeMessage(["notify", sids, event])
    outbound.withLink(name, (opened) => {
      const isSent =
        Result.isSuccess(opened) && !isFull(opened.success) && opened.success.post(header, body) === undefined
      if (!isSent) unsent += sids.length
    })
  }

  return NodeLink.of({
    node,
    serve: (handler) =>
      Effect.acquireRelease(
        Effect.sync(() => inbound.setHandler(handler)),
        () => Effect.sync(() => inbound.setHandler(undefined))
      ),
    startRequest: requests.startRequest,
    notify,
    onNodeLost: (name) => {
      const reason = "the node left the cluster"
      outbound.close(name, reason)
      for (const link of inbound.linksOf(name)) run(link.close(reason))
    },
    load: () => ({
      outboundRequests: requests.count(),
      inboundRequests: inbound.requestCount(),
      queuedBytes: queuedBytes(),
      links: outbound.count(),
      unsent
    })
  })
})
