import { createHash } from "node:crypto"
import { Duration, Effect, type Schema } from "effect"
import type { Capacity, Seat, Session } from "../../domain/office/membership.ts"
import { fieldOf, memberText, readJoined, readReconciled, readRenewed, readSnapshot } from "./messages.ts"
import { type RedisAway, type RedisScripts, scriptPatience } from "./RedisScripts.ts"
import { RedisTime } from "./RedisTime.ts"

/** Redis has not answered, or nothing that can be read. */
export type Unread = RedisAway | Schema.SchemaError

/** Why, in words. */
export const reasonOf = (error: Unread): string => (error._tag === "RedisAway" ? error.reason : error.message)

/** All members of a node in one script: 10 000 take a fifth of a second. */
const reconcilePatience = Duration.seconds(5)

/** What a limit that is none is for Redis. */
const whole = (limit: number): string => String(Math.min(limit, Number.MAX_SAFE_INTEGER))

/** What Redis knows a holder by: who can read it there cannot take anybody's place. */
const known = (holder: string): string =>
  holder === "" ? "" : createHash("sha256").update(holder).digest("hex")

const millis = (duration: Duration.Duration): string => String(Duration.toMillis(duration))

/** What a node compares with Redis: see the script `reconcile`. */
export interface Standing {
  readonly lease: Duration.Duration
  readonly settle: Duration.Duration
  /** The greatest revision it has seen. */
  readonly highest: number
  readonly seated: ReadonlyArray<readonly [Session, Seat]>
  readonly changing: ReadonlyArray<string>
}

/** The scripts as a node calls them; what they do and give stands in `scripts.ts`. */
export const callsOf = (node: string, { run }: RedisScripts) => {
  const time = new RedisTime()
  /** When nobody waits any more for a script that is run now. */
  const latest = Effect.map(time.now, (now) => String(now + Duration.toMillis(scriptPatience)))
  const textOf = ({ sid, version }: Session, seat: Seat): string => memberText({ sid, node, version, seat })
  return {
    reconcile: ({ changing, highest, lease, seated, settle }: Standing) => {
      const members = seated.flatMap(([session, seat]) => [
        session.sid,
        seat.office,
        fieldOf(seat),
        textOf(session, seat),
        known(session.holder)
      ])
      const sizes = [millis(lease), String(highest), millis(settle), String(seated.length)]
      const reconciled = Effect.flatMap(
        run("reconcile", [node, ...sizes, ...members, ...changing], reconcilePatience),
        readReconciled
      )
      return time.learning(reconciled, ([, , , now]) => now)
    },
    renew: (lease: Duration.Duration) => {
      const renewed = Effect.flatMap(run("renew", [node, millis(lease)]), readRenewed)
      return time.learning(renewed, ([, , now]) => now)
    },
    join: Effect.fnUntraced(function* (session: Session, seat: Seat, capacity: Capacity) {
      const joined = yield* run("join", [
        node,
        session.sid,
        seat.office,
        fieldOf(seat),
        seat.name,
        textOf(session, seat),
        known(session.holder),
        whole(capacity.offices),
        whole(capacity.membersPerOffice),
        yield* latest
      ])
      return yield* readJoined(joined)
    }),
    leave: (sid: string) => run("leave", [node, sid]),
    depart: run("depart", [node]),
    snapshot: (office: string) => Effect.flatMap(run("snapshot", [node, office]), readSnapshot),
    elsewhere: (office: string, name: string) =>
      Effect.map(run("elsewhere", [office, name]), (found) => found === 1)
  }
}

/** The scripts as a node calls them. */
export type Calls = ReturnType<typeof callsOf>
