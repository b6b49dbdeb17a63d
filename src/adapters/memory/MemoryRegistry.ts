import { Effect, HashMap, Layer, Option, Result } from "effect"
import {
  type Command,
  computerElsewhere,
  computerIn,
  decide,
  type Event,
  evolve,
  membersOf,
  noOffices,
  type Offices
} from "../../domain/office/membership.ts"
import { listed } from "../../domain/office/view.ts"
import { type Change, OfficeRegistry, replacedReason } from "../../application/ports/OfficeRegistry.ts"

type Listener = (change: Change) => void

/** A Server of a cluster in memory: who listens, and whose connections it holds. */
interface Node {
  readonly listeners: Set<Listener>
  readonly sids: Set<string>
}

/** The offices that all Servers of one process share. */
export interface MemoryCluster {
  state: Offices
  readonly nodes: Map<string, Node>
}

/** A cluster without a node. */
export const makeCluster = (): MemoryCluster => ({ state: noOffices, nodes: new Map() })

/** Those whom the nodes are to tell of somebody in an office, by node. */
const recipientsOf = (state: Offices, office: string, sid: string): Map<string, Array<string>> => {
  const found = new Map<string, Array<string>>()
  for (const member of membersOf(state, office)) {
    if (member.sid === sid) continue
    const here = found.get(member.node)
    if (here === undefined) found.set(member.node, [member.sid])
    else here.push(member.sid)
  }
  return found
}

const tell = ({ listeners }: Node, change: Change) => {
  for (const listener of listeners) listener(change)
}

const announce = (
  { nodes, state }: MemoryCluster,
  { _tag, seat, sid }: Extract<Event, { seat: unknown }>
) => {
  const recipients = recipientsOf(state, seat.office, sid)
  for (const [name, node] of nodes) {
    const here = recipients.get(name)
    // Its own node hears of a member even when nobody else is there: it counts who sits, and its calls end.
    if (here !== undefined || node.sids.has(sid)) tell(node, { _tag, sid, seat, recipients: here ?? [] })
  }
}

/** Makes one event true and tells the nodes. */
const happen = (cluster: MemoryCluster, event: Event) => {
  cluster.state = evolve(cluster.state, event)
  if (event._tag === "Connected") cluster.nodes.get(event.session.node)?.sids.add(event.session.sid)
  if (event._tag === "Disconnected") for (const { sids } of cluster.nodes.values()) sids.delete(event.sid)
  if (event._tag !== "Entered" && event._tag !== "Left") return
  announce(cluster, event)
  if (event._tag === "Entered" || !event.replaced) return
  for (const node of cluster.nodes.values()) {
    if (node.sids.has(event.sid)) tell(node, { _tag: "Evicted", sid: event.sid, reason: replacedReason })
  }
}

const applyTo = (
  cluster: MemoryCluster,
  command: Command,
  capacity: Parameters<typeof decide>[2]
): ReturnType<typeof decide> => {
  const decision = decide(cluster.state, command, capacity)
  if (Result.isSuccess(decision)) for (const event of decision.success) happen(cluster, event)
  return decision
}

/** A node of a cluster for as long as the layer; with it go its members. */
export const layerIn = (cluster: MemoryCluster, node: string): Layer.Layer<OfficeRegistry> =>
  Layer.effect(
    OfficeRegistry,
    Effect.gen(function* () {
      const { listeners, sids } = yield* Effect.acquireRelease(
        Effect.sync((): Node => {
          const own = { listeners: new Set<Listener>(), sids: new Set<string>() }
          cluster.nodes.set(node, own)
          return own
        }),
        (own) =>
          Effect.sync(() => {
            for (const sid of own.sids) applyTo(cluster, { _tag: "Disconnect", sid }, undefined)
            cluster.nodes.delete(node)
            for (const other of cluster.nodes.values()) tell(other, { _tag: "NodeGone", node })
          })
      )
      return OfficeRegistry.of({
        node,
        apply: (command, capacity) =>
          Effect.suspend(() =>
            Result.match(applyTo(cluster, command, capacity), {
              onFailure: Effect.fail,
              onSuccess: () => Effect.void
            })
          ),
        follow: (listener) =>
          Effect.acquireRelease(
            Effect.sync(() => void listeners.add(listener)),
            () => Effect.sync(() => void listeners.delete(listener))
          ),
        session: (sid) => (sids.has(sid) ? HashMap.get(cluster.state.sessions, sid) : Option.none()),
        computerIn: (office, name) => computerIn(cluster.state, office, name),
        members: (office) => {
          const found = HashMap.get(cluster.state.offices, office)
          return found._tag === "Some" ? listed(found.value) : []
        },
        computerElsewhere: (office, name) =>
          Effect.sync(() => computerElsewhere(cluster.state, office, name)),
        state: () => ({
          up: true,
          nodes: cluster.nodes.size,
          sessions: sids.size,
          offices: HashMap.size(cluster.state.offices)
        })
      })
    })
  )
