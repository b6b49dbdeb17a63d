import { join } from "node:path"
import { Array, Context, Effect, HashMap, Layer, Order, Record } from "effect"
import { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import { type ListenError, NodeTransport } from "../../application/ports/Transport.ts"
import { secureRandomHex } from "../../application/shared/secureRandom.ts"
import type { MembershipError } from "../../domain/model/Membership.ts"
import {
  allMembers,
  type Capacity,
  type MembershipCommand,
  type MembershipState,
  unlimitedCapacity
} from "../../domain/office/decideMembership.ts"
import { addNode, applyCommand, makeNodeRegistry, makeOffices, removeNode } from "../memory/MemoryOfficeRegistry.ts"
import { connectTcp } from "../tcp/transport/connectTcp.ts"
import { listenTcp } from "../tcp/transport/tcpServer.ts"
import type { PrimaryChannel } from "./PrimaryChannel.ts"
import type { WorkerIdentity } from "./WorkerIdentity.ts"
import type { Commands, ToWorker } from "./workerMessages.ts"

/** JSON has no infinity. */
const finite = (capacity: Capacity): Capacity =>
  Record.map({ ...capacity }, (limit) => Math.min(limit, Number.MAX_SAFE_INTEGER))

/** The commands that lead to a state: members join in the order of their joins. */
const commandsOf = ({ offices, sessions }: MembershipState): ReadonlyArray<MembershipCommand> => {
  const members = HashMap.toValues(offices).flatMap(allMembers)
  return [
    ...HashMap.toValues(sessions).map((session) => ({ _tag: "Connect", ...session }) as const),
    ...Array.sortWith(members, ({ joinRevision }) => joinRevision, Order.Number).map(
      ({ joinedAt: at, membership, sid }) => ({ _tag: "Join", sid, ...membership, at }) as const
    )
  ]
}

/**
 * Makes the registry of the primary process, which decides nothing: it sends all commands to all nodes in one order. Each
 * node executes all of them, so all have the same state.
 */
export const makeCommandSequencer = () => {
  const offices = makeOffices()
  const nodes = new Map<string, (message: ToWorker) => void>()

  const broadcast = (message: ToWorker): void => nodes.forEach((send) => send(message))

  return {
    /** Adds a node, and sends it the current state. */
    add: (node: string, send: (message: ToWorker) => void): void => {
      for (const other of nodes.keys()) send({ _tag: "NodeAdded", node: other })
      send({ _tag: "Commands", node: "", commands: commandsOf(offices.state), capacity: finite(unlimitedCapacity) })
      broadcast({ _tag: "NodeAdded", node })
      nodes.set(node, send)
    },
    submit: (message: Commands): void => {
      // The commands of a lost node may arrive late.
      if (!nodes.has(message.node)) return
      for (const command of message.commands) applyCommand(offices, command, message.capacity)
      broadcast(message)
    },
    remove: (node: string): void => {
      if (!nodes.delete(node)) return
      removeNode(offices, node)
      broadcast({ _tag: "NodeLost", node })
    }
  }
}

/** Makes the registry of a worker: it executes its commands in the order of the primary process. */
export const makeWorkerRegistry = (node: string, send: (message: Commands) => void) => {
  const offices = makeOffices()
  /** What waits for the own messages, in their order. */
  const waiting: Array<(outcome: Effect.Effect<void, MembershipError>) => void> = []

  const submit = (commands: ReadonlyArray<MembershipCommand>, capacity: Capacity) =>
    Effect.callback<void, MembershipError>((resume) => {
      waiting.push(resume)
      send({ _tag: "Commands", node, commands, capacity: finite(capacity) })
    })
  const local = makeNodeRegistry(offices, node, (command, capacity = unlimitedCapacity) => submit([command], capacity))
  /** Ends when this node has executed all commands that other nodes have executed. */
  const catchUp = Effect.ignore(submit([], unlimitedCapacity))
  const registry: OfficeRegistry["Service"] = {
    ...local,
    isComputerElsewhere: (...args) => Effect.andThen(catchUp, local.isComputerElsewhere(...args)),
    areInUse: (keys) => Effect.andThen(catchUp, local.areInUse(keys))
  }

  const onMessage = (message: ToWorker): void => {
    if (message._tag === "Commands") {
      const outcomes = message.commands.map((command) => applyCommand(offices, command, message.capacity))
      if (message.node === node) waiting.shift()?.(Effect.asVoid(Effect.all(outcomes.map(Effect.fromResult))))
    } else if (message._tag === "NodeAdded") addNode(offices, message.node)
    else if (message._tag === "NodeLost") removeNode(offices, message.node)
  }

  return { registry, onMessage }
}

/** The largest message between two workers, in bytes: more than any message of a member. */
const maxMessageBytes = 64 * 1024 * 1024

/** Makes a worker a node of the cluster of all workers, whose links are Unix sockets in their folder. */
export const layer = (
  { folder }: WorkerIdentity,
  { listen, send }: PrimaryChannel
): Layer.Layer<OfficeRegistry | NodeTransport, ListenError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const node = secureRandomHex(8)
      const { onMessage, registry } = makeWorkerRegistry(node, send)
      listen(onMessage)
      const addressOf = (name: string) => ({ host: join(folder, name), port: 0 })
      const { serve } = yield* listenTcp({ ...addressOf(node), maxMessageBytes })
      const connect: NodeTransport["Service"]["connect"] = (to, options) => connectTcp(addressOf(to), options)
      send({ _tag: "NodeAdded", node })
      return Context.make(OfficeRegistry, registry).pipe(
        Context.add(NodeTransport, NodeTransport.of({ node, serve, connect }))
      )
    })
  )
