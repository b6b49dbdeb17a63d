import { Effect, HashMap, Layer, Option, Result } from "effect"
import type { Member, MembershipError, Session } from "../../domain/model/Membership.ts"
import {
  decide,
  evolve,
  type MembershipCommand,
  type MembershipEvent,
  type Capacity,
  isComputerElsewhere,
  findComputer,
  membersOf,
  emptyMembershipState,
  type MembershipState
} from "../../domain/office/decideMembership.ts"
import { sortedMembers } from "../../domain/office/OfficeReplica.ts"
import {
  type RegistryChange,
  OfficeRegistry,
  type Registration,
  takeoverReason
} from "../../application/ports/OfficeRegistry.ts"

type Listener = (change: RegistryChange) => void

interface ClusterNode {
  readonly listeners: Set<Listener>
  readonly registrations: Map<string, { session: Session }>
}

/** The offices that the nodes of one process share. */
export interface MemoryOffices {
  state: MembershipState
  readonly nodes: Map<string, ClusterNode>
}

export const makeOffices = (): MemoryOffices => ({ state: emptyMembershipState, nodes: new Map() })

const notifyListeners = ({ listeners }: ClusterNode, change: RegistryChange) => {
  for (const listener of listeners) listener(change)
}

const notifyNodes = (
  { nodes, state }: MemoryOffices,
  { _tag, membership, sid }: Extract<MembershipEvent, { membership: unknown }>
) => {
  const members = membersOf(state, membership.office)
  for (const [name, node] of nodes) {
    const recipients: Array<string> = []
    for (const member of members) if (member.node === name && member.sid !== sid) recipients.push(member.sid)
    // The member's own node counts members and ends calls, even without other members.
    if (recipients.length > 0 || node.registrations.has(sid))
      notifyListeners(node, { _tag, sid, membership, recipients })
  }
}

/** Evolves the shared state and the registration of the event's session. */
export const evolveOffices = (cluster: MemoryOffices, event: MembershipEvent): void => {
  cluster.state = evolve(cluster.state, event)
  const sid = event._tag === "Connected" ? event.session.sid : event.sid
  const session = Option.getOrUndefined(HashMap.get(cluster.state.sessions, sid))
  for (const { registrations } of cluster.nodes.values()) {
    const registration = registrations.get(sid)
    if (session === undefined) registrations.delete(sid)
    else if (registration !== undefined) registration.session = session
  }
}

const applyEvent = (cluster: MemoryOffices, event: MembershipEvent) => {
  evolveOffices(cluster, event)
  if (event._tag !== "Entered" && event._tag !== "Left") return
  notifyNodes(cluster, event)
  if (event._tag === "Entered" || !event.replaced) return
  for (const node of cluster.nodes.values()) {
    if (node.registrations.has(event.sid))
      notifyListeners(node, { _tag: "Evicted", sid: event.sid, reason: takeoverReason })
  }
}

/** Executes a command, and notifies the listeners of the nodes. */
export const applyCommand = (cluster: MemoryOffices, command: MembershipCommand, capacity?: Capacity) => {
  const decision = decide(cluster.state, command, capacity)
  if (Result.isSuccess(decision)) for (const event of decision.success) applyEvent(cluster, event)
  return decision
}

/** Adds a node without members. */
export const addNode = ({ nodes }: MemoryOffices, name: string): ClusterNode => {
  const node: ClusterNode = { listeners: new Set(), registrations: new Map() }
  nodes.set(name, node)
  return node
}

/** Removes a node and its members, and reports its loss to the others. */
export const removeNode = (cluster: MemoryOffices, name: string): void => {
  for (const { node, sid } of HashMap.values(cluster.state.sessions)) {
    if (node === name) applyCommand(cluster, { _tag: "Disconnect", sid })
  }
  cluster.nodes.delete(name)
  for (const other of cluster.nodes.values()) notifyListeners(other, { _tag: "NodeLost", node: name })
}

/** Executes a command, or fails with the reason of its rejection. The listeners have heard its changes when it returns. */
type Submit = (command: MembershipCommand, capacity?: Capacity) => Effect.Effect<void, MembershipError>

/** Adds a node, and makes its registry. Commands are executed here, unless `submit` does so. */
export const makeNodeRegistry = (
  cluster: MemoryOffices,
  node: string,
  submit: Submit = (...command) =>
    Effect.asVoid(Effect.suspend(() => Effect.fromResult(applyCommand(cluster, ...command))))
): OfficeRegistry["Service"] => {
  const { listeners, registrations } = addNode(cluster, node)
  /** True for a member of an office in which this node has members: only these offices are known, as with Redis. */
  const isKnown = ({ membership: { office }, node: memberNode }: Member): boolean =>
    memberNode === node || membersOf(cluster.state, office).some((member) => member.node === node)
  return OfficeRegistry.of({
    node,
    connect: (session) =>
      Effect.suspend(() => {
        const registration: Registration = { session: { ...session, node, membership: Option.none() } }
        registrations.set(session.sid, registration)
        return Effect.as(Effect.ignore(submit({ _tag: "Connect", node, ...session })), registration)
      }),
    disconnect: (sid) => Effect.ignore(submit({ _tag: "Disconnect", sid })),
    apply: submit,
    subscribe: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      ),
    findComputer: (office, name) => Option.filter(findComputer(cluster.state, office, name), isKnown),
    members: (office) => {
      const members = Option.match(HashMap.get(cluster.state.offices, office), {
        onNone: () => [],
        onSome: sortedMembers
      })
      return members.some((member) => member.node === node) ? members : []
    },
    isComputerElsewhere: (office, name) => Effect.sync(() => isComputerElsewhere(cluster.state, office, name)),
    areInUse: (offices) => Effect.sync(() => offices.map((office) => HashMap.has(cluster.state.offices, office))),
    state: () => ({
      available: true,
      nodes: [...cluster.nodes.keys()],
      sessions: registrations.size,
      offices: HashMap.size(cluster.state.offices)
    })
  })
}

/** A node of a cluster in memory. Closing the layer's scope removes the node and its members. */
export const layer = (cluster: MemoryOffices, node: string): Layer.Layer<OfficeRegistry> =>
  Layer.effect(
    OfficeRegistry,
    Effect.acquireRelease(
      Effect.sync(() => makeNodeRegistry(cluster, node)),
      () => Effect.sync(() => removeNode(cluster, node))
    )
  )
