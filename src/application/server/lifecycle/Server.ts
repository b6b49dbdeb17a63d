import { Context, Effect, Layer, Option, Scope } from "effect"
import type { Identity } from "../../../domain/model/Identity.ts"
import { lineForVersion } from "../../../domain/wire/lines.ts"
import { formatVersion } from "../../../domain/wire/version.ts"
import { Authenticator } from "../../ports/Authenticator.ts"
import { NodeLink } from "../nodes/NodeLink.ts"
import {
  type NodeTransport,
  ServedLines,
  type AdmissionRejected,
  type Handshake,
  type Link,
  type ListenError,
  type MessageHandler,
  TransportServer
} from "../../ports/Transport.ts"
import { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import { makeClusterNodes } from "../routing/ClusterNodes.ts"
import { type Connections, makeConnections } from "../connections/Connections.ts"
import { startIdleReaper } from "./idleReaper.ts"
import { guardInbound } from "../routing/inboundGuard.ts"
import { formatLimitName, Limits } from "../Limits.ts"
import { parseMemberFeatures } from "../../../domain/office/memberFeatures.ts"
import { makeRequestBudget, makeInFlightCalls } from "../connections/InFlightCalls.ts"
import { makeAdmission, reconnectKeyOf } from "../membership/admission.ts"
import { makeMembershipCoordinator, type MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import { makeNotifications } from "../membership/Notifications.ts"
import { MembershipObservers } from "../observability/observers.ts"
import { type Gauge, ServerMetrics } from "../observability/ServerMetrics.ts"
import type { RequestHandler } from "../routing/ClientRequest.ts"
import { makeCallStatusForwarding } from "../routing/callStatus.ts"
import { makeClientRequestHandler } from "../routing/clientRequestHandler.ts"
import { makeRouting } from "../routing/Routing.ts"
import { OfficeWatch } from "../watch/OfficeWatch.ts"
import { shutDownGracefully } from "./gracefulShutdown.ts"
import { Readiness } from "../observability/Readiness.ts"

/** An A2C-SMCP Server on any transport. */
export class Server extends Context.Service<
  Server,
  {
    /** Where members connect. */
    readonly url: string
    /** True once the Server shuts down: it rejects joins and new calls. */
    readonly draining: () => boolean
    /** Current counts; all zero when every client has disconnected. */
    readonly load: () => {
      readonly connections: number
      readonly sessions: number
      readonly offices: number
      readonly calls: number
    }
  }
>()("a2c-smcp/application/server/lifecycle/Server") {
  /** Serves until the layer's scope closes. `Observability` provides the metrics and the readiness. */
  static readonly layer: Layer.Layer<
    Server,
    ListenError,
    TransportServer | OfficeRegistry | NodeTransport | Authenticator | ServerMetrics | Readiness
  > = Layer.effect(
    Server,
    Effect.suspend(() => make)
  ).pipe(Layer.provide(NodeLink.layer))
}

/** A gauge for each limit of the memory of all clients that is set. */
const memoryLimitGauges = (limits: Limits): ReadonlyArray<Gauge> =>
  (["totalBacklogBytes", "totalIncompleteBytes", "totalRequestBytes"] as const)
    .filter((limit) => Number.isFinite(limits[limit]))
    .map((limit) => ({
      name: "memory_limit_bytes",
      labels: { limit: formatLimitName(limit) },
      read: () => limits[limit]
    }))

interface AcceptParts {
  readonly connections: Connections
  readonly coordinator: MembershipCoordinator
  readonly handle: RequestHandler
}

/** Makes the function that accepts a client, from its authentication to the handler of its messages. */
const makeAcceptConnection = Effect.fnUntraced(function* ({ connections, coordinator, handle }: AcceptParts) {
  const authenticator = yield* Authenticator
  const registry = yield* OfficeRegistry
  const membershipObservers = yield* MembershipObservers
  const servedLines = yield* ServedLines
  const { admit, credentialRejection } = yield* makeAdmission(connections)

  return Effect.fnUntraced(
    function* (
      link: Link,
      handshake: Handshake,
      known?: Identity
    ): Effect.fn.Return<MessageHandler, AdmissionRejected, Scope.Scope> {
      const sid = link.id
      yield* connections.reserve(link, coordinator.disconnect)
      const line = lineForVersion(handshake.version, servedLines)
      const { identity, role } = yield* admit(handshake, line, known)
      const version = formatVersion(handshake.version)
      const reconnectKey = reconnectKeyOf(identity.subject, handshake.auth)
      const isPersonal = authenticator.requiresCredentials && identity.isShared !== true
      const subject = isPersonal ? identity.subject : ""
      const registration = yield* registry.connect({ sid, version, role, reconnectKey, subject })
      const connection = connections.open({
        link,
        line,
        identity,
        registration,
        isOperator: known !== undefined,
        features: parseMemberFeatures(handshake.auth)
      })
      // Credentials that expire or are revoked during the admission have not closed the connection.
      yield* credentialRejection(connection) ?? Effect.void
      yield* Effect.logDebug("connection accepted", { sid, version, subject: identity.subject })
      return (event, body) => handle({ connection, event, definition: line.findEventDefinition(event), body })
    },
    (accepting, { id: sid }, { remoteAddress }) =>
      Effect.tapError(accepting, ({ code, message: reason }) => {
        for (const observe of membershipObservers)
          observe({ _tag: "ConnectionRejected", sid, remoteAddress, code, reason })
        return Effect.logWarning("connection rejected", { sid, remoteAddress, code, reason })
      })
  )
})

const make = Effect.gen(function* () {
  const transport = yield* TransportServer
  const metrics = yield* ServerMetrics
  const nodeLink = yield* NodeLink
  const readiness = yield* Readiness
  const registry = yield* OfficeRegistry
  const servedLines = yield* ServedLines
  const connections = yield* makeConnections
  const requestBudget = yield* makeRequestBudget
  const inFlightCalls = yield* makeInFlightCalls(requestBudget)
  const nodes = yield* makeClusterNodes(connections)
  const notifications = yield* makeNotifications(connections)
  const coordinator = yield* makeMembershipCoordinator({ connections, inFlightCalls, notifications })
  const route = yield* makeRouting({ connections, inFlightCalls, nodes, notifications })
  const forwardCallStatus = yield* makeCallStatusForwarding(connections)
  const handler = yield* makeClientRequestHandler({ coordinator, forwardCallStatus, notifications, route })
  const handle = yield* guardInbound({ connections, requestBudget }, handler)
  const acceptConnection = yield* makeAcceptConnection({ connections, coordinator, handle })

  const gauges: ReadonlyArray<Gauge> = [
    { name: "connections", read: connections.size },
    { name: "calls_in_flight", read: inFlightCalls.size },
    { name: "backlog_bytes", read: connections.totalBacklogBytes },
    { name: "request_bytes", read: requestBudget.totalBytes },
    ...memoryLimitGauges(yield* Limits),
    { name: "nodes", read: () => registry.state().nodes.length },
    { name: "registry_up", read: () => (registry.state().available ? 1 : 0) },
    { name: "registry_sessions", read: () => registry.state().sessions },
    { name: "registry_offices", read: () => registry.state().offices }
  ]
  yield* Effect.forEach(gauges, metrics.gauge, { discard: true })
  readiness.registerComponent("registry", () =>
    registry.state().available ? undefined : "the shared registry cannot be reached: no member can join"
  )
  yield* startIdleReaper(connections, notifications)
  // Its own scope, closed after the finalizer below has run: the transport serves during the graceful shutdown.
  const listenScope = yield* Scope.fork(yield* Effect.scope)
  const accept = (link: Link, handshake: Handshake) => acceptConnection(link, handshake)
  const { url } = yield* Scope.provide(transport.serve(accept, connections.onBacklogChange), listenScope)
  readiness.setState({ _tag: "Ready" })
  const shutDown = Effect.provideContext(
    shutDownGracefully(connections, inFlightCalls),
    yield* Effect.context<NodeLink | Readiness>()
  )
  yield* Effect.addFinalizer(() => shutDown)
  // Detached first: the streams of operators end when the shutdown begins.
  const watch = yield* Effect.serviceOption(OfficeWatch)
  if (Option.isSome(watch)) {
    const parts = { connections, nodes, notifications, nodeLink, readiness, registry, servedLines, acceptConnection }
    yield* watch.value.attach(parts)
  }
  return Server.of({
    url,
    draining: readiness.isDraining,
    load: () => {
      const { offices, sessions } = registry.state()
      return { connections: connections.size(), sessions, offices, calls: inFlightCalls.size() }
    }
  })
})
