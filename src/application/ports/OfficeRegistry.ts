import { Context, type Effect, type Option, type Scope } from "effect"
import type { MembershipCommand, Capacity } from "../../domain/office/decideMembership.ts"
import type { OfficeKey, SessionId } from "../../domain/model/ids.ts"
import type { Member, MembershipError, Membership, Session } from "../../domain/model/Membership.ts"

/** A change in the cluster. Listeners get the changes of each office in the order in which they happened. */
export type RegistryChange =
  | {
      readonly _tag: "Entered" | "Left"
      readonly sid: SessionId
      readonly membership: Membership
      /**
       * The members of the office at this node, without `sid` itself. A change of a session of this node is reported
       * even without recipients, because the node counts its members.
       */
      readonly recipients: ReadonlyArray<SessionId>
    }
  /** Another session took over the membership of a session of this node, whose connection must close with this reason. */
  | { readonly _tag: "Evicted"; readonly sid: SessionId; readonly reason: EvictionReason }
  /** Another node has left the cluster or is lost, and its members with it. */
  | { readonly _tag: "NodeLost"; readonly node: string }

/** A session as it connects: its node is that of the registry. */
export type NewSession = Pick<Session, "sid" | "version" | "role" | "reconnectKey" | "subject">

export type OfficeCommand = Extract<MembershipCommand, { readonly _tag: "Join" | "Leave" }>

/** A connected session's entry in the registry, which replaces `session` on every change. */
export interface Registration {
  readonly session: Session
}

/**
 * The members of all offices by their keys, shared by the Servers of one cluster. A node is one run of a Server. Synchronous reads
 * cover the offices in which this node has members.
 */
export class OfficeRegistry extends Context.Service<
  OfficeRegistry,
  {
    /** The name of this node, unique in the cluster and for every run. */
    readonly node: string
    /** Registers a session of this node, outside of any office. */
    readonly connect: (session: NewSession) => Effect.Effect<Registration>
    /** Removes a session; it leaves its office first. */
    readonly disconnect: (sid: SessionId) => Effect.Effect<void>
    /**
     * Applies a join or leave of a session of this node. Commands of all nodes are serialized. Listeners have heard the
     * changes when it returns. A join fails with `unavailable` when the shared store takes more than about a second.
     */
    readonly apply: (command: OfficeCommand, capacity: Capacity) => Effect.Effect<void, MembershipError>
    /** Reports every change until the scope closes. The listener must neither throw nor call the registry. */
    readonly subscribe: (listener: (change: RegistryChange) => void) => Effect.Effect<void, never, Scope.Scope>
    /** A Computer of an office in which this node has members. */
    readonly findComputer: (office: OfficeKey, name: string) => Option.Option<Member>
    /** The members of an office with members of this node: the Agent first, then Computers in the order of joins. */
    readonly members: (office: OfficeKey) => ReadonlyArray<Member>
    /** True when another office has this Computer. Uses local knowledge while the shared store cannot be reached. */
    readonly isComputerElsewhere: (office: OfficeKey, name: string) => Effect.Effect<boolean>
    /** Tells which of the offices have members. False for all while the shared store cannot be reached. */
    readonly areInUse: (offices: ReadonlyArray<OfficeKey>) => Effect.Effect<ReadonlyArray<boolean>>
    readonly state: () => {
      /** False while the shared store cannot be reached: joins fail. */
      readonly available: boolean
      /** Names of the nodes in the cluster, including this one, as last reported. */
      readonly nodes: ReadonlyArray<string>
      /** Connections of this node. */
      readonly sessions: number
      /** Offices that this node follows. */
      readonly offices: number
    }
  }
>()("a2c-smcp/application/ports/OfficeRegistry") {}

/** Close reason of a connection whose membership a newer connection of the same member or identity took over. */
export const takeoverReason = "replaced by a new connection of the same member"

/** Close reason of a connection whose membership another member took while this node was disconnected. */
export const membershipLostReason = "another member took its place while this Server was disconnected from the cluster"

export type EvictionReason = typeof takeoverReason | typeof membershipLostReason
