import { Context, type Effect, type Option, type Scope } from "effect"
import type { MembershipCommand } from "../../domain/office/decide.ts"
import type { Capacity } from "../../domain/office/MembershipState.ts"
import type { Member, MembershipError, Membership, Session } from "../../domain/model/Membership.ts"

/** What a node hears of the cluster, in the order in which it happened. */
export type RegistryChange =
  | {
      readonly _tag: "Entered" | "Left"
      readonly sid: string
      readonly membership: Membership
      /**
       * The sessions of this node that sit in the office and are to hear it: never `sid` itself. A node hears of its own
       * sessions even when nobody is, since it counts them.
       */
      readonly recipients: ReadonlyArray<string>
    }
  /** A session of this node has lost its seat to another: its connection is to be closed with this reason. */
  | { readonly _tag: "Evicted"; readonly sid: string; readonly reason: string }
  /** Another node has left the cluster or is lost; its members have gone. */
  | { readonly _tag: "NodeGone"; readonly node: string }

/** How a registry is doing. */
export interface RegistryState {
  /** False when nobody can join because what the nodes share cannot be reached. */
  readonly available: boolean
  /** Nodes in the cluster, this one included, when last heard of. */
  readonly nodes: number
  /** Connections of this node. */
  readonly sessions: number
  /** Offices that this node knows. */
  readonly offices: number
}

/**
 * Who sits in which office, the same for all Servers of one cluster: a node is one start of a Server. What is read
 * without waiting covers the offices in which this node has members.
 */
export class OfficeRegistry extends Context.Service<
  OfficeRegistry,
  {
    /** The name of this node, unique in the cluster and for every start of the program. */
    readonly node: string
    /**
     * Applies a command of one of this node's sessions: of any number of racing ones on any node the rules see one
     * after the other. Its changes have been heard when it returns. Connecting and disconnecting never fail; a join
     * fails with `unavailable` when what the nodes share does not answer within a second or so.
     */
    readonly apply: (command: MembershipCommand, capacity?: Capacity) => Effect.Effect<void, MembershipError>
    /** Hears every change until the scope closes. The listener must neither throw nor call the registry. */
    readonly subscribe: (
      listener: (change: RegistryChange) => void
    ) => Effect.Effect<void, never, Scope.Scope>
    /** A session of this node. */
    readonly session: (sid: string) => Option.Option<Session>
    /** A Computer in an office. */
    readonly findComputer: (office: string, name: string) => Option.Option<Member>
    /** Everybody in an office: the Agent first, then the Computers in the order of their arrival. */
    readonly members: (office: string) => ReadonlyArray<Member>
    /**
     * Does a Computer of this name sit in another office of the cluster than this one? Only as far as is known when it
     * cannot be asked.
     */
    readonly isComputerElsewhere: (office: string, name: string) => Effect.Effect<boolean>
    readonly state: () => RegistryState
  }
>()("a2c-smcp/application/ports/OfficeRegistry") {}

/** Why the connection of a member is closed whose seat its own newer connection has taken over. */
export const takeoverReason = "replaced by a new connection of the same member"

/** Why the connection of a member is closed whose seat somebody got while this node was out of touch. */
export const membershipLostReason = "the seat was taken while this Server was out of touch with the others"
