import { Clock, Context, Effect, Exit, Layer, Option, Result } from "effect"
import { type ProtocolLine, lineForVersion } from "../../../domain/wire/lines.ts"
import type { Membership } from "../../../domain/model/Membership.ts"
import { parseVersion, type Version } from "../../../domain/wire/version.ts"
import { shuttingDown, type ProtocolError, unavailable } from "../../../domain/model/ProtocolError.ts"
import type { Body } from "../../ports/Body.ts"
import { type NodeReplyExit, NodeLink, type NodeLoad, type NodeMessageHandler } from "../../ports/NodeLink.ts"
import { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import { type ReplyExit, requestUsing, type Link, LinkClosed, SendFailed } from "../../ports/Transport.ts"
import { type InFlightCall, makeCallsBySession } from "../routing/InFlightCalls.ts"
import { type Connection, Connections } from "../connections/Connections.ts"
import { Limits } from "../connections/Limits.ts"
import { type Gauge, ServerMetrics } from "../observability/ServerMetrics.ts"

/** A member that is connected to another node. */
export interface RemoteMember {
  readonly node: string
  readonly sid: string
  /** Where it sits as far as is known here. Its name is for whoever is told that its node cannot be reached. */
  readonly membership: Pick<Membership, "name" | "office">
  /** The version that it connected with. */
  readonly version: string
}

/**
 * The link of a member of another node, as far as it can be had from here. When its node cannot be reached, requests
 * end with {@link SendFailed} and the code 503, though the member may have got them. What fits it, and whether it
 * keeps up, its own node decides.
 */
type RemoteLink = Omit<Link, "closed" | "close">

/** A connection of another node. */
export interface RemoteConnection {
  readonly link: RemoteLink
  readonly line: ProtocolLine
}

const unlimitedBytes = () => Number.POSITIVE_INFINITY
const alwaysFits = () => true
const noBacklog = () => 0

/** Members that passed the gate of another node have a version; what has none is spoken to in our oldest line. */
const oldestVersion: Version = { major: 0, minor: 2, patch: 0 }

const memberGone = new LinkClosed({ reason: "the member is not here" })

const toMemberReply =
  (name: string) =>
  (exit: NodeReplyExit): ReplyExit =>
    Exit.mapError(exit, (error) =>
      error._tag === "NodeAway"
        ? new SendFailed({ error: unavailable(`The node of Computer '${name}' cannot be reached`) })
        : error
    )

/** What is shown of the way between nodes. */
const nodeGauges = (load: () => NodeLoad): ReadonlyArray<Gauge> => [
  {
    name: "node_requests",
    labels: { direction: "out" },
    help: "Requests between Servers of the cluster without an answer yet",
    read: () => load().outboundRequests
  },
  {
    name: "node_requests",
    labels: { direction: "in" },
    help: "Requests between Servers of the cluster without an answer yet",
    read: () => load().inboundRequests
  },
  {
    name: "node_waiting_chars",
    help: "Characters of bodies that wait until they may be sent to other Servers",
    read: () => load().queuedBytes
  },
  {
    name: "node_incomplete",
    help: "Bodies of which a part has come from another Server",
    read: () => load().incompleteBodies
  },
  {
    name: "node_ignored_total",
    help: "Answers of other Servers that nobody waited for, and messages that could not be read",
    monotonic: true,
    read: () => load().ignored
  },
  {
    name: "node_unsent_total",
    help: "Messages to other Servers that were left out: no way there, or too much waited already",
    monotonic: true,
    read: () => load().unsent
  }
]

/** Members of other nodes, as if they were here; and the members of this node, for the others. */
export class ClusterNodes extends Context.Service<
  ClusterNodes,
  {
    /** The name of this node. */
    readonly node: string
    /** The connection of a member of another node. Making one costs nothing, and it need not be closed. */
    readonly remoteConnection: (member: RemoteMember) => RemoteConnection
    /** Tells some members of another node the same, once for all of them. */
    readonly notify: (node: string, sids: ReadonlyArray<string>, event: string, body: Body) => void
    /** The cluster has lost a node: what it was asked ends now. */
    readonly onNodeLost: (node: string) => void
    /** A member of this node has left an office: what other nodes want of it there ends now. */
    readonly onMemberLeft: (sid: string, office: string, reason: ProtocolError) => void
    /** How many requests of other nodes to a member of this one are under way. */
    readonly inboundCount: (sid: string) => number
    /** The same for all members; `unsent` says whether something still waits to be sent to other nodes. */
    readonly load: () => { readonly inboundRequests: number; readonly hasUnsent: boolean }
    /** From now on requests of other nodes are refused, since this one goes down. */
    readonly rejectRequests: () => void
  }
>()("a2c-smcp/application/server/Nodes") {
  /** Serves the other nodes until the layer's scope closes. */
  static readonly layer: Layer.Layer<ClusterNodes, never, NodeLink | Connections | OfficeRegistry> =
    Layer.effect(
      ClusterNodes,
      Effect.gen(function* () {
        const nodeLink = yield* NodeLink
        const connections = yield* Connections
        const registry = yield* OfficeRegistry
        const { notificationBacklogBytes } = yield* Limits
        const metrics = yield* ServerMetrics
        const clock = yield* Clock.Clock
        const run = Effect.runForkWith(yield* Effect.context<never>())
        /** What is being done for other nodes. */
        const inboundCalls = makeCallsBySession()
        let rejecting = false

        /** Who asked hears an end that is known already only after it has what it needs to forget it. */
        const replyAfterYield = (onReply: (exit: ReplyExit) => void, exit: ReplyExit): (() => void) => {
          const fiber = run(
            Effect.andThen(
              Effect.yieldNow,
              Effect.sync(() => onReply(exit))
            )
          )
          return () => fiber.interruptUnsafe()
        }

        /** Asks a member of this node for another one, until it has answered, left, or is not waited for any more. */
        const serveRequest = (
          connection: Connection,
          office: string,
          start: (onReply: (exit: ReplyExit) => void) => () => void,
          onReply: (exit: ReplyExit) => void
        ): (() => void) => {
          const { id } = connection.link
          let done = false
          let cancelRequest = () => {}
          const complete = () => {
            done = true
            inboundCalls.remove(id, call)
          }
          const call: InFlightCall = {
            office,
            abort: (error) => {
              if (done) return
              cancelRequest()
              complete()
              onReply(Exit.fail(new SendFailed({ error })))
            }
          }
          inboundCalls.add(id, call)
          cancelRequest = start((exit) => {
            if (done) return
            if (Exit.isSuccess(exit)) connection.lastActivityAt = clock.currentTimeMillisUnsafe()
            complete()
            onReply(exit)
          })
          return () => {
            if (done) return
            complete()
            cancelRequest()
          }
        }

        /**
         * Does somebody sit elsewhere by now than where a request looks for it? Who asks may not have heard of it yet. While
         * a join or leave is under way, this node may be the one that has not heard.
         */
        const hasMoved = ({ link, pendingMembershipChanges }: Connection, office: string): boolean =>
          pendingMembershipChanges === 0 &&
          !Option.exists(registry.session(link.id), ({ membership }) =>
            Option.exists(membership, (current) => current.office === office)
          )

        const handler: NodeMessageHandler = {
          startRequest: ({ office, sid }, event, body, timeout, onReply) => {
            const connection = connections.get(sid)
            if (connection === undefined || hasMoved(connection, office))
              return replyAfterYield(onReply, Exit.fail(memberGone))
            if (rejecting)
              return replyAfterYield(onReply, Exit.fail(new SendFailed({ error: shuttingDown() })))
            connection.lastActivityAt = clock.currentTimeMillisUnsafe()
            return serveRequest(
              connection,
              office,
              (onMemberReply) => connection.link.startRequest(event, body, timeout, onMemberReply),
              onReply
            )
          },
          notify: (sids, event, body) => {
            for (const sid of sids) {
              const connection = connections.get(sid)
              if (connection === undefined || connection.closing) continue
              connection.lastActivityAt = clock.currentTimeMillisUnsafe()
              // What comes from elsewhere cannot be reduced to its sense, so whoever reads too slowly misses it.
              if (connections.checkBacklog(connection) > notificationBacklogBytes)
                metrics.dropped("notification")
              else run(Effect.ignore(connection.link.notify(event, body)))
            }
          }
        }
        yield* nodeLink.serve(handler)
        yield* Effect.forEach(nodeGauges(nodeLink.load), metrics.gauge, { discard: true })

        const remoteConnection = ({
          node,
          membership: { name, office },
          sid,
          version
        }: RemoteMember): RemoteConnection => {
          const toReply = toMemberReply(name)
          const startRequest: Link["startRequest"] = (event, body, timeout, onReply) =>
            nodeLink.startRequest(node, { sid, office }, event, body, timeout, (exit) =>
              onReply(toReply(exit))
            )
          return {
            link: {
              id: sid,
              request: requestUsing(startRequest),
              startRequest,
              notify: (event, body) => Effect.sync(() => nodeLink.notify(node, [sid], event, body)),
              maxBytes: unlimitedBytes,
              fits: alwaysFits,
              backlog: noBacklog,
              pauseReading: noBacklog
            },
            line: lineForVersion(Result.getOrElse(parseVersion(version), () => oldestVersion))
          }
        }

        return ClusterNodes.of({
          node: nodeLink.node,
          remoteConnection,
          notify: (node, sids, event, body) => nodeLink.notify(node, sids, event, body),
          onNodeLost: (node) => nodeLink.onNodeLost(node),
          onMemberLeft: (sid, office, reason) => {
            for (const call of inboundCalls.inOffice(sid, office)) call.abort(reason)
          },
          inboundCount: inboundCalls.count,
          load: () => {
            const { inboundRequests, queuedBytes } = nodeLink.load()
            return { inboundRequests, hasUnsent: queuedBytes > 0 }
          },
          rejectRequests: () => {
            rejecting = true
          }
        })
      })
    )
}
