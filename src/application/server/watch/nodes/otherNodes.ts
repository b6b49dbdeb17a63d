import { Clock, Duration, Effect, FiberMap, Option, Result, Stream } from "effect"
import { type ProtocolError, computerNotFound, notFound } from "../../../../domain/model/ProtocolError.ts"
import {
  type PageCallMessage,
  type PageCallRequest,
  type PageCommand,
  type CommandTarget,
  type PageCommandOf,
  pageCommands,
  type TagsWithTarget
} from "../../../../domain/page/PageCommand.ts"
import type { OfficeAddress, PageBatch, PageSnapshot } from "../../../../domain/page/PageEvent.ts"
import { jsonBody } from "../../../ports/Body.ts"
import type { Reply } from "../../../ports/Transport.ts"
import type { NodeReplyExit } from "../../nodes/nodeMessages.ts"
import { operatorsTarget } from "../../routing/ClusterNodes.ts"
import type { WatchedServer } from "../WatchedServer.ts"
import {
  decodeNodeReply,
  type NextMessages,
  nodeRequestCodec,
  type NodeRequest,
  operatorsEvent,
  unreachable
} from "./nodeService.ts"
import { batchInterval } from "../../../shared/page/openPageStream.ts"
import type { PageReply, Operator, PageSource } from "../../../shared/page/PageSource.ts"
import type { StreamBuffer } from "../../../shared/page/StreamBuffer.ts"
import type { ComputerAddress } from "../computerRequests.ts"

/** How long another node may take to reply: longer than a Computer takes for a command, or a stream for a message. */
const replyTimeout = Duration.seconds(15)

/** Time between two looks for new nodes, and between two attempts to reach a node. */
const discoveryInterval = Duration.seconds(1)

/** The replies by the tag of the request. */
interface NodeReplies {
  readonly OpenPage: PageSnapshot
  readonly OpenCall: { readonly stream: string }
  readonly Next: NextMessages
  readonly Close: object
  readonly Execute: PageReply
}

/** Where the target of a command is: at a node, or at one of the other nodes, unless all reply `absent`. */
export type Place = { readonly node: string } | { readonly absent: ProtocolError }

export type OtherNodes = ReturnType<typeof makeOtherNodes>

/** The other nodes in one stream of a page. */
export type FollowedNodes = Effect.Success<ReturnType<OtherNodes["follow"]>>

const makeRequestNode =
  ({ startRequest }: WatchedServer["nodeLink"]) =>
  <T extends NodeRequest["_tag"]>(node: string, message: Extract<NodeRequest, { readonly _tag: T }>) =>
    Effect.callback<Reply, ProtocolError>((resume) => {
      const body = jsonBody(nodeRequestCodec.encode(message))
      const onReply = (exit: NodeReplyExit) => resume(Effect.mapError(exit, ({ _tag }) => unreachable(node, _tag)))
      const cancel = startRequest(node, operatorsTarget, operatorsEvent, body, replyTimeout, onReply)
      return Effect.sync(cancel)
    }).pipe(
      // The node is of this cluster, and replies as its service does.
      Effect.flatMap(
        (reply) => Effect.fromResult(decodeNodeReply(node, reply)) as Effect.Effect<NodeReplies[T], ProtocolError>
      )
    )

type RequestNode = ReturnType<typeof makeRequestNode>

const closeStream = (request: RequestNode, node: string, stream: string) =>
  Effect.forkDetach(Effect.ignore(request(node, { _tag: "Close", stream })))

/** Makes the function that adds the events of the other nodes to a stream, as long as the scope. */
const makeFollow = (names: () => ReadonlyArray<string>, request: RequestNode) =>
  Effect.fnUntraced(function* (buffer: StreamBuffer) {
    const clock = yield* Clock.Clock
    const fibers = yield* FiberMap.make<string, void>()
    const streams = new Map<string, string>()
    let focused: { readonly address: OfficeAddress; readonly operator: Operator } | undefined

    const focusNode = (node: string, stream: string) => {
      if (focused === undefined) return Effect.void
      const { address, operator } = focused
      const command: PageCommand = { _tag: "Focus", stream, line: address.line, office: address.office }
      return Effect.ignore(request(node, { _tag: "Execute", command, operator }))
    }

    const openNode = (node: string) =>
      Effect.acquireRelease(
        Effect.tap(request(node, { _tag: "OpenPage" }), ({ stream }) => Effect.sync(() => streams.set(node, stream))),
        ({ stream }) => {
          streams.delete(node)
          buffer.addEvent({ _tag: "NodeLost", node, at: clock.currentTimeMillisUnsafe() })
          return closeStream(request, node, stream)
        },
        { interruptible: true }
      )

    const followNode = Effect.fnUntraced(
      function* (node: string) {
        const snapshot = yield* openNode(node)
        buffer.addBatch(snapshot)
        yield* focusNode(node, snapshot.stream)
        const next = Effect.gen(function* () {
          // A slow reader slows the other node, which then leaves out more itself.
          yield* Effect.repeat(Effect.sleep(batchInterval), { until: buffer.hasSpace })
          const { isLast, messages } = yield* request(node, { _tag: "Next", stream: snapshot.stream })
          for (const batch of messages as ReadonlyArray<PageBatch>) buffer.addBatch(batch)
          return isLast
        })
        yield* Effect.repeat(next, { until: (isLast) => isLast })
      },
      Effect.scoped,
      (following, node) =>
        Effect.catch(following, ({ message: reason }) => Effect.logDebug("other node not watched", { node, reason }))
    )

    const discoverNodes = Effect.gen(function* () {
      for (const node of names()) yield* FiberMap.run(fibers, node, followNode(node), { onlyIfMissing: true })
      yield* Effect.sleep(discoveryInterval)
    })
    yield* Effect.forkScoped(Effect.forever(discoverNodes))
    return {
      /** Sets the office that the stream watches at the other nodes. */
      focus: (address: OfficeAddress, operator: Operator): Effect.Effect<void> =>
        Effect.suspend(() => {
          focused = { address, operator }
          const options = { concurrency: "unbounded", discard: true } as const
          return Effect.forEach(streams, ([node, stream]) => focusNode(node, stream), options)
        })
    }
  })

/** The other nodes of the cluster, as the operators of this one see and command them. */
export const makeOtherNodes = ({ nodeLink, registry }: WatchedServer) => {
  const names = (): ReadonlyArray<string> => registry.state().nodes.filter((node) => node !== registry.node)
  const request = makeRequestNode(nodeLink)

  /**
   * Requests from the node of a place, or from all other nodes what only one of them has. Fails with `absent` when all of
   * them reply so, and with another error when a node cannot be asked.
   */
  const requestAt = Effect.fnUntraced(function* <A>(
    place: Place,
    ask: (node: string) => Effect.Effect<A, ProtocolError>
  ) {
    if ("node" in place) return yield* ask(place.node)
    const { absent } = place
    const results = yield* Effect.forEach(names(), (node) => Effect.result(ask(node)), { concurrency: "unbounded" })
    const found = results.find(Result.isSuccess)
    if (found !== undefined) return found.success
    const isAbsent = ({ code, message }: ProtocolError) => code === absent.code && message === absent.message
    const failed = results.filter(Result.isFailure).find(({ failure }) => !isAbsent(failure))
    return yield* failed?.failure ?? absent
  })

  return {
    names,
    follow: makeFollow(names, request),
    /** Executes a command at the node that has its target. */
    execute: (place: Place, command: PageCommand, operator: Operator): Effect.Effect<PageReply, ProtocolError> =>
      requestAt(place, (node) => request(node, { _tag: "Execute", command, operator })),
    /** Calls a tool at the node of its Computer. */
    call: Effect.fnUntraced(function* (call: PageCallRequest, operator: Operator, place: Place) {
      const message = { _tag: "OpenCall", call, operator } as const
      const { node, stream } = yield* Effect.acquireRelease(
        requestAt(place, (node) => Effect.map(request(node, message), ({ stream }) => ({ node, stream }))),
        (opened) => closeStream(request, opened.node, opened.stream),
        { interruptible: true }
      )
      return Stream.paginate(undefined, () =>
        request(node, { _tag: "Next", stream }).pipe(
          Effect.catch(({ code, message }) => {
            const failed: PageCallMessage = { _tag: "Failed", error: { code, message } }
            return Effect.succeed({ messages: [failed], isLast: true })
          }),
          Effect.map(({ isLast, messages }) => [
            messages as ReadonlyArray<PageCallMessage>,
            isLast ? Option.none<undefined>() : Option.some(undefined)
          ])
        )
      )
    })
  }
}

type LocalCommands = Pick<PageSource, "execute" | "call">

/** The node of a call by its id, `NODE/SERIAL`. */
const nodeOfCall = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf("/")))

/** Executes commands and calls at the node of their target, which the given functions do for this node. */
export const makeClusterCommands = (
  { connections, registry, servedLines }: WatchedServer,
  others: OtherNodes,
  { call, execute }: LocalCommands
): LocalCommands => {
  /** The node of a Computer. This node knows the members of the offices in which it has members. */
  const placeOfComputer = ({ computer, line, office }: ComputerAddress): Place => {
    const served = servedLines.find(({ name }) => name === line)
    const member = served && Option.getOrUndefined(registry.findComputer(served.officeKey(office), computer))
    return member === undefined ? { absent: computerNotFound(computer) } : { node: member.node }
  }

  const places: { readonly [T in CommandTarget]: (command: PageCommandOf<TagsWithTarget<T>>) => Place } = {
    here: () => ({ node: registry.node }),
    node: ({ node }) => ({ node }),
    call: ({ id }) => ({ node: nodeOfCall(id) }),
    connection: ({ sid }) =>
      connections.get(sid) === undefined ? { absent: notFound(`No connection '${sid}'`) } : { node: registry.node },
    computer: placeOfComputer
  }

  const placeOf = (command: PageCommand): Place =>
    // A target takes the commands that have it.
    (places[pageCommands[command._tag].target] as (command: PageCommand) => Place)(command)

  /** True when this node serves a place: also for an unknown target, to which it replies with an error. */
  const isHere = (place: Place): boolean => {
    const nodes = others.names()
    return "node" in place ? !nodes.includes(place.node) : nodes.length === 0
  }

  return {
    execute: (command, operator) =>
      Effect.suspend(() => {
        const place = placeOf(command)
        return isHere(place) ? execute(command, operator) : others.execute(place, command, operator)
      }),
    call: (request, operator) =>
      Effect.suspend(() => {
        const place = placeOfComputer(request)
        return isHere(place) ? call(request, operator) : others.call(request, operator, place)
      })
  }
}
