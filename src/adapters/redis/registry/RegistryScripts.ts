import { createHash } from "node:crypto"
import { Duration, Effect, type Schema } from "effect"
import type { OfficeKey, SessionId } from "../../../domain/model/ids.ts"
import type { JoinTerms } from "../../../domain/office/decideMembership.ts"
import type { Capacity } from "../../../domain/office/MembershipState.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { Membership, Session } from "../../../domain/model/Membership.ts"
import type { LocalOffices } from "./LocalOffices.ts"
import { RedisClock } from "./RedisClock.ts"
import {
  memberField,
  encodeMember,
  decodeInUse,
  decodeJoined,
  decodeReconciled,
  decodeRenewed,
  decodeSnapshot
} from "./registryMessages.ts"
import { type RedisUnavailable, type ScriptRunner, scriptTimeout } from "./ScriptRunner.ts"

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
  /** The member as JSON, and the hash of its reconnect key. */
  const encodeSession = (
    { reconnectKey, sid, subject, version }: Session,
    membership: Membership,
    joinedAt: number | undefined
  ) =>
    [
      encodeMember({ sid, node, version, membership, ...definedOnly({ joinedAt }) }, hashText(subject)),
      hashText(reconnectKey)
    ] as const
  return {
    reconcile: (lease: Duration.Duration, gracePeriod: Duration.Duration, local: LocalOffices) => {
      const { highestRevision, joined, pendingJoins } = local.reconcileState()
      const members = joined.flatMap(([session, membership]) => {
        const { office } = membership
        return [session.sid, office, memberField(membership), ...encodeSession(session, membership, session.joinedAt)]
      })
      const numbers = [formatMillis(lease), String(highestRevision), formatMillis(gracePeriod), String(joined.length)]
      const args = [node, address, ...numbers, ...members, ...pendingJoins]
      const reconciled = Effect.flatMap(run("reconcile", args, reconcileTimeout), decodeReconciled)
      return clock.syncFrom(reconciled, ([, , , now]) => now)
    },
    renew: (lease: Duration.Duration) => {
      const renewed = Effect.flatMap(run("renew", [node, formatMillis(lease)]), decodeRenewed)
      return clock.syncFrom(renewed, ([, , now]) => now)
    },
    join: Effect.fnUntraced(function* (
      session: Session,
      membership: Membership,
      { at, takeOver = false }: JoinTerms,
      capacity: Capacity
    ) {
      const joined = yield* run("join", [
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
      ])
      return yield* decodeJoined(joined)
    }),
    leave: (sid: SessionId) => run("leave", [node, sid]),
    leaveCluster: run("leaveCluster", [node]),
    /** The address that a node announces; `undefined` without one. */
    addressOf: (other: string) =>
      Effect.map(run("addressOf", [other]), (found) => (typeof found === "string" && found !== "" ? found : undefined)),
    snapshot: (office: OfficeKey) => Effect.flatMap(run("snapshot", [node, office]), decodeSnapshot),
    isComputerElsewhere: (office: OfficeKey, name: string) =>
      Effect.map(
        run("isComputerElsewhere", [office, memberField({ role: "computer", name }), name]),
        (found) => found === 1
      ),
    areInUse: (offices: ReadonlyArray<OfficeKey>) =>
      Effect.map(Effect.flatMap(run("areInUse", offices), decodeInUse), (found) => found.map((one) => one === 1))
  }
}

export type RegistryScripts = ReturnType<typeof makeRegistryScripts>
