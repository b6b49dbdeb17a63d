import { Clock, Effect, Schema, Duration } from "effect"
import { createHash } from "node:crypto"
import { type Member, type Membership, Role, type Session } from "../../../domain/model/Membership.ts"
import { nameKey } from "../../../domain/model/names.ts"
import type { OfficeKey, SessionId } from "../../../domain/model/ids.ts"
import type { JoinTerms, Capacity } from "../../../domain/office/decideMembership.ts"
import type { LocalOffices } from "./LocalOffices.ts"
import type { ScriptName } from "./luaScripts.ts"
import { type RedisUnavailable, type ScriptRunner, scriptTimeout } from "./ScriptRunner.ts"

const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/**
 * Estimates the clock of Redis in milliseconds. The estimate is never less than the true time, and exceeds it by at most
 * the round trip of the last sync. Before the first sync it is meaningless.
 */
export class RedisClock {
  #offsetMillis = 0
  readonly now = Effect.map(monotonicMillis, (ours) => ours + this.#offsetMillis)

  /** Syncs with the time of Redis in a reply. */
  syncFrom<A, E>(call: Effect.Effect<A, E>, timeOf: (reply: A) => number): Effect.Effect<A, E> {
    return Effect.flatMap(monotonicMillis, (sentAt) =>
      Effect.map(call, (reply) => {
        this.#offsetMillis = timeOf(reply) - sentAt
        return reply
      })
    )
  }
}

const MemberJson = Schema.Struct({
  joinRevision: Schema.Finite,
  sid: Schema.String,
  node: Schema.String,
  version: Schema.String,
  membership: Schema.Struct({ office: Schema.String, role: Role, name: Schema.String }),
  joinedAt: Schema.optional(Schema.Finite)
}).pipe(Schema.encodeKeys({ joinRevision: "since", membership: "seat", joinedAt: "at" }))

/** Encodes a member for the scripts, which add its join revision. Nodes of older versions ignore `at` and `owner`. */
export const encodeMember = (
  { joinedAt, node, membership, sid, version }: Omit<Member, "joinRevision">,
  owner: string
): string => JSON.stringify({ sid, node, version, seat: membership, at: joinedAt, owner })

/** The field of a membership in an office's hash: an office has one Agent, and one Computer for each key of a name. */
export const memberField = ({ name, role }: Omit<Membership, "office">): string =>
  role === "agent" ? "a" : `c${nameKey(name)}`

/** The membership of a field, with the key of a name instead of the name. The name of an Agent is not part of it. */
export const membershipOfField = (office: string, field: string): Membership =>
  field === "a" ? { office, role: "agent", name: "" } : { office, role: "computer", name: field.slice(1) }

const changeFields = { office: Schema.String, from: Schema.Finite, to: Schema.Finite }
const RegistryMessage = Schema.Union([
  Schema.Struct({ ...changeFields, entered: MemberJson }),
  Schema.Struct({
    ...changeFields,
    left: Schema.Struct({ sid: Schema.String, field: Schema.String, replaced: Schema.Boolean })
  }),
  Schema.Struct({ office: Schema.String, to: Schema.Finite, all: Schema.Array(MemberJson) }),
  Schema.Struct({ gone: Schema.String })
])

export const decodeMessage = Schema.decodeUnknownResult(Schema.fromJsonString(RegistryMessage))

export const Reconciled = Schema.Tuple([
  Schema.Finite,
  Schema.Array(Schema.String),
  Schema.Array(Schema.String),
  Schema.Finite
])
export const Renewed = Schema.Tuple([
  Schema.Literals(["ok", "unknown_node"]),
  Schema.Array(Schema.String),
  Schema.Finite
])
/** A taken membership comes with the name of its member, and the time of its join, which is empty when unknown. */
export const Joined = Schema.Union([
  Schema.Literals(["joined", "expired", "unknown_node", "office_full", "too_many_offices"]),
  Schema.Tuple([Schema.Literal("taken"), Schema.String, Schema.String])
])
const InUse = Schema.Array(Schema.Literals([0, 1]))
export const Snapshot = Schema.Tuple([
  Schema.Literals(["ok", "unknown_node"]),
  Schema.FiniteFromString,
  Schema.FiniteFromString,
  Schema.Array(Schema.fromJsonString(MemberJson))
])

export type RegistryCallError = RedisUnavailable | Schema.SchemaError

/** One script restores all members of a node: 10,000 take 0.2 seconds. */
const reconcileTimeout = Duration.seconds(5)

const formatLimit = (limit: number): string => String(Math.min(limit, Number.MAX_SAFE_INTEGER))

/** Hashes a reconnect key or a subject: a reader of Redis must not be able to take over sessions. */
const hashText = (text: string): string => (text === "" ? "" : createHash("sha256").update(text).digest("hex"))

const formatMillis = (duration: Duration.Duration): string => String(Duration.toMillis(duration))

/** The scripts of one node; `luaScripts.ts` documents them. */
export const makeRegistryScripts = (node: string, address: string, { run }: ScriptRunner) => {
  const clock = new RedisClock()
  const call = <A, I>(
    name: ScriptName,
    args: ReadonlyArray<string>,
    reply: Schema.Codec<A, I>,
    timeout?: Duration.Duration
  ): Effect.Effect<A, RegistryCallError> => Effect.flatMap(run(name, args, timeout), Schema.decodeUnknownEffect(reply))
  /** The member as JSON, and the hash of its reconnect key. */
  const encodeSession = (
    { reconnectKey, sid, subject, version }: Session,
    membership: Membership,
    joinedAt: number | undefined
  ) => [encodeMember({ sid, node, version, membership, joinedAt }, hashText(subject)), hashText(reconnectKey)] as const
  return {
    reconcile: (lease: Duration.Duration, gracePeriod: Duration.Duration, local: LocalOffices) => {
      const { highestRevision, joined, pendingJoins } = local.reconcileState()
      const members = joined.flatMap(([session, membership]) => {
        const { office } = membership
        return [session.sid, office, memberField(membership), ...encodeSession(session, membership, session.joinedAt)]
      })
      const numbers = [formatMillis(lease), String(highestRevision), formatMillis(gracePeriod), String(joined.length)]
      const args = [node, address, ...numbers, ...members, ...pendingJoins]
      return clock.syncFrom(call("reconcile", args, Reconciled, reconcileTimeout), ([, , , now]) => now)
    },
    renew: (lease: Duration.Duration) =>
      clock.syncFrom(call("renew", [node, formatMillis(lease)], Renewed), ([, , now]) => now),
    join: Effect.fnUntraced(function* (
      session: Session,
      membership: Membership,
      { at, takeOver = false }: JoinTerms,
      capacity: Capacity
    ) {
      const args = [
        node,
        session.sid,
        membership.office,
        memberField(membership),
        membership.name,
        ...encodeSession(session, membership, at),
        formatLimit(capacity.offices),
        formatLimit(capacity.membersPerOffice),
        // The time of Redis at which a script started now times out.
        String((yield* clock.now) + Duration.toMillis(scriptTimeout)),
        takeOver ? "1" : "0"
      ]
      return yield* call("join", args, Joined)
    }),
    leave: (sid: SessionId) => run("leave", [node, sid]),
    leaveCluster: run("leaveCluster", [node]),
    /** The address that a node announces; `undefined` without one. */
    addressOf: (other: string) =>
      Effect.map(run("addressOf", [other]), (found) => (typeof found === "string" && found !== "" ? found : undefined)),
    snapshot: (office: OfficeKey) => call("snapshot", [node, office], Snapshot),
    isComputerElsewhere: (office: OfficeKey, name: string) =>
      Effect.map(
        run("isComputerElsewhere", [office, memberField({ role: "computer", name }), name]),
        (found) => found === 1
      ),
    areInUse: (offices: ReadonlyArray<OfficeKey>) =>
      Effect.map(call("areInUse", offices, InUse), (found) => found.map((one) => one === 1))
  }
}

export type RegistryScripts = ReturnType<typeof makeRegistryScripts>
