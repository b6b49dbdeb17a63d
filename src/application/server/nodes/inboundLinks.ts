import { Effect, Exit, type Scope } from "effect"
import { asObject, asString } from "../../../domain/json.ts"
import type { Body } from "../../ports/Body.ts"
import {
  type Handshake,
  type Link,
  LinkClosed,
  type MessageHandler,
  type Reply,
  type ReplyExit
} from "../../ports/Transport.ts"
import { decodeNodeMessage, encodeOutcome, type NodeMessage, type NodeMessageHandler } from "./nodeMessages.ts"

/** A request of another node. */
interface InboundRequest {
  /** Cancels it at the member, and replies; without an outcome, no caller waits for one. */
  readonly cancel: (exit?: ReplyExit) => void
}

const noReply: Reply = []

/** Keeps a link among those of its node as long as the scope. */
const addLink = (links: Map<string, Set<Link>>, node: string, link: Link) => {
  const ofNode = links.get(node) ?? new Set()
  return Effect.acquireRelease(
    Effect.sync(() => void links.set(node, ofNode.add(link))),
    () =>
      Effect.sync(() => {
        ofNode.delete(link)
        if (ofNode.size === 0 && links.get(node) === ofNode) links.delete(node)
      })
  )
}

/** The links that other nodes have opened. `limitReply` gives the outcome that a link can still take. */
export const makeInboundLinks = (limitReply: (link: Link, exit: ReplyExit) => ReplyExit) => {
  const links = new Map<string, Set<Link>>()
  const requests = new Set<InboundRequest>()
  let handler: NodeMessageHandler | undefined

  const serveRequest = (
    link: Link,
    ofLink: Map<number, InboundRequest>,
    { event, id, timeout, to }: Extract<NodeMessage, { readonly _tag: "Request" }>,
    body: Body
  ): Effect.Effect<Reply> => {
    const current = handler
    if (current === undefined) {
      return Effect.succeed(encodeOutcome(Exit.fail(new LinkClosed({ reason: "the node does not serve" }))))
    }
    const serving = Effect.callback<Reply>((resume) => {
      let cancelMember: (() => void) | undefined
      const finish = (makeReply: () => Reply): boolean => {
        if (!requests.delete(request)) return false
        ofLink.delete(id)
        resume(Effect.succeed(makeReply()))
        return true
      }
      const request: InboundRequest = {
        cancel: (exit) => {
          if (finish(() => (exit === undefined ? noReply : encodeOutcome(exit)))) cancelMember?.()
        }
      }
      requests.add(request)
      ofLink.set(id, request)
      cancelMember = current.startRequest(to, event, body, timeout, (exit) => {
        finish(() => encodeOutcome(limitReply(link, exit)))
      })
    })
    // The loss of the link interrupts it, and the handler may throw.
    return Effect.onError(serving, () => Effect.sync(() => ofLink.get(id)?.cancel()))
  }

  const handleMessages = (link: Link): MessageHandler => {
    const ofLink = new Map<number, InboundRequest>()
    const invalid = Effect.as(Effect.logWarning("invalid node message"), noReply)
    return (text, body) => {
      const message = decodeNodeMessage(text)
      switch (message?._tag) {
        case "Request":
          return ofLink.has(message.id) ? invalid : serveRequest(link, ofLink, message, body)
        case "Cancel":
          ofLink.get(message.id)?.cancel()
          return Effect.succeed(noReply)
        case "Notify":
          handler?.notify(message.sids, message.event, body)
          return Effect.succeed(noReply)
        case undefined:
          return invalid
      }
    }
  }

  return {
    accept: (link: Link, { auth }: Handshake): Effect.Effect<MessageHandler, never, Scope.Scope> => {
      const node = asString(asObject(auth)["node"]) ?? ""
      return Effect.as(addLink(links, node, link), handleMessages(link))
    },
    /** Sets the handler of requests. Without one, pending requests end. */
    setHandler: (next: NodeMessageHandler | undefined): void => {
      handler = next
      if (next !== undefined) return
      for (const { cancel } of requests) cancel(Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
    },
    linksOf: (node: string): ReadonlyArray<Link> => [...(links.get(node) ?? [])],
    /** Bytes that wait for the other nodes. */
    backlog: (): number => {
      let bytes = 0
      for (const ofNode of links.values()) for (const link of ofNode) bytes += link.backlog()
      return bytes
    },
    requestCount: () => requests.size
  }
}
