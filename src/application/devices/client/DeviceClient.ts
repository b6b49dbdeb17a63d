import { Duration, Effect, Result, type Scope, type Stream, SubscriptionRef } from "effect"
import type { SchemaValidator } from "../../ports/SchemaValidator.ts"
import { reconnectBackoff, backoffDelay } from "../../shared/backoff.ts"
import type { ByteConnector } from "../../ports/ByteLink.ts"
import type { McpSessionError, McpSession } from "../../ports/McpSession.ts"
import type { DeviceRejected } from "../DeviceGatewayOptions.ts"
import { type DeviceLimits, defaultDeviceLimits } from "../DeviceLimits.ts"
import { makeServiceCatalog } from "./ServiceCatalog.ts"
import { type DeviceAddress, serveDeviceServer } from "./DeviceServerConnection.ts"

/** Address of a device server, and identity of the device. */
export interface DeviceClientOptions extends DeviceAddress {
  readonly limits?: Partial<DeviceLimits>
  /** Interval of PING, the keepalive of both ends; 1 minute by default. */
  readonly heartbeatInterval?: Duration.Duration
}

/** Connection status of a device. `Failed` is final: a retry fails again. */
export type DeviceStatus =
  | { readonly _tag: "Connecting" }
  | { readonly _tag: "Registered"; readonly services: number }
  | { readonly _tag: "Disconnected"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly error: DeviceRejected | McpSessionError }

/** Models behind a device server wait longer than those behind a gateway of this package. */
const defaultClientLimits: DeviceLimits = { ...defaultDeviceLimits, maxCalls: 32, callTimeout: Duration.minutes(5) }

/** A connection that lasted this long resets the backoff. */
const stableAfter = Duration.minutes(1)

/**
 * Connects a session to a device server until the scope closes. Registers its tools as services after every connect
 * and every change, and calls them for the server. Reconnects with backoff. Returns the status: the current one, then
 * every change.
 */
export const connectDevice = Effect.fnUntraced(function* (
  session: McpSession,
  { heartbeatInterval = Duration.minutes(1), limits: limitOverrides, ...address }: DeviceClientOptions
): Effect.fn.Return<Stream.Stream<DeviceStatus>, never, Scope.Scope | ByteConnector | SchemaValidator> {
  const limits = { ...defaultClientLimits, ...limitOverrides }
  const services = yield* makeServiceCatalog(session, limits.callTimeout)
  const status = yield* SubscriptionRef.make<DeviceStatus>({ _tag: "Connecting" })
  const setStatus = (next: DeviceStatus) => SubscriptionRef.set(status, next)
  const logFields = { server: `${address.host}:${address.port}` }
  const connection = serveDeviceServer({
    ...address,
    limits,
    heartbeatInterval,
    services,
    onRegistered: (count) => setStatus({ _tag: "Registered", services: count })
  })

  const reconnectLoop = Effect.gen(function* () {
    let attempt = 1
    while (true) {
      const [connectedFor, outcome] = yield* Effect.timed(Effect.result(Effect.scoped(connection)))
      if (Result.isFailure(outcome)) {
        const error = outcome.failure
        yield* Effect.logError("device rejected", { ...logFields, reason: error.message })
        return yield* setStatus({ _tag: "Failed", error })
      }
      const reason = outcome.success
      yield* setStatus({ _tag: "Disconnected", reason })
      if (Duration.isGreaterThanOrEqualTo(connectedFor, stableAfter)) attempt = 1
      const delay = yield* backoffDelay(reconnectBackoff, attempt++)
      const delaySeconds = Duration.toSeconds(delay)
      yield* Effect.logWarning("device disconnected, reconnecting", { ...logFields, reason, delaySeconds })
      yield* Effect.sleep(delay)
      yield* setStatus({ _tag: "Connecting" })
    }
  })
  const sessionEnded = Effect.flatMap(session.closed, (error) => setStatus({ _tag: "Failed", error }))
  yield* Effect.forkScoped(Effect.raceFirst(reconnectLoop, sessionEnded))
  return SubscriptionRef.changes(status)
})
