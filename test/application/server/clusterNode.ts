import { Context, Duration, Effect, Exit, Layer, Result, Scope } from "effect"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { type NodeTransport, TransportClient } from "../../../src/application/ports/Transport.ts"
import type { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { Limits, ServerSettings } from "../../../src/application/server/Limits.ts"
import { Readiness } from "../../../src/application/server/observability/Readiness.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { noMetrics, ServerMetrics } from "../../../src/application/server/observability/ServerMetrics.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import type { Role } from "../../../src/domain/model/Membership.ts"
import { PROTOCOL_VERSION } from "../../../src/domain/wire/lines.ts"

export interface MemberOptions {
  readonly office?: string
  readonly auth?: JsonObject
  readonly version?: string
  /** The reply to each request; none without it. */
  readonly answer?: (event: string, value: unknown) => Effect.Effect<unknown>
}

/** Connects a raw member that joins no office, and records what it receives. */
export const connectMember = Effect.fnUntraced(function* (
  transport: TransportClient["Service"],
  role: Role,
  { answer, auth = {}, version = PROTOCOL_VERSION }: MemberOptions
) {
  const received: Array<{ readonly event: string; readonly value: unknown }> = []
  const scope = yield* Scope.fork(yield* Effect.scope)
  const link = yield* transport
    .connect({
      version,
      auth: { role, ...auth },
      onMessage: (event, body) => {
        const value = Result.getOrElse(body.value(), ({ message }) => message)
        received.push({ event, value })
        return /^(client|a2c):/.test(event) && answer !== undefined
          ? Effect.map(answer(event, value), (reply) => [jsonBody(reply)])
          : Effect.succeed([])
      }
    })
    .pipe(Scope.provide(scope))
  return {
    link,
    sid: link.id,
    received,
    closed: link.closed,
    close: Scope.close(scope, Exit.void),
    /** Sends a request and gives the first value of its reply. */
    request: (event: string, body: object): Effect.Effect<unknown> =>
      link.request(event, jsonBody(body), Duration.hours(1)).pipe(
        Effect.map(([first]) => first && Result.getOrElse(first.value(), ({ message }) => message)),
        Effect.orElseSucceed(() => "no reply")
      ),
    notify: (event: string, body: object): Effect.Effect<void> => Effect.ignore(link.notify(event, jsonBody(body)))
  }
})

export type Member = Effect.Success<ReturnType<typeof connectMember>>

/** Connects a raw member that joins an office, `O` by default. */
export const joinMember = Effect.fnUntraced(function* (
  transport: TransportClient["Service"],
  role: Role,
  name: string,
  options: MemberOptions = {}
) {
  const member = yield* connectMember(transport, role, options)
  yield* member.request("server:join_office", { role, name, office_id: options.office ?? "O" })
  return member
})

interface NodeOptions {
  readonly limits?: Partial<Limits>
  readonly settings?: Partial<ServerSettings>
  readonly metrics?: ServerMetrics["Service"]
  /** Adapts the node's registry or its links to other nodes. */
  readonly adapt?: (node: Layer.Layer<OfficeRegistry | NodeTransport>) => Layer.Layer<OfficeRegistry | NodeTransport>
}

/** Runs a Server of a cluster in memory, and gives constructors for its members. */
export const startNode = Effect.fnUntraced(function* (
  cluster: MemoryCluster.MemoryCluster,
  name: string,
  { adapt = (node) => node, limits, metrics = noMetrics, settings }: NodeOptions = {}
) {
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(MemoryTransport.layer({ idPrefix: name })),
    Layer.provide(adapt(MemoryCluster.layerNode(cluster, name))),
    Layer.provide(Layer.succeed(Limits, { ...Limits.defaultValue(), ...limits })),
    Layer.provide(Layer.succeed(ServerSettings, { ...ServerSettings.defaultValue(), ...settings })),
    Layer.provide([Layer.succeed(ServerMetrics, metrics), Authenticator.layerAllowAll, Readiness.layer]),
    Layer.fresh,
    Layer.build
  )
  const transport = Context.get(context, TransportClient)
  return {
    load: Context.get(context, Server).load,
    connect: (role: Role, options: MemberOptions = {}) => connectMember(transport, role, options),
    agent: (name: string, options?: MemberOptions) => joinMember(transport, "agent", name, options),
    computer: (name: string, options?: MemberOptions) => joinMember(transport, "computer", name, options)
  }
})
