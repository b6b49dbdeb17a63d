import { Context, Effect, Layer, Logger, Option, References } from "effect"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import { type NodeTransport, type Link, notifyUsing } from "../../../src/application/ports/Transport.ts"
import { NodeLink } from "../../../src/application/server/nodes/NodeLink.ts"
import { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { makeConnections } from "../../../src/application/server/connections/Connections.ts"
import { Limits, ServerSettings } from "../../../src/application/server/Limits.ts"
import { makeRequestBudget, makeInFlightCalls } from "../../../src/application/server/connections/InFlightCalls.ts"
import { makeNotifications } from "../../../src/application/server/membership/Notifications.ts"
import { Observability } from "../../../src/application/server/observability/Observability.ts"
import {
  CallObservers,
  CallStatusObservers,
  type CompletedCall,
  type StartedCall
} from "../../../src/application/server/observability/observers.ts"
import { Readiness } from "../../../src/application/server/observability/Readiness.ts"
import { noMetrics, ServerMetrics } from "../../../src/application/server/observability/ServerMetrics.ts"
import type { ClientRequest } from "../../../src/application/server/routing/ClientRequest.ts"
import { allGrants } from "../../../src/domain/model/Identity.ts"
import type { Role } from "../../../src/domain/model/Membership.ts"
import { unlimitedCapacity } from "../../../src/domain/office/decideMembership.ts"
import { lineForVersion } from "../../../src/domain/wire/lines.ts"

/** A link with a backlog that a test sets. Records its notifications and the reasons of its closes. */
export const makeLink = (id: string, given: Partial<Link> = {}) => {
  const closed: Array<string> = []
  const sent: Array<{ readonly event: string; readonly body: Body }> = []
  let backlog = 0
  const post: Link["post"] = (event, body) => {
    sent.push({ event, body })
    return undefined
  }
  const link: Link = {
    id,
    startRequest: () => () => undefined,
    request: () => Effect.never,
    notify: notifyUsing(post),
    post,
    maxBytes: () => 1000,
    fits: () => true,
    backlog: () => backlog,
    sentBytes: () => 0,
    pauseReading: () => undefined,
    closed: Effect.never,
    close: (reason) => Effect.sync(() => void closed.push(reason)),
    ...given
  }
  return { link, closed, sent, setBacklog: (bytes: number) => void (backlog = bytes) }
}

/** Metrics that record the names of exceeded limits and the kinds of dropped messages. */
export const recordMetrics = () => {
  const exceeded: Array<string> = []
  const dropped: Array<string> = []
  const metrics: ServerMetrics["Service"] = {
    ...noMetrics,
    limitExceeded: (limit) => void exceeded.push(limit),
    dropped: (kind) => void dropped.push(kind)
  }
  return { exceeded, dropped, metrics }
}

/** A call that has ended. */
export const completedCall = (given: Partial<CompletedCall> = {}): CompletedCall => ({
  serial: 1,
  event: "client:tool_call",
  sid: "sid-1",
  agent: { office: "O1", role: "agent", name: "agent-1" },
  line: "0.2",
  subject: "subject-1",
  computer: "pc-1",
  reqId: "request-1",
  request: jsonBody({}),
  outcome: jsonBody({ content: [] }),
  startedAt: 1000,
  endedAt: 2000,
  ...given
})

/** The level, the message and the fields of every log entry, for effects with the layer. */
export const recordLogs = () => {
  const entries: Array<ReadonlyArray<unknown>> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => void entries.push([logLevel, message].flat()))
  const layer = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "All"))
  return { entries, layer }
}

/** A cluster in memory, of whose registry a test replaces functions. */
export const clusterWith = (
  adapt: (registry: OfficeRegistry["Service"]) => Partial<OfficeRegistry["Service"]>,
  cluster: Layer.Layer<OfficeRegistry | NodeTransport> = MemoryCluster.layer
) =>
  Layer.effect(
    OfficeRegistry,
    Effect.map(OfficeRegistry, (registry) => ({ ...registry, ...adapt(registry) }))
  ).pipe(Layer.provideMerge(cluster))

interface Given {
  readonly limits?: Partial<Limits>
  readonly metrics?: ServerMetrics["Service"]
  readonly settings?: ServerSettings
  readonly authenticator?: Authenticator["Service"]
  readonly callObservers?: ReadonlyArray<(call: CompletedCall) => void>
  readonly callStatusObservers?: ReadonlyArray<(describe: () => StartedCall) => void>
}

interface Cluster {
  readonly registry: OfficeRegistry["Service"]
  readonly nodeLink: NodeLink["Service"]
}

/**
 * The parts of a Server without a transport, for the only node of a cluster in memory by default. `adapt` replaces services
 * of the cluster. `provide` gives the services to other parts.
 */
export const makeParts = Effect.fnUntraced(function* (
  given: Given = {},
  adapt: (cluster: Cluster) => Partial<Cluster> = () => ({}),
  cluster: Layer.Layer<OfficeRegistry | NodeTransport> = MemoryCluster.layer
) {
  const built = yield* Layer.build(
    Layer.fresh(
      Layer.mergeAll(Layer.provideMerge(NodeLink.layer, cluster), Observability.layerNone, Authenticator.layerAllowAll)
    )
  )
  const inMemory = { registry: Context.get(built, OfficeRegistry), nodeLink: Context.get(built, NodeLink) }
  const { nodeLink, registry } = { ...inMemory, ...adapt(inMemory) }
  const limits = { ...Limits.defaultValue(), ...given.limits }
  const services = built.pipe(
    Context.add(OfficeRegistry, registry),
    Context.add(NodeLink, nodeLink),
    Context.add(Limits, limits),
    Context.add(ServerMetrics, given.metrics ?? Context.get(built, ServerMetrics)),
    Context.add(Authenticator, given.authenticator ?? Context.get(built, Authenticator)),
    Context.add(ServerSettings, given.settings ?? ServerSettings.defaultValue()),
    Context.add(CallObservers, given.callObservers ?? []),
    Context.add(CallStatusObservers, given.callStatusObservers ?? [])
  )
  const provide = Effect.provideContext(services)
  const connections = yield* provide(makeConnections)
  const requestBudget = yield* provide(makeRequestBudget)
  const open = Effect.fnUntraced(function* (link: Link, disconnect = registry.disconnect) {
    yield* connections.reserve(link, disconnect)
    const session = { sid: link.id, version: "0.2.0", role: Option.none(), reconnectKey: "", subject: "" }
    return connections.open({
      link,
      line: lineForVersion({ major: 0, minor: 2, patch: 0 }),
      identity: { subject: `subject of ${link.id}`, grants: allGrants, expiresAt: undefined },
      registration: yield* registry.connect(session)
    })
  })
  return {
    provide,
    nodeLink,
    registry,
    readiness: Context.get(built, Readiness),
    limits,
    connections,
    requestBudget,
    inFlightCalls: yield* provide(makeInFlightCalls(requestBudget)),
    notifications: yield* provide(makeNotifications(connections)),
    /** Opens the connection of a link that is in no office. `disconnect` removes its session with the scope. */
    open
  }
})

type Parts = Effect.Success<ReturnType<typeof makeParts>>
type Open = Effect.Success<ReturnType<Parts["open"]>>

/** A message of a client; `value` is its body. */
export const makeRequest = (connection: Open, event: string, value: unknown): ClientRequest => ({
  connection,
  event,
  definition: connection.line.findEventDefinition(event),
  body: jsonBody(value)
})

/** Opens the connection of a link that joins the office `O` under the id of the link. */
export const openMember = Effect.fnUntraced(function* ({ open, registry }: Parts, link: Link, role: Role) {
  const connection = yield* open(link)
  const membership = { office: "O", role, name: link.id }
  yield* registry.apply({ _tag: "Join", sid: link.id, ...membership }, unlimitedCapacity)
  return connection
})
