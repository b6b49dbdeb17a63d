import { Effect, Layer } from "effect"
import { NodeTransport, TransportClient, TransportServer, Unreachable } from "../../application/ports/Transport.ts"
import * as MemoryTransport from "./MemoryTransport.ts"

/** The nodes of a network, by name. */
export interface MemoryNetwork {
  readonly nodes: Map<string, TransportClient["Service"]>
}

/** Makes a network without nodes. Each {@link layer} adds one. */
export const makeNetwork = (): MemoryNetwork => ({ nodes: new Map() })

/**
 * The links between the nodes of a cluster in one process, for tests on virtual time and for hosts of several Servers.
 * Closing the layer's scope removes the node.
 */
export const layer = ({ nodes }: MemoryNetwork, node: string): Layer.Layer<NodeTransport> =>
  Layer.effect(
    NodeTransport,
    Effect.gen(function* () {
      const client = yield* TransportClient
      const { serve } = yield* TransportServer
      yield* Effect.acquireRelease(
        Effect.sync(() => void nodes.set(node, client)),
        () =>
          Effect.sync(() => {
            if (nodes.get(node) === client) nodes.delete(node)
          })
      )
      return NodeTransport.of({
        node,
        serve,
        connect: (name, options) =>
          nodes.get(name)?.connect(options) ?? Effect.fail(new Unreachable({ message: "no node has this name" }))
      })
    })
  ).pipe(Layer.provide(Layer.fresh(MemoryTransport.layer({ idPrefix: node }))))
