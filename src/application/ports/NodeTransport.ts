import { Context } from "effect"
import type { TransportClient, TransportServer } from "./Transport.ts"

type Connect = TransportClient["Service"]["connect"]

/** A transport whose members are the nodes of one cluster: it carries the messages between them. */
export class NodeTransport extends Context.Service<
  NodeTransport,
  {
    /** The name of this node, unique in the cluster and for every run. */
    readonly node: string
    /** Accepts the links of other nodes of the cluster, and no others. */
    readonly serve: TransportServer["Service"]["serve"]
    /** Opens a link to another node, or fails within a few seconds. */
    readonly connect: (node: string, options: Parameters<Connect>[0]) => ReturnType<Connect>
  }
>()("a2c-smcp/application/ports/NodeTransport") {}
