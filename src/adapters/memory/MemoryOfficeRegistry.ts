import { Effect, HashMap, Layer, Option, Result } from "effect"
import type { Session } from "../../domain/model/Membership.ts"
import {
  type Capacity,
  type MembershipCommand,
  isComputerElsewhere,
  findComputer,
  decide,
  type MembershipEvent,
  evolve,
  membersOf,
  emptyMembershipState,
  type MembershipState
} from "../../domain/office/membership.ts"
import { sortedMembers } from "../../domain/office/OfficeReplica.ts"
import {
  type RegistryChange,
  OfficeRegistry,
  type Registration,
  takeoverReason
} from "../../application/ports/OfficeRegistry.ts"

type Listener = (change: RegistryChange) => void

/** A Server of a cluster in memory: who listens, and whose connections it holds. */
interface ClusterNode {
  readonly listeners: Set<Listener>
  readonly registrations: Map<string, { session: Session }>
}

/** The offices that all Servers of one process share. */
export interface MemoryOffices {
  state: MembershipState
  readonly nodes: Map<string, ClusterNode>
}

/** A cluster without a node. */
export const makeOffices = (): MemoryOffices => ({ state: emptyMembershipState, nodes: new Map() })

/** Those whom the nodes are to tell of somebody in an office, by node. */
const recipientsByNode = (
  state: MembershipState,
  office: string,
  sid: string
): Map<string, Array<string>> => {
  const found = new Map<string, Array<string>>()
  for (const member of membersOf(state, office)) {
    if (member.sid === sid) continue
    const here = found.get(member.node)
    if (here === undefined) found.set(member.node, [member.sid])
    else here.push(member.sid)
  }
  return found
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
    // Its own node hears of a member even when nobody else is there: it counts who sits, and its calls end.
    if (here !== undefined || node.registrations.has(sid))
      notifyListeners(node, { _tag, sid, membership, recipients: here ?? [] })
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

/** Makes one event true and tells the nodes. */
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

const applyCommand = (
  cluster: MemoryOffices,
  command: MembershipCommand,
  capacity?: Capacity
): ReturnType<typeof decide> => {
  const decision = decide(cluster.state, command, capacity)
  if (Result.isSuccess(decision)) for (const event of decision.success) applyEvent(cluster, event)
  return decision
}

/** A node of a cluster for as long as the layer; with it go its members. */
export const layer = (cluster: MemoryOffices, node: string): Layer.Layer<OfficeRegistry> =>
  Layer.effect(
    OfficeRegistry,
    Effect.gen(function* () {
      const { listeners, registrations } = yield* Effect.acquireRelease(
        Effect.sync((): ClusterNode => {
          const own = {
            listeners: new Set<Listener>(),
            registrations: new Map<string, { session: Session }>()
          }
          cluster.nodes.set(node, own)
          return own
        }),
        (own) =>
          Effect.sync(() => {
            for (const sid of own.registrations.keys()) applyCommand(cluster, { _tag: "Disconnect", sid })
            cluster.nodes.delete(node)
            for (const other of cluster.nodes.values()) notifyListeners(other, { _tag: "NodeLost", node })
          })
      )
      return OfficeRegistry.of({
        node,
        connect: (session) =>
          Effect.sync(() => {
            const registration: Registration = { session: { ...session, node, membership: Option.none() } }
            registrations.set(session.sid, registration)
            applyCommand(cluster, { _tag: "Connect", node, ...session })
            return registration
          }),
        disconnect: (sid) => Effect.sync(() => void applyCommand(cluster, { _tag: "Disconnect", sid })),
        apply: (command, capacity) =>
          Effect.suspend(() => Effect.asVoid(Effect.fromResult(applyCommand(cluster, command, capacity)))),
        subscribe: (listener) =>
          Effect.acquireRelease(
            Effect.sync(() => void listeners.add(listener)),
            () => Effect.sync(() => void listeners.delete(listener))
          ),
        findComputer: (office, name) => findComputer(cluster.state, office, name),
        members: (office) => {
          const found = HashMap.get(cluster.state.offices, office)
          return found._tag === "Some" ? sortedMembers(found.value) : []
        },
        isComputerElsewhere: (office, name) =>
          Effect.sync(() => isComputerElsewhere(cluster.state, office, name)),
        state: () => ({
          available: true,
          nodes: cluster.nodes.size,
          sessions: registrations.size,
          offices: HashMap.size(cluster.state.offices)
        })
      })
    })
  )
