import { Effect, HashMap, Layer, Option, Result } from "effect"
import { type MembershipCommand, decide, type MembershipEvent } from "../../domain/office/decide.ts"
import { evolve } from "../../domain/office/evolve.ts"
import {
  isComputerElsewhere,
  findComputer,
  membersOf,
  emptyMembershipState,
  type MembershipState
} from "../../domain/office/MembershipState.ts"
import { sortedMembers } from "../../domain/office/OfficeReplica.ts"
import {
  type RegistryChange,
  OfficeRegistry,
  takeoverReason
} from "../../application/ports/OfficeRegistry.ts"

type Listener = (change: RegistryChange) => void

/** A node: its listeners and its sessions. */
interface ClusterNode {
  readonly listeners: Set<Listener>
  readonly sids: Set<string>
}

/** The offices that the nodes of one process share. */
export interface MemoryOffices {
  state: MembershipState
  readonly nodes: Map<string, ClusterNode>
}

/** Makes offices without nodes. */
export const makeOffices = (): MemoryOffices => ({ state: emptyMembershipState, nodes: new Map() })

/** The members of an office except one, as session ids by node. */
const recipientsByNode = (state: MembershipState, office: string, sid: string) => {
  const others = membersOf(state, office).filter((member) => member.sid !== sid)
  return Map.groupBy(others, ({ node }) => node)
}

const notifyListeners = ({ listeners }: ClusterNode, change: RegistryChange) => {
  for (const listener of listeners) listener(change)
}

const notifyNodes = (
  { nodes, state }: MemoryOffices,
  { _tag, membership, sid }: Extract<MembershipEvent, { membership: unknown }>
) => {
  const recipients = recipientsByNode(state, membership.office, sid)
  for (const [name, node] of nodes) {
    const here = recipients.get(name)
    // The member's own node counts members and ends calls, even without other members.
    if (here !== undefined || node.sids.has(sid))
      notifyListeners(node, { _tag, sid, membership, recipients: here?.map((member) => member.sid) ?? [] })
  }
}

/** Applies an event and notifies the nodes. */
const applyEvent = (cluster: MemoryOffices, event: MembershipEvent) => {
  cluster.state = evolve(cluster.state, event)
  if (event._tag === "Connected") cluster.nodes.get(event.session.node)?.sids.add(event.session.sid)
  if (event._tag === "Disconnected") for (const { sids } of cluster.nodes.values()) sids.delete(event.sid)
  if (event._tag !== "Entered" && event._tag !== "Left") return
  notifyNodes(cluster, event)
  if (event._tag === "Entered" || !event.replaced) return
  for (const node of cluster.nodes.values()) {
    if (node.sids.has(event.sid))
      notifyListeners(node, { _tag: "Evicted", sid: event.sid, reason: takeoverReason })
  }
}

const applyCommand = (
  cluster: MemoryOffices,
  command: MembershipCommand,
  capacity: Parameters<typeof decide>[2]
): ReturnType<typeof decide> => {
  const decision = decide(cluster.state, command, capacity)
  if (Result.isSuccess(decision)) for (const event of decision.success) applyEvent(cluster, event)
  return decision
}

const make = Effect.fnUntraced(function* (cluster: MemoryOffices, node: string) {
  const self: ClusterNode = { listeners: new Set(), sids: new Set() }
  const { listeners, sids } = self
  cluster.nodes.set(node, self)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const sid of sids) applyCommand(cluster, { _tag: "Disconnect", sid }, undefined)
      cluster.nodes.delete(node)
      for (const other of cluster.nodes.values()) notifyListeners(other, { _tag: "NodeGone", node })
    })
  )
  return OfficeRegistry.of({
    node,
    apply: (command, capacity) =>
      Effect.suspend(() => Effect.asVoid(Effect.fromResult(applyCommand(cluster, command, capacity)))),
    subscribe: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      ),
    session: (sid) => (sids.has(sid) ? HashMap.get(cluster.state.sessions, sid) : Option.none()),
    findComputer: (office, name) => findComputer(cluster.state, office, name),
    members: (office) =>
      Option.match(HashMap.get(cluster.state.offices, office), { onNone: () => [], onSome: sortedMembers }),
    isComputerElsewhere: (office, name) =>
      Effect.sync(() => isComputerElsewhere(cluster.state, office, name)),
    state: () => ({
      available: true,
      nodes: cluster.nodes.size,
      sessions: sids.size,
      offices: HashMap.size(cluster.state.offices)
    })
  })
})

/** A node of a cluster in memory. Closing the layer's scope removes the node and its members. */
export const layer = (cluster: MemoryOffices, node: string): Layer.Layer<OfficeRegistry> =>
  Layer.effect(OfficeRegistry, make(cluster, node))
