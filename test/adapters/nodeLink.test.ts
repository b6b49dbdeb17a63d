import { Effect, Layer } from "effect"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import { makeTcpNodeTransport } from "../../src/adapters/tcp/nodes/TcpNodeTransport.ts"
import { NodeTransport } from "../../src/application/ports/Transport.ts"
import { NodeLink } from "../../src/application/server/nodes/NodeLink.ts"
import { contract } from "./nodeLink.contract.ts"

const linked = <E>(transport: Layer.Layer<NodeTransport, E>) =>
  Layer.build(Layer.fresh(Layer.provide(NodeLink.layer, transport))).pipe(
    Effect.flatMap((context) => Effect.provideContext(NodeLink, context)),
    Effect.orDie
  )

contract(
  "in memory",
  Effect.sync(() => {
    const cluster = MemoryCluster.makeCluster()
    return { node: (name) => linked(MemoryCluster.layerNode(cluster, name)) }
  })
)

/** Nodes that find each other's addresses in a map. */
const overTcp = (secure: boolean) =>
  Effect.sync(() => {
    const addresses = new Map<string, string>()
    const open = Effect.fnUntraced(function* (node: string) {
      const { address, transport } = yield* makeTcpNodeTransport({
        node,
        address: { host: "127.0.0.1", port: 0 },
        secure,
        addressOf: (other) => Effect.succeed(addresses.get(other))
      })
      addresses.set(node, address)
      return transport
    })
    return { node: (name: string) => linked(Layer.effect(NodeTransport, open(name))) }
  })

contract("over TCP", overTcp(false))
contract("over TLS", overTcp(true))
