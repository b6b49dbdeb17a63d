import { Duration, Effect, type Fiber, FiberSet, Result } from "effect"
import { PROTOCOL_VERSION } from "../../../domain/wire/lines.ts"
import { NodeTransport } from "../../ports/NodeTransport.ts"
import type { Link } from "../../ports/Transport.ts"
import { NodeUnreachable } from "./NodeMessageHandler.ts"

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

export type OutboundLinks = Effect.Success<typeof makeOutboundLinks>

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
