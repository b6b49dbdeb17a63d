import { Context, Effect, Layer, Scope } from "effect"
import { lineForVersion } from "../../../domain/wire/lines.ts"
import { formatVersion } from "../../../domain/wire/version.ts"
import {
  type AdmissionRejected,
  type Handshake,
  type Link,
  type ListenError,
  type MessageHandler,
  TransportServer
} from "../../ports/Transport.ts"
import type { NodeLink } from "../../ports/NodeLink.ts"
import type { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import { makeAdmission } from "../membership/admission.ts"
import { InFlightCalls } from "../routing/InFlightCalls.ts"
import { Connections } from "../connections/Connections.ts"
import { MembershipObservers } from "../observability/MembershipObservers.ts"
import { makeGracefulShutdown } from "./gracefulShutdown.ts"
import { reconnectKeyOf } from "../membership/reconnectKey.ts"
import { makeInboundGuard } from "../connections/inboundGuard.ts"
import { MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import { ClusterNodes } from "../cluster/ClusterNodes.ts"
import { Notifications } from "../membership/Notifications.ts"
import { Readiness } from "./Readiness.ts"
import { makeRequestHandler } from "../routing/requestHandler.ts"
import { Routing } from "../routing/Routing.ts"
import { startIdleReaper } from "../connections/idleReaper.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/** A whole A2C-SMCP Server on whatever transport it is given. */
export class Server extends Context.Service<
  Server,
  {
    /** Where members connect. */
    readonly url: string
    /** True from when the Server begins to go down: it takes no members and begins no calls any more. */
    readonly draining: () => boolean
    /** How much the Server holds right now; all zero when everybody has gone. */
    readonly load: () => {
      readonly connections: number
      readonly sessions: number
      readonly offices: number
      readonly calls: number
    }
  }
>()("a2c-smcp/application/server/Server") {
  /** Serves until the layer's scope closes. */
  static readonly layerNoDeps = Layer.effect(
    Server,
    Effect.gen(function* () {
      const transport = yield* TransportServer
      const coordinator = yield* MembershipCoordinator
      const connections = yield* Connections
      const inFlightCalls = yield* InFlightCalls
      const { gauge } = yield* ServerMetrics
      const readiness = yield* Readiness
      let isDraining = false
      const draining = () => isDraining
      const acceptConnection = yield* makeAcceptConnection(draining)
      const shutdownGracefully = yield* makeGracefulShutdown
      yield* gauge({ name: "connections", help: "Open connections", read: connections.size })
      yield* gauge({ name: "calls_pending", help: "Calls under way", read: inFlightCalls.size })
      yield* gauge({
        name: "backlog_bytes",
        help: "Bytes that wait for members to take them",
        read: connections.totalBacklogBytes
      })
      yield* gauge({
        name: "nodes",
        help: "Servers that share their offices",
        read: () => coordinator.registryState().nodes
      })
      yield* gauge({
        name: "registry_up",
        help: "1 while members can join: what the Servers share can be reached",
        read: () => (coordinator.registryState().available ? 1 : 0)
      })
      yield* gauge({
        name: "registry_sessions",
        help: "Connections of this Server that its registry knows",
        read: () => coordinator.registryState().sessions
      })
      yield* gauge({
        name: "registry_offices",
        help: "Offices that the registry of this Server follows",
        read: () => coordinator.registryState().offices
      })
      yield* readiness.registerComponent("registry", () =>
        coordinator.registryState().available
          ? undefined
          : "what the nodes share cannot be reached: nobody can join"
      )
      yield* startIdleReaper
      // A scope of its own, and the finalizer after it: the last one runs first, and members are still served meanwhile.
      const listenScope = yield* Scope.fork(yield* Effect.scope)
      const { url } = yield* Scope.provide(transport.serve(acceptConnection), listenScope)
      readiness.setState({ _tag: "Ready" })
      yield* Effect.addFinalizer(() =>
        shutdownGracefully(() => {
          isDraining = true
          readiness.setState({ _tag: "Draining", reason: "the Server is shutting down" })
        })
      )
      return Server.of({
        url,
        draining,
        load: () => ({
          connections: connections.size(),
          sessions: coordinator.registryState().sessions,
          offices: coordinator.registryState().offices,
          calls: inFlightCalls.size()
        })
      })
    })
  )

  /** {@link Server.layerNoDeps} with everything but the transport and its way to the others of its cluster. */
  static readonly layer: Layer.Layer<Server, ListenError, TransportServer | OfficeRegistry | NodeLink> =
    Server.layerNoDeps.pipe(
      Layer.provide(Routing.layer),
      Layer.provide(MembershipCoordinator.layer),
      Layer.provide(Notifications.layer),
      Layer.provide(ClusterNodes.layer),
      Layer.provide(Layer.merge(Connections.layer, InFlightCalls.layer))
    )
}

/** Lets connections in: finds out who they are, and keeps what they hold in their own scope. */
const makeAcceptConnection = Effect.fnUntraced(function* (draining: () => boolean) {
  const coordinator = yield* MembershipCoordinator
  const connections = yield* Connections
  const handlerFor = yield* makeRequestHandler
  const guard = yield* makeInboundGuard
  const { admit, enforceValidity } = yield* makeAdmission
  const observers = yield* MembershipObservers

  return Effect.fnUntraced(function* (
    link: Link,
    handshake: Handshake
  ): Effect.fn.Return<MessageHandler, AdmissionRejected, Scope.Scope> {
    const sid = link.id
    const line = lineForVersion(handshake.version)
    const reportRejection = ({ code, message: reason }: AdmissionRejected) => {
      const { remoteAddress } = handshake
      for (const observe of observers)
        observe({ _tag: "ConnectionRefused", sid, remoteAddress, code, reason })
      return Effect.logWarning("connection refused", { sid, remote: remoteAddress, code, reason })
    }
    // Before anything that takes time: whoever is being looked at counts, too.
    const connection = yield* Effect.tapError(connections.add(link, line), reportRejection)
    const { identity, role } = yield* Effect.tapError(admit(handshake), reportRejection)
    connection.identity = identity
    yield* Effect.tapError(enforceValidity(connection), reportRejection)
    const version = formatVersion(handshake.version)
    yield* Effect.acquireRelease(
      Effect.orDie(
        coordinator.apply({
          _tag: "Connect",
          sid,
          node: coordinator.node,
          version,
          role,
          reconnectKey: reconnectKeyOf(identity.subject, handshake.auth)
        })
      ),
      () => Effect.orDie(coordinator.apply({ _tag: "Disconnect", sid }))
    )
    yield* Effect.logDebug("connected", { sid, version, subject: identity.subject })
    return guard(connection, handlerFor(sid, line), draining)
  })
})
