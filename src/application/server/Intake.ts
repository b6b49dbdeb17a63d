import { Clock, Effect, Option, Semaphore } from "effect"
import type { ServerRow } from "../../domain/protocol/v0_2/events.ts"
import { goingDown, type Refusal, tooMany } from "../../domain/refusal.ts"
import { noteRefusal, type Rate, take } from "../../domain/tokenBucket.ts"
import type { Answer, Receive } from "../ports/Transport.ts"
import { isTold, refusalAnswer } from "./answers.ts"
import { type Connection, Connections } from "./Connections.ts"
import { Limits, spellLimit } from "./Limits.ts"
import { Membership } from "./Membership.ts"
import { Tally } from "./Tally.ts"

/** How long an Agent that reads too slowly is asked to wait before its next call, in milliseconds. */
const slowAgentPause = 1000

/** How long a member that sends too much is not read from, in milliseconds: its messages wait where they come from. */
const floodPause = 100

/**
 * How many joins and leaves of one member may be under way: they take their turn, and where offices are shared each of
 * them takes longer than the next one takes to come.
 */
const mostMoves = 16

/**
 * What stands before the receiver of every connection: too many messages, calls of Agents that do not read the answers,
 * and what a Server that goes down does not begin any more are refused here, before anybody looks into them.
 */
export const makeIntake = Effect.gen(function* () {
  const membership = yield* Membership
  const connections = yield* Connections
  const { backlogBytes, messageBurst: burst, messagesPerSecond: perSecond } = yield* Limits
  const clock = yield* Clock.Clock
  const tally = yield* Tally
  const rate: Rate = { burst, perSecond }

  const refuse = (
    { line }: Connection,
    row: ServerRow | undefined,
    limit: keyof Limits | "moves",
    refusal: Refusal
  ): Answer => {
    tally.refused(limit)
    if (isTold(row)) tally.dropped("message")
    return refusalAnswer(line, row, refusal)
  }

  const flooded = (
    connection: Connection,
    row: ServerRow | undefined,
    now: number,
    wait: number
  ): Effect.Effect<Answer> => {
    connection.link.pause(floodPause)
    const allowed = `${perSecond} messages a second, ${burst} at once`
    const persistence = noteRefusal(connection.bucket, rate, now)
    if (persistence === "flood") {
      connections.dismiss(connection, "messagesPerSecond", `it went on sending far more than ${allowed}`)
    }
    const refusal = tooMany(
      `More than ${allowed}`,
      spellLimit("messagesPerSecond"),
      perSecond,
      Math.ceil(wait)
    )
    const answer = refuse(connection, row, "messagesPerSecond", refusal)
    if (persistence !== "first") return Effect.succeed(answer)
    return Effect.as(Effect.logWarning("messages refused", { sid: connection.link.id, allowed }), answer)
  }

  const isSeated = ({ link }: Connection): boolean =>
    Option.exists(membership.session(link.id), ({ seat }) => Option.isSome(seat))

  const call = (connection: Connection, row: ServerRow, receiving: Effect.Effect<Answer>) => {
    const backlog = connections.backlog(connection)
    if (backlog <= backlogBytes / 2) return receiving
    const refusal = tooMany(
      `${backlog} bytes wait for you: read them first`,
      spellLimit("backlogBytes"),
      backlogBytes,
      slowAgentPause
    )
    return Effect.succeed(refuse(connection, row, "backlogBytes", refusal))
  }

  const moveOver = (connection: Connection) =>
    Effect.sync(() => {
      connection.moves -= 1
    })

  const move = (connection: Connection, row: ServerRow, receiving: Effect.Effect<Answer>) => {
    if (isSeated(connection)) connection.outsideAt = connection.lastAt
    if (connection.moves >= mostMoves) {
      const why = `${mostMoves} of your joins and leaves are under way: wait for them`
      return Effect.succeed(refuse(connection, row, "moves", tooMany(why, "moves", mostMoves)))
    }
    return Effect.suspend(() => {
      connection.moves += 1
      connection.turn ??= Semaphore.makeUnsafe(1)
      // What waits for its turn is given up when the connection is lost; what is under way is not.
      return Effect.ensuring(connection.turn.withPermit(receiving), moveOver(connection))
    })
  }

  /** `draining` says that no call and no stay in an office may begin any more. */
  return (connection: Connection, receive: Receive, draining: () => boolean): Receive =>
    (event, body) => {
      const now = clock.currentTimeMillisUnsafe()
      connection.lastAt = now
      const row = connection.line.serverRow(event)
      const wait = take(connection.bucket, rate, now)
      if (wait > 0) return flooded(connection, row, now, wait)
      const refused = () => Effect.succeed(refusalAnswer(connection.line, row, goingDown()))
      if (row?.kind === "call") {
        return draining() ? refused() : call(connection, row, receive(event, body))
      }
      if (row?.kind === "join") {
        // It may have to wait for its turn, and the Server may go down meanwhile.
        const joining = Effect.suspend(() => (draining() ? refused() : receive(event, body)))
        return move(connection, row, joining)
      }
      return row?.kind === "leave" ? move(connection, row, receive(event, body)) : receive(event, body)
    }
})
