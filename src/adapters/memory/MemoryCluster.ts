import { Effect, Layer } from "effect"
import { NodeTransport, TransportClient, TransportServer, Unreachable } from "../../application/ports/Transport.ts"
import type { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import * as MemoryOfficeRegistry from "./MemoryOfficeRegistry.ts"
import * as MemoryTransport from "./MemoryTransport.ts"

/** The offices and the network that the Servers of one process share. */
export interface MemoryCluster {
  readonly offices: MemoryOfficeRegistry.MemoryOffices
  /** The nodes by name. */
  readonly network: Map<string, TransportClient["Service"]>
}

/** Makes a cluster without nodes. */
export const makeCluster = (): MemoryCluster => ({ offices: MemoryOfficeRegistry.makeOffices(), network: new Map() })

/** The links of a node to the others. Closing the layer's scope removes the node. */
const layerTransport = ({ network }: MemoryCluster, node: string): Layer.Layer<NodeTransport> =>
  Layer.effect(
    NodeTransport,
    Effect.gen(function* () {
      const client = yield* TransportClient
      const { serve } = yield* TransportServer
      yield* Effect.acquireRelease(
        Effect.sync(() => void network.set(node, client)),
        () => Effect.sync(() => network.delete(node))
      )
      return NodeTransport.of({
        node,
        serve,
        connect: (name, options) =>
          network.get(name)?.connect(options) ?? Effect.fail(new Unreachable({ message: "no node has this name" }))
      })
    })
  ).pipe(Layer.provide(Layer.fresh(MemoryTransport.layer({ idPrefix: node }))))

/** A node of a cluster in memory. Node names must be unique. */
export const layerNode = (cluster: MemoryCluster, node: string): Layer.Layer<OfficeRegistry | NodeTransport> =>
  Layer.merge(MemoryOfficeRegistry.layer(cluster.offices, node), layerTransport(cluster, node))

/** A cluster of one node, for a single Server. Each use of the layer makes a new cluster. */
export const layer: Layer.Layer<OfficeRegistry | NodeTransport> = Layer.fresh(
  Layer.suspend(() => layerNode(makeCluster(), "single"))
)
