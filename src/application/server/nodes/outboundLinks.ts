import { Duration, Effect, type Fiber, FiberSet, Result, Exit } from "effect"
import { PROTOCOL_VERSION } from "../../../domain/wire/lines.ts"
import { NodeTransport } from "../../ports/NodeTransport.ts"
import { type Link, type ReplyExit, RequestTimeout, SendFailed } from "../../ports/Transport.ts"
import {
  NodeUnreachable,
  decodeOutcome,
  encodeNodeMessage,
  type NodeReplyExit,
  type StartNodeRequest
} from "./nodeMessages.ts"
import { unavailable } from "../../../domain/model/ProtocolError.ts"
import { jsonBody } from "../../ports/Body.ts"

/** How long messages to a node fail at once after it could not be reached. */
const retryPause = Duration.seconds(1)

/** Messages that may wait for one link. */
const maxWaiting = 10_000

type Use = (opened: Result.Result<Link, NodeUnreachable>) => void

type State =
  | { readonly _tag: "Opening"; readonly waiting: Array<Use> }
  | { readonly _tag: "Open"; readonly link: Link }
  | { readonly _tag: "Failed"; readonly error: NodeUnreachable }

interface Peer {
  state: State
  fiber: Fiber.Fiber<void> | undefined
}

const unreachable = (node: string, reason: string) => new NodeUnreachable({ node, reason })

/** Sets the outcome of an attempt, for which messages may wait. */
const setState = (peer: Peer, state: Exclude<State, { readonly _tag: "Opening" }>): void => {
  const before = peer.state
  peer.state = state
  if (before._tag !== "Opening") return
  const opened = state._tag === "Open" ? Result.succeed(state.link) : Result.fail(state.error)
  for (const use of before.waiting) use(opened)
}

const backlogOf = (peers: Iterable<Peer>): number => {
  let bytes = 0
  for (const { state } of peers) if (state._tag === "Open") bytes += state.link.backlog()
  return bytes
}

type OutboundLinks = Effect.Success<typeof makeOutboundLinks>

/** The links that this node has opened, each with its first message. They close with the scope. */
export const makeOutboundLinks = Effect.gen(function* () {
  const transport = yield* NodeTransport
  const peers = new Map<string, Peer>()
  let isClosed = false
  const run = yield* FiberSet.makeRuntime<never>()

  const remove = (node: string, peer: Peer, reason: string): void => {
    if (peers.get(node) === peer) peers.delete(node)
    setState(peer, { _tag: "Failed", error: unreachable(node, reason) })
  }

  /** Opens the link of a node, and keeps it until it closes. */
  const keepOpen = (node: string, peer: Peer) =>
    Effect.gen(function* () {
      const options = { version: PROTOCOL_VERSION, auth: { node: transport.node }, onMessage: () => Effect.succeed([]) }
      const link = yield* transport.connect(node, options)
      setState(peer, { _tag: "Open", link })
      remove(node, peer, yield* link.closed)
    }).pipe(
      Effect.scoped,
      Effect.catch(({ message: reason }) => {
        setState(peer, { _tag: "Failed", error: unreachable(node, reason) })
        return Effect.logWarning("no link to another node", { node: transport.node, to: node, reason }).pipe(
          Effect.andThen(Effect.sleep(retryPause)),
          Effect.andThen(Effect.sync(() => remove(node, peer, reason)))
        )
      })
    )

  const open = (node: string): Peer => {
    const peer: Peer = { state: { _tag: "Opening", waiting: [] }, fiber: undefined }
    peers.set(node, peer)
    peer.fiber = run(keepOpen(node, peer))
    return peer
  }

  const close = (node: string, reason: string): void => {
    const peer = peers.get(node)
    if (peer === undefined) return
    remove(node, peer, reason)
    peer.fiber?.interruptUnsafe()
  }

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      for (const node of peers.keys()) close(node, "this node has shut down")
    })
  )

  return {
    /** Calls `use` with the link to a node, at once or when it is open. */
    withLink: (node: string, use: Use): void => {
      if (isClosed) return use(Result.fail(unreachable(node, "this node has shut down")))
      const { state } = peers.get(node) ?? open(node)
      switch (state._tag) {
        case "Open":
          return use(Result.succeed(state.link))
        case "Failed":
          return use(Result.fail(state.error))
        case "Opening":
          if (state.waiting.length >= maxWaiting) return use(Result.fail(unreachable(node, "too much waits for it")))
          return void state.waiting.push(use)
      }
    },
    /** Closes the link to a node. */
    close,
    /** Bytes that wait for the other nodes. */
    backlog: (): number => backlogOf(peers.values()),
    /** Open links. */
    count: (): number => [...peers.values()].filter(({ state }) => state._tag === "Open").length
  }
})

/** How long after the timeout of a request its outcome may still arrive: the other node applies the timeout. */
const timeoutGrace = Duration.seconds(3)

export const queueFull = new SendFailed({ error: unavailable("The send queue to the other node is full") })

interface OutboundRequestsOptions {
  readonly outbound: OutboundLinks
  /** True for a link that takes no more messages now. */
  readonly isFull: (link: Link) => boolean
  readonly run: (effect: Effect.Effect<void>) => void
}

/** The requests of this node to others. Each ends exactly once, unless it is cancelled before. */
export const makeOutboundRequests = ({ isFull, outbound, run }: OutboundRequestsOptions) => {
  const requests = new Set<number>()
  let lastId = 0

  const startRequest: StartNodeRequest = (name, to, event, body, timeout, onReply, extend) => {
    const id = ++lastId
    let cancelSent: (() => void) | undefined
    requests.add(id)
    const finish = (exit: NodeReplyExit) => {
      if (requests.delete(id)) onReply(exit)
    }
    /** The caller gets the cancel function before the outcome. */
    const finishSoon = (error: NodeUnreachable | SendFailed) =>
      run(Effect.map(Effect.yieldNow, () => finish(Exit.fail(error))))
    const send = (link: Link) => {
      const cancelAtNode = () => void link.post(encodeNodeMessage({ _tag: "Cancel", id }), jsonBody(null))
      const onEnd = (exit: ReplyExit) => {
        if (Exit.isSuccess(exit)) {
          const outcome = decodeOutcome(exit.value)
          return finish(outcome ?? Exit.fail(new NodeUnreachable({ node: name, reason: "its reply is invalid" })))
        }
        return finish(
          Exit.mapError(exit, (error) => {
            if (error._tag === "LinkClosed") return new NodeUnreachable({ node: name, reason: error.reason })
            if (error._tag === "SendFailed") return error
            cancelAtNode()
            return new RequestTimeout({ timeout })
          })
        )
      }
      const header = encodeNodeMessage({ _tag: "Request", id, timeout, to, event })
      const cancel = link.startRequest(header, body, Duration.sum(timeout, timeoutGrace), onEnd, extend)
      cancelSent = () => {
        cancel()
        cancelAtNode()
      }
    }
    outbound.withLink(name, (opened) => {
      if (!requests.has(id)) return undefined
      if (Result.isFailure(opened)) return finishSoon(opened.failure)
      return isFull(opened.success) ? finishSoon(queueFull) : send(opened.success)
    })
    return () => {
      if (requests.delete(id)) cancelSent?.()
    }
  }

  return { startRequest, count: () => requests.size }
}
