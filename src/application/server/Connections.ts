import { Clock, Context, Effect, FiberSet, Layer, type Scope, type Semaphore } from "effect"
import type { Identity } from "../../domain/office/identity.ts"
import type { Missed } from "../../domain/office/missed.ts"
import type { Line } from "../../domain/protocol/lines.ts"
import { codes } from "../../domain/refusal.ts"
import { charge, fullBucket, type Rate, type TokenBucket } from "../../domain/tokenBucket.ts"
import { AdmissionRefused, type Link } from "../ports/Transport.ts"
import { Limits } from "./Limits.ts"
import { Tally } from "./Tally.ts"

/** An open connection, the protocol line it speaks, and what its limits need to know. Times are of the epoch, in ms. */
export interface Connection {
  readonly link: Link
  readonly line: Line
  /** Who is at the other end: nobody until it is let in. */
  identity: Identity
  /** What it may still send. */
  readonly bucket: TokenBucket
  /** When a message last went either way. */
  lastAt: number
  /** When it began to sit in no office, or was last seen in one. */
  outsideAt: number
  /** How many of its joins and leaves are under way, and whose turn it is: they are done one after the other. */
  moves: number
  turn: Semaphore.Semaphore | undefined
  /** What it has not been told because it reads too slowly. */
  missed: Missed | undefined
  /** It has been told to go, and is as good as gone. */
  dismissed: boolean
}

/** Members that may be told of something, or listed, for the price of one message. */
const membersPerMessage = 16

/** Counts what a message of a member has cost because of all those whom it concerned. */
export const chargeFor = ({ bucket }: Connection, members: number): void =>
  charge(bucket, Math.floor(members / membersPerMessage))

/** Whoever has not been let in yet. */
export const nobody: Identity = {
  subject: "nobody",
  grants: { rights: [], offices: [], names: [] },
  expiresAt: undefined
}

/** Who is connected to this Server, by session id. */
export class Connections extends Context.Service<
  Connections,
  {
    /** Adds a connection for as long as the scope, unless there are too many. */
    readonly add: (link: Link, line: Line) => Effect.Effect<Connection, AdmissionRefused, Scope.Scope>
    readonly get: (sid: string) => Connection | undefined
    /** All of them, as they are right now. */
    readonly all: () => ReadonlyArray<Connection>
    /** Lets a connection go that has exceeded a limit. Its link closes a moment later, in the background. */
    readonly dismiss: (connection: Connection, limit: keyof Limits, reason: string) => void
    /** The bytes that wait for a connection; it is let go when they are too many. */
    readonly backlog: (connection: Connection) => number
    /** How many there are. */
    readonly size: () => number
    /** The bytes that wait for all of them together. */
    readonly totalBacklog: () => number
  }
>()("a2c-smcp/application/server/Connections") {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const limits = yield* Limits
      const { backlogBytes, connections: most } = limits
      const rate: Rate = { perSecond: limits.messagesPerSecond, burst: limits.messageBurst }
      const clock = yield* Clock.Clock
      const tally = yield* Tally
      const run = yield* FiberSet.makeRuntime<never>()
      const connections = new Map<string, Connection>()

      const open = (link: Link, line: Line) =>
        Effect.suspend(() => {
          if (connections.size >= most) {
            tally.refused("connections")
            return new AdmissionRefused({
              code: codes.unavailable,
              message: `This Server has ${most} connections and takes no more`,
              reason: "too_many_connections",
              passing: true
            })
          }
          const now = clock.currentTimeMillisUnsafe()
          const connection: Connection = {
            link,
            line,
            identity: nobody,
            bucket: fullBucket(rate, now),
            lastAt: now,
            outsideAt: now,
            moves: 0,
            turn: undefined,
            missed: undefined,
            dismissed: false
          }
          connections.set(link.id, connection)
          return Effect.succeed(connection)
        })

      const dismiss = (connection: Connection, limit: keyof Limits, reason: string) => {
        if (connection.dismissed) return
        connection.dismissed = true
        connection.missed = undefined
        tally.refused(limit)
        const { link } = connection
        // Not where it was noticed: that may be a message of this very link, which its close interrupts.
        run(
          Effect.andThen(
            Effect.logWarning("connection closed", { sid: link.id, limit, reason }),
            link.close(reason)
          )
        )
      }

      return Connections.of({
        add: (link, line) =>
          Effect.acquireRelease(open(link, line), () => Effect.sync(() => void connections.delete(link.id))),
        get: (sid) => connections.get(sid),
        all: () => [...connections.values()],
        dismiss,
        backlog: (connection) => {
          const bytes = connection.link.backlog()
          if (bytes > backlogBytes) {
            dismiss(connection, "backlogBytes", `too slow: ${bytes} bytes wait for it`)
          }
          return bytes
        },
        size: () => connections.size,
        totalBacklog: () => {
          let bytes = 0
          for (const { link } of connections.values()) bytes += link.backlog()
          return bytes
        }
      })
    })
  )
}
