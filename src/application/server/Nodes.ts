import { Clock, Context, Effect, Exit, Layer, Option, Result } from "effect"
import { type Line, lineOf } from "../../domain/protocol/lines.ts"
import type { Seat } from "../../domain/office/membership.ts"
import { parseVersion, type Version } from "../../domain/protocol/version.ts"
import { goingDown, type Refusal, unavailable } from "../../domain/refusal.ts"
import type { Body } from "../ports/Body.ts"
import { type NodeAsked, NodeLink, type NodeLoad, type NodeReceive } from "../ports/NodeLink.ts"
import { OfficeRegistry } from "../ports/OfficeRegistry.ts"
import { type Asked, askBy, type Link, LinkClosed, NotSent } from "../ports/Transport.ts"
import { type Flight, makeFlights } from "./Cancellation.ts"
import { type Connection, Connections } from "./Connections.ts"
import { Limits } from "./Limits.ts"
import { type Gauge, Tally } from "./Tally.ts"

/** A member that is connected to another node. */
export interface RemoteMember {
  readonly node: string
  readonly sid: string
  /** Where it sits as far as is known here. Its name is for whoever is told that its node cannot be reached. */
  readonly seat: Pick<Seat, "name" | "office">
  /** The version that it connected with. */
  readonly version: string
}

/**
 * The link of a member of another node, as far as it can be had from here. When its node cannot be reached, requests
 * end with {@link NotSent} and the code 503, though the member may have got them. What fits it, and whether it
 * keeps up, its own node decides.
 */
type RemoteLink = Omit<Link, "closed" | "close">

/** A connection of another node. */
export interface RemoteConnection {
  readonly link: RemoteLink
  readonly line: Line
}

const anyBytes = () => Number.POSITIVE_INFINITY
const always = () => true
const none = () => 0

/** Members that passed the gate of another node have a version; what has none is spoken to in our oldest line. */
const oldest: Version = { major: 0, minor: 2, patch: 0 }

const notHere = new LinkClosed({ reason: "the member is not here" })

const toldOf =
  (name: string) =>
  (asked: NodeAsked): Asked =>
    Exit.mapError(asked, (error) =>
      error._tag === "NodeAway"
        ? new NotSent({ refusal: unavailable(`The node of Computer '${name}' cannot be reached`) })
        : error
    )

/** What is shown of the way between nodes. */
const gaugesOf = (load: () => NodeLoad): ReadonlyArray<Gauge> => [
  {
    name: "node_requests",
    labels: { direction: "out" },
    help: "Requests between Servers of the cluster without an answer yet",
    read: () => load().asked
  },
  {
    name: "node_requests",
    labels: { direction: "in" },
    help: "Requests between Servers of the cluster without an answer yet",
    read: () => load().serving
  },
  {
    name: "node_waiting_chars",
    help: "Characters of bodies that wait until they may be sent to other Servers",
    read: () => load().waiting
  },
  {
    name: "node_incomplete",
    help: "Bodies of which a part has come from another Server",
    read: () => load().incomplete
  },
  {
    name: "node_ignored_total",
    help: "Answers of other Servers that nobody waited for, and messages that could not be read",
    grows: true,
    read: () => load().ignored
  },
  {
    name: "node_unsent_total",
    help: "Messages to other Servers that were left out: no way there, or too much waited already",
    grows: true,
    read: () => load().unsent
  }
]

/** Members of other nodes, as if they were here; and the members of this node, for the others. */
export class Nodes extends Context.Service<
  Nodes,
  {
    /** The name of this node. */
    readonly node: string
    /** The connection of a member of another node. Making one costs nothing, and it need not be closed. */
    readonly connection: (member: RemoteMember) => RemoteConnection
    /** Tells some members of another node the same, once for all of them. */
    readonly tell: (node: string, sids: ReadonlyArray<string>, event: string, body: Body) => void
    /** The cluster has lost a node: what it was asked ends now. */
    readonly lost: (node: string) => void
    /** A member of this node has left an office: what other nodes want of it there ends now. */
    readonly left: (sid: string, office: string, reason: Refusal) => void
    /** How many requests of other nodes to a member of this one are under way. */
    readonly serving: (sid: string) => number
    /** The same for all members; `unsent` says whether something still waits to be sent to other nodes. */
    readonly load: () => { readonly serving: number; readonly unsent: boolean }
    /** From now on requests of other nodes are refused, since this one goes down. */
    readonly refuse: () => void
  }
>()("a2c-smcp/application/server/Nodes") {
  /** Serves the other nodes until the layer's scope closes. */
  static readonly layer: Layer.Layer<Nodes, never, NodeLink | Connections | OfficeRegistry> = Layer.effect(
    Nodes,
    Effect.gen(function* () {
      const nodeLink = yield* NodeLink
      const connections = yield* Connections
      const registry = yield* OfficeRegistry
      const { backlogNotices } = yield* Limits
      const tally = yield* Tally
      const clock = yield* Clock.Clock
      const run = Effect.runForkWith(yield* Effect.context<never>())
      /** What is being done for other nodes. */
      const serving = makeFlights()
      let refusing = false

      /** Who asked hears an end that is known already only after it has what it needs to forget it. */
      const endSoon = (end: (asked: Asked) => void, asked: Asked): (() => void) => {
        const fiber = run(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => end(asked))
          )
        )
        return () => fiber.interruptUnsafe()
      }

      /** Asks a member of this node for another one, until it has answered, left, or is not waited for any more. */
      const serve = (
        connection: Connection,
        office: string,
        start: (end: (asked: Asked) => void) => () => void,
        end: (asked: Asked) => void
      ): (() => void) => {
        const { id } = connection.link
        let over = false
        let forget = () => {}
        const settle = () => {
          over = true
          serving.remove(id, flight)
        }
        const flight: Flight = {
          office,
          end: (refusal) => {
            if (over) return
            forget()
            settle()
            end(Exit.fail(new NotSent({ refusal })))
          }
        }
        serving.add(id, flight)
        forget = start((asked) => {
          if (over) return
          if (Exit.isSuccess(asked)) connection.lastAt = clock.currentTimeMillisUnsafe()
          settle()
          end(asked)
        })
        return () => {
          if (over) return
          settle()
          forget()
        }
      }

      /**
       * Does somebody sit elsewhere by now than where a request looks for it? Who asks may not have heard of it yet. While
       * a join or leave is under way, this node may be the one that has not heard.
       */
      const hasMoved = ({ link, moves }: Connection, office: string): boolean =>
        moves === 0 &&
        !Option.exists(registry.session(link.id), ({ seat }) =>
          Option.exists(seat, (sitting) => sitting.office === office)
        )

      const receive: NodeReceive = {
        request: ({ office, sid }, event, body, deadline, end) => {
          const connection = connections.get(sid)
          if (connection === undefined || hasMoved(connection, office))
            return endSoon(end, Exit.fail(notHere))
          if (refusing) return endSoon(end, Exit.fail(new NotSent({ refusal: goingDown() })))
          connection.lastAt = clock.currentTimeMillisUnsafe()
          return serve(
            connection,
            office,
            (ended) => connection.link.request(event, body, deadline, ended),
            end
          )
        },
        tell: (sids, event, body) => {
          for (const sid of sids) {
            const connection = connections.get(sid)
            if (connection === undefined || connection.dismissed) continue
            connection.lastAt = clock.currentTimeMillisUnsafe()
            // What comes from elsewhere cannot be reduced to its sense, so whoever reads too slowly misses it.
            if (connections.backlog(connection) > backlogNotices) tally.dropped("notification")
            else run(Effect.ignore(connection.link.tell(event, body)))
          }
        }
      }
      yield* nodeLink.serve(receive)
      yield* Effect.forEach(gaugesOf(nodeLink.load), tally.gauge, { discard: true })

      const connection = ({ node, seat: { name, office }, sid, version }: RemoteMember): RemoteConnection => {
        const told = toldOf(name)
        const request: Link["request"] = (event, body, deadline, end) =>
          nodeLink.request(node, { sid, office }, event, body, deadline, (asked) => end(told(asked)))
        return {
          link: {
            id: sid,
            ask: askBy(request),
            request,
            tell: (event, body) => Effect.sync(() => nodeLink.tell(node, [sid], event, body)),
            maxBytes: anyBytes,
            fits: always,
            backlog: none,
            pause: none
          },
          line: lineOf(Result.getOrElse(parseVersion(version), () => oldest))
        }
      }

      return Nodes.of({
        node: nodeLink.node,
        connection,
        tell: (node, sids, event, body) => nodeLink.tell(node, sids, event, body),
        lost: (node) => nodeLink.lost(node),
        left: (sid, office, reason) => {
          for (const flight of serving.of(sid, office)) flight.end(reason)
        },
        serving: serving.count,
        load: () => {
          const { serving: all, waiting } = nodeLink.load()
          return { serving: all, unsent: waiting > 0 }
        },
        refuse: () => {
          refusing = true
        }
      })
    })
  )
}
