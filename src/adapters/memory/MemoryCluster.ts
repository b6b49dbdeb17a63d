import { Layer } from "effect"
import type { NodeLink } from "../../application/ports/NodeLink.ts"
import type { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import * as MemoryNodeLink from "./MemoryNodeLink.ts"
import * as MemoryOfficeRegistry from "./MemoryOfficeRegistry.ts"

/** What Servers of one process share: their offices, and the way to each other. */
export interface MemoryCluster {
  readonly offices: MemoryOfficeRegistry.MemoryOffices
  readonly network: MemoryNodeLink.MemoryNetwork
}

/** A cluster without a node. */
export const makeCluster = (): MemoryCluster => ({
  offices: MemoryOfficeRegistry.makeOffices(),
  network: MemoryNodeLink.makeNetwork()
})

/** A node of a cluster in memory, under a name that no other one has. */
export const layerNode = (
  { network, offices }: MemoryCluster,
  node: string
): Layer.Layer<OfficeRegistry | NodeLink> =>
  Layer.merge(MemoryOfficeRegistry.layer(offices, node), MemoryNodeLink.layer(network, node))

/** For a Server that shares its offices with nobody: whoever provides it gets a cluster of its own. */
export const layer: Layer.Layer<OfficeRegistry | NodeLink> = Layer.fresh(
  Layer.suspend(() => layerNode(makeCluster(), "memory"))
)
