import { Effect, HashMap, Layer, Option, Result } from "effect"
import { type MembershipCommand, decide, type MembershipEvent } from "../../domain/office/decide.ts"
import { evolve } from "../../domain/office/evolve.ts"
import { isComputerElsewhere, findComputer, membersOf, emptyMembershipState, type MembershipState } from "../../domain/office/MembershipState.ts"
import { sortedMembers } from "../../domain/office/OfficeReplica.ts"
import {
  type RegistryChange,
  OfficeRegistry,
  takeoverReason
} from "../../application/ports/OfficeRegistry.ts"

type Listener = (change: RegistryChange) => void

/** A Server of a cluster in memory: who listens, and whose connections it holds. */
interface ClusterNode {
  readonly listeners: Set<Listener>
  readonly sids: Set<string>
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
    if (here !== undefined || node.sids.has(sid))
      notifyListeners(node, { _tag, sid, membership, recipients: here ?? [] })
  }
}

/** Makes one event true and tells the nodes. */
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

/** A node of a cluster for as long as the layer; with it go its members. */
export const layer = (cluster: MemoryOffices, node: string): Layer.Layer<OfficeRegistry> =>
  Layer.effect(
    OfficeRegistry,
    Effect.gen(function* () {
      const { listeners, sids } = yield* Effect.acquireRelease(
        Effect.sync((): ClusterNode => {
          const own = { listeners: new Set<Listener>(), sids: new Set<string>() }
          cluster.nodes.set(node, own)
          return own
        }),
        (own) =>
          Effect.sync(() => {
            for (const sid of own.sids) applyCommand(cluster, { _tag: "Disconnect", sid }, undefined)
            cluster.nodes.delete(node)
            for (const other of cluster.nodes.values()) notifyListeners(other, { _tag: "NodeGone", node })
          })
      )
      return OfficeRegistry.of({
        node,
        apply: (command, capacity) =>
          Effect.suspend(() =>
            Result.match(applyCommand(cluster, command, capacity), {
              onFailure: Effect.fail,
              onSuccess: () => Effect.void
            })
          ),
        subscribe: (listener) =>
          Effect.acquireRelease(
            Effect.sync(() => void listeners.add(listener)),
            () => Effect.sync(() => void listeners.delete(listener))
          ),
        session: (sid) => (sids.has(sid) ? HashMap.get(cluster.state.sessions, sid) : Option.none()),
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
          sessions: sids.size,
          offices: HashMap.size(cluster.state.offices)
        })
      })
    })
  )
