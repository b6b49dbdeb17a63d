import type { Effect, Scope } from "effect"
import type { Identity } from "../../../domain/model/Identity.ts"
import type { NodeLink } from "../nodes/NodeLink.ts"
import type { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import type { AdmissionRejected, Handshake, Link, MessageHandler } from "../../ports/Transport.ts"
import type { ClusterNodes } from "../routing/ClusterNodes.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import type { Connections } from "../connections/Connections.ts"
import type { Readiness } from "../observability/Readiness.ts"
import type { Notifications } from "../membership/Notifications.ts"

/** The parts of a running Server that operators watch and command. */
export interface WatchedServer {
  readonly servedLines: ReadonlyArray<ProtocolLine>
  readonly registry: OfficeRegistry["Service"]
  readonly nodeLink: NodeLink["Service"]
  readonly readiness: Readiness["Service"]
  readonly connections: Connections
  readonly nodes: ClusterNodes
  readonly notifications: Notifications
  /** Accepts a client. `known` is an identity that has authenticated; without it the handshake is authenticated. */
  readonly acceptConnection: (
    link: Link,
    handshake: Handshake,
    known?: Identity
  ) => Effect.Effect<MessageHandler, AdmissionRejected, Scope.Scope>
}
