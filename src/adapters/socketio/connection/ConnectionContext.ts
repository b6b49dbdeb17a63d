import { Effect, FiberSet, Layer } from "effect"
import { TransportServer } from "../../../application/ports/Transport.ts"
import { type BufferLimit, makeBufferLimit } from "../../../application/shared/BufferLimit.ts"
import { Limits } from "../../../application/server/Limits.ts"
import { ServerMetrics } from "../../../application/server/observability/ServerMetrics.ts"
import {
  connectTimeout,
  defaultMaxMessageBytes,
  defaultNamespace,
  defaultValidateBytes,
  maxExcessConnections
} from "../limits.ts"
import { closeLink } from "../../bytes/MessageLink.ts"
import { Deadlines } from "./Deadlines.ts"
import type { PacketLimits } from "./parsePacket.ts"
import type { ServerLinkContext, ServerLink } from "./OutboundMessage.ts"
import type { Traffic } from "./Traffic.ts"

type Serve = TransportServer["Service"]["serve"]

/** The metrics of a Server, and the arguments of the transport's `serve`. */
export type ServeArguments = [metrics: ServerMetrics["Service"], ...given: Required<Parameters<Serve>>]

export const transportServerLayer = (serve: (...given: ServeArguments) => ReturnType<Serve>) =>
  Layer.effect(
    TransportServer,
    Effect.map(ServerMetrics, (metrics) =>
      TransportServer.of({
        serve: (accept, onBacklogChange = () => undefined) => serve(metrics, accept, onBacklogChange)
      })
    )
  )

export interface MessageOptions {
  /** Namespace of Socket.IO, `/smcp` by default. Members of other implementations use the default. */
  readonly namespace?: string
  /** A larger message gets error 413; a message of more than twice the size closes the connection. */
  readonly maxMessageBytes?: number
  /** Bodies above this many bytes are forwarded with only the head parsed, unless `validate` is set. */
  readonly validateBytes?: number
  readonly validate?: boolean
}

/** A connection as far as limits need it. */
interface OpenConnection {
  /** Approximate memory of the message that has arrived in part. */
  readonly incompleteBytes: () => number
  readonly traffic: Pick<Traffic, "receivedBytes">
  /** Closes a connection that sends a message too slowly. */
  readonly closeIncomplete: (detail: string) => void
  readonly close: () => void
}

/** What the connections of one Server share. */
export interface ConnectionContext extends ServerLinkContext {
  readonly accept: Parameters<Serve>[0]
  /** The engine serves nothing else: connections outside of the namespace are closed in time. */
  readonly isExclusive: boolean
  readonly limits: PacketLimits
  /** Limits the messages that have arrived in part. */
  readonly incompleteMessages: BufferLimit<OpenConnection>
  /** Runs effects for as long as the Server runs. */
  readonly run: (effect: Effect.Effect<void>) => void
  /** Sessions whose scope is open. */
  readonly links: Set<ServerLink>
  /** Connections without an admitted session, with the time until they must send a connect packet. */
  readonly unauthenticated: Deadlines<OpenConnection>
  /** Closes the longest waiting connection when there are too many. */
  readonly limitConnections: (count: number) => void
}

/** Makes the shared state of the connections; the scope closes the sessions after `closeConnections` has run. */
export const makeConnectionContext = Effect.fnUntraced(function* (
  {
    isExclusive = true,
    maxMessageBytes = defaultMaxMessageBytes,
    namespace = defaultNamespace,
    ...options
  }: MessageOptions & { readonly isExclusive?: boolean },
  ...[metrics, accept, onBacklogChange]: ServeArguments
) {
  const { validate = false, validateBytes = defaultValidateBytes } = options
  const { connections: maxConnections, totalIncompleteBytes } = yield* Limits
  const unauthenticated = new Deadlines<OpenConnection>(connectTimeout, (connection) => connection.close())
  yield* Effect.addFinalizer(() => Effect.sync(() => unauthenticated.clear()))
  const context: ConnectionContext = {
    accept,
    isExclusive,
    namespace,
    onBacklogChange,
    incompleteMessages: yield* makeBufferLimit<OpenConnection>(totalIncompleteBytes, {
      heldBytes: (connection) => connection.incompleteBytes(),
      passedBytes: ({ traffic }) => traffic.receivedBytes(),
      close: (connection, detail) => {
        metrics.limitExceeded("totalIncompleteBytes")
        connection.closeIncomplete(detail)
      }
    }),
    limits: { namespace, maxMessageBytes, validateBytes: validate ? Number.POSITIVE_INFINITY : validateBytes },
    run: yield* FiberSet.makeRuntime<never>(),
    runFork: Effect.runForkWith(yield* Effect.context<never>()),
    links: new Set(),
    unauthenticated,
    limitConnections: (count) => {
      if (count <= maxConnections + maxExcessConnections) return
      const oldest = unauthenticated.first()
      if (oldest === undefined) return
      metrics.limitExceeded("connections")
      oldest.close()
    }
  }
  yield* metrics.gauge({ name: "unauthenticated_connections", read: () => unauthenticated.size })
  yield* metrics.gauge({ name: "incomplete_bytes", read: context.incompleteMessages.totalBytes })
  return context
})

/** Ends the sessions when the scope closes; `closeConnections` closes their connections. */
export const closeLinksWithScope = (context: ConnectionContext, closeConnections: () => void) =>
  Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const links = [...context.links]
      yield* Effect.forEach(links, (link) => link.markClosed("server_shutdown"), { discard: true })
      closeConnections()
      yield* Effect.forEach(links, (link) => closeLink(context, link, "server_shutdown"), { discard: true })
    })
  )
