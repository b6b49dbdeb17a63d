import { Layer } from "effect"
import type { NodeTransport } from "../../application/ports/Transport.ts"
import type { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import * as MemoryNodeTransport from "./MemoryNodeTransport.ts"
import * as MemoryOfficeRegistry from "./MemoryOfficeRegistry.ts"

/** The offices and the network that the Servers of one process share. */
export interface MemoryCluster {
  readonly offices: MemoryOfficeRegistry.MemoryOffices
  readonly network: MemoryNodeTransport.MemoryNetwork
}

/** Makes a cluster without nodes. */
export const makeCluster = (): MemoryCluster => ({
  offices: MemoryOfficeRegistry.makeOffices(),
  network: MemoryNodeTransport.makeNetwork()
})

/** A node of a cluster in memory. Node names must be unique. */
export const layerNode = (
  { network, offices }: MemoryCluster,
  node: string
): Layer.Layer<OfficeRegistry | NodeTransport> =>
  Layer.merge(MemoryOfficeRegistry.layer(offices, node), MemoryNodeTransport.layer(network, node))

/** A cluster of one node, for a single Server. Each use of the layer makes a new cluster. */
export const layer: Layer.Layer<OfficeRegistry | NodeTransport> = Layer.fresh(
  Layer.suspend(() => layerNode(makeCluster(), "single"))
)
