import { Array, Duration, Effect, Exit, type Fiber, FiberSet, Result } from "effect"
import { PROTOCOL_VERSION } from "../../../domain/wire/lines.ts"
import { NodeTransport, type Link, type ReplyExit, RequestTimeout, SendFailed } from "../../ports/Transport.ts"
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

type Opened = Result.Result<Link, NodeUnreachable>
type Use = (opened: Opened) => void

interface Peer {
  /** The outcome of the latest attempt; `undefined` during the first one. */
  opened: Opened | undefined
  /** What waits for the outcome. */
  waiting: Array<Use>
  fiber: Fiber.Fiber<void> | undefined
}

const unreachable = (node: string, reason: string) => new NodeUnreachable({ node, reason })

const setOpened = (peer: Peer, opened: Opened): void => {
  const { waiting } = peer
  peer.opened = opened
  peer.waiting = []
  for (const use of waiting) use(opened)
}

/** The links that this node has opened, each with its first message. They close with the scope. */
export const makeOutboundLinks = Effect.gen(function* () {
  const transport = yield* NodeTransport
  const peers = new Map<string, Peer>()
  let isClosed = false
  const run = yield* FiberSet.makeRuntime<never>()

  const remove = (node: string, peer: Peer, reason: string): void => {
    if (peers.get(node) === peer) peers.delete(node)
    setOpened(peer, Result.fail(unreachable(node, reason)))
  }

  /** Opens the link of a node, and keeps it until it closes. */
  const keepOpen = (node: string, peer: Peer) =>
    Effect.gen(function* () {
      const options = { version: PROTOCOL_VERSION, auth: { node: transport.node }, onMessage: () => Effect.succeed([]) }
      const link = yield* transport.connect(node, options)
      setOpened(peer, Result.succeed(link))
      remove(node, peer, yield* link.closed)
    }).pipe(
      Effect.scoped,
      Effect.catch(({ message: reason }) => {
        setOpened(peer, Result.fail(unreachable(node, reason)))
        return Effect.logWarning("no link to another node", { node: transport.node, to: node, reason }).pipe(
          Effect.andThen(Effect.sleep(retryPause)),
          Effect.andThen(Effect.sync(() => remove(node, peer, reason)))
        )
      })
    )

  const open = (node: string): Peer => {
    const peer: Peer = { opened: undefined, waiting: [], fiber: undefined }
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

  const openLinks = (): ReadonlyArray<Link> =>
    Array.getSuccesses(Array.fromIterable(peers.values()).flatMap(({ opened }) => opened ?? []))

  return {
    /** Calls `use` with the link to a node, at once or when it is open. */
    withLink: (node: string, use: Use): void => {
      if (isClosed) return use(Result.fail(unreachable(node, "this node has shut down")))
      const { opened, waiting } = peers.get(node) ?? open(node)
      if (opened !== undefined) return use(opened)
      if (waiting.length >= maxWaiting) return use(Result.fail(unreachable(node, "too much waits for it")))
      waiting.push(use)
    },
    close,
    /** Bytes that wait for the other nodes. */
    backlog: (): number => openLinks().reduce((bytes, link) => bytes + link.backlog(), 0),
    count: (): number => openLinks().length
  }
})

/** How long after the timeout of a request its outcome may still arrive: the other node applies the timeout. */
const timeoutGrace = Duration.seconds(3)

export const queueFull = new SendFailed({ error: unavailable("The send queue to the other node is full") })

interface OutboundRequestsOptions {
  readonly outbound: Effect.Success<typeof makeOutboundLinks>
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
      const cancelAtNode = () => void link.post(encodeNodeMessage(["cancel", id]), jsonBody(null))
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
      const header = encodeNodeMessage(["request", id, Duration.toMillis(timeout), to.sid, to.office, event])
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
