import { Clock, Deferred, Duration, Effect, Exit, Scope } from "effect"
import {
  type ReplyExit,
  type Link,
  LinkClosed,
  TransportClient,
  Unreachable
} from "../../src/application/ports/Transport.ts"
import { fraction } from "./dice.ts"
import type { LinkFault } from "./plan.ts"

/** Keepalive timeout of a silent connection in milliseconds, as with the pings of Socket.IO. */
const noticeTime = 30_000

/** Minimum time between two messages in one direction, in milliseconds. */
const gap = 0.001

/** Latency range of messages in milliseconds. */
export interface Delay {
  readonly low: number
  readonly high: number
}

const quick: Delay = { low: 0, high: 3 }

/** The network state of one connection. */
interface Cable {
  delay: Delay
  /** Drops all messages. */
  mute: boolean
  /** Arrival time of the last message in each direction, and the number of messages. */
  readonly last: { member: number; server: number }
  readonly sent: { member: number; server: number }
}

/** A connection of one member. */
interface Connection {
  readonly id: string
  readonly node: number
  /** Closes both ends. */
  readonly close: (reason: string) => Effect.Effect<void>
  /** Closes the member's end alone. */
  readonly sever: (reason: string) => void
}

/** An unreliable network between members and Servers, deterministic for a seed. */
export interface Net {
  /** Delays a message on the connection with this id. */
  readonly travel: (id: string, to: "member" | "server") => Effect.Effect<void>
  /** Adds or removes a node for new connections. */
  readonly setNode: (node: number, transport: TransportClient["Service"] | undefined) => void
  /** The transport of one member, through a load balancer. */
  readonly clientOf: (member: string) => TransportClient["Service"]
  readonly fault: (member: string, fault: LinkFault) => Effect.Effect<boolean>
  /** Closes all connections to a node, as after the exit of its process. */
  readonly dropNode: (node: number) => Effect.Effect<void>
  readonly slow: (member: string, delay: Delay) => void
  /** Resets all delays and closes all silent connections. */
  readonly heal: Effect.Effect<void>
  /** The number of connections. */
  readonly size: () => number
}

/** Makes a network whose faults depend on a seed; its fibers run in the scope. */
export const makeNet = Effect.fnUntraced(function* (seed: number): Effect.fn.Return<Net, never, Scope.Scope> {
  const owner = yield* Effect.scope
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const cables = new Map<string, Cable>()
  const delays = new Map<string, Delay>()
  const connections = new Map<string, Map<string, Connection>>()
  const nodes = new Map<number, TransportClient["Service"]>()
  let attempts = 0

  const cableOf = (id: string): Cable => {
    const known = cables.get(id)
    if (known !== undefined) return known
    const cable: Cable = {
      delay: quick,
      mute: false,
      last: { member: 0, server: 0 },
      sent: { member: 0, server: 0 }
    }
    cables.set(id, cable)
    return cable
  }

  const travel: Net["travel"] = (id, to) =>
    Effect.suspend(() => {
      const cable = cableOf(id)
      const now = clock.currentTimeMillisUnsafe()
      const { high, low } = cable.delay
      const takes = low + Math.floor(fraction(seed, "delay", id, to, cable.sent[to]++) * (high - low + 1))
      // Messages arrive in the order in which they were sent.
      cable.last[to] = Math.max(cable.last[to] + gap, now + takes)
      const arrive = Effect.suspend(() => (cable.mute ? Effect.never : Effect.void))
      return Effect.andThen(Effect.sleep(cable.last[to] - now), arrive)
    })

  /** Wraps the member's end of a link, which can be severed from the other end. */
  const cut = (link: Link, gone: Deferred.Deferred<string>): Link => {
    const closed = Effect.raceFirst(link.closed, Deferred.await(gone))
    const over = Effect.flatMap(Deferred.await(gone), (reason) => Effect.fail(new LinkClosed({ reason })))
    return {
      ...link,
      closed,
      request: (event, body, deadline, extend) => Effect.raceFirst(over, link.request(event, body, deadline, extend)),
      notify: (event, body) => Effect.suspend(() => (Deferred.isDoneUnsafe(gone) ? over : link.notify(event, body))),
      post: (event, body) =>
        Deferred.isDoneUnsafe(gone) ? new LinkClosed({ reason: "severed" }) : link.post(event, body),
      startRequest: (event, body, deadline, end, extend) => {
        const fiber = run(Effect.raceFirst(over, link.request(event, body, deadline, extend)))
        let wanted = true
        fiber.addObserver((requests: ReplyExit) => {
          if (wanted) end(requests)
        })
        return () => {
          wanted = false
          fiber.interruptUnsafe()
        }
      }
    }
  }

  const clientOf = (member: string): TransportClient["Service"] =>
    TransportClient.of({
      connect: Effect.fnUntraced(function* (options) {
        const up = [...nodes.keys()].toSorted((one, other) => one - other)
        const node = up[Math.floor(fraction(seed, "balancer", member, attempts++) * up.length)]
        const transport = node === undefined ? undefined : nodes.get(node)
        if (node === undefined || transport === undefined) {
          return yield* new Unreachable({ message: "no node is running" })
        }
        const scope = yield* Scope.fork(owner)
        const gone = yield* Deferred.make<string>()
        const link = yield* transport.connect(options).pipe(
          Scope.provide(scope),
          Effect.onError(() => Scope.close(scope, Exit.void))
        )
        const own = connections.get(member) ?? new Map<string, Connection>()
        connections.set(member, own)
        cableOf(link.id).delay = delays.get(member) ?? quick
        const close = (reason: string) =>
          Effect.suspend(() => {
            own.delete(link.id)
            return Effect.andThen(link.close(reason), Scope.close(scope, Exit.void))
          })
        own.set(link.id, {
          id: link.id,
          node,
          close,
          sever: (reason) => Deferred.doneUnsafe(gone, Exit.succeed(reason))
        })
        // A severed connection does not notify the Server of its close.
        yield* Effect.addFinalizer(() =>
          Effect.suspend(() => (Deferred.isDoneUnsafe(gone) ? Effect.void : close("client_disconnect")))
        )
        // Forked outside the scope that it closes.
        yield* Effect.forkIn(Effect.flatMap(link.closed, close), owner)
        return cut(link, gone)
      })
    })

  const all = () => [...connections.values()].flatMap((own) => [...own.values()])

  const later = (connection: Connection) =>
    Effect.forkIn(
      Effect.andThen(Effect.sleep(Duration.millis(noticeTime)), connection.close("keepalive_timeout")),
      owner
    )

  return {
    travel,
    setNode: (node, transport) => void (transport === undefined ? nodes.delete(node) : nodes.set(node, transport)),
    clientOf,
    fault: (member, fault) =>
      Effect.suspend(() => {
        const own = [...(connections.get(member)?.values() ?? [])]
        return Effect.as(
          Effect.forEach(
            own,
            (connection) => {
              if (fault === "cut") return connection.close("transport_error")
              cableOf(connection.id).mute = true
              if (fault === "sever") connection.sever("transport_error")
              return later(connection)
            },
            { discard: true }
          ),
          own.length > 0
        )
      }),
    dropNode: (node) =>
      Effect.forEach(
        all().filter((connection) => connection.node === node),
        (connection) => connection.close("transport_closed"),
        { discard: true }
      ),
    slow: (member, delay) => {
      delays.set(member, delay)
      for (const { id } of connections.get(member)?.values() ?? []) cableOf(id).delay = delay
    },
    heal: Effect.suspend(() => {
      delays.clear()
      for (const cable of cables.values()) cable.delay = quick
      return Effect.forEach(
        all().filter(({ id }) => cableOf(id).mute),
        (connection) => connection.close("transport_error"),
        { discard: true }
      )
    }),
    size: () => all().length
  }
})
