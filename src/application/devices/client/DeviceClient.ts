import {
  Clock,
  Duration,
  Effect,
  type Redacted,
  Result,
  type Scope,
  type Stream,
  SubscriptionRef
} from "effect"
import { reconnectBackoff, backoffDelay } from "../../shared/backoff.ts"
import type { ByteConnector } from "../../ports/ByteLink.ts"
import type { McpSessionError, McpSession } from "../../ports/McpSession.ts"
import type { DeviceRejected } from "../AuthenticateDevice.ts"
import { type DeviceLimits, defaultDeviceLimits } from "../DeviceLimits.ts"
import { makeServiceCatalog } from "./ServiceCatalog.ts"
import { serveDeviceServer } from "./DeviceServerConnection.ts"

/** Where a device server is, and who connects. */
export interface DeviceClientOptions {
  readonly host: string
  readonly port: number
  /** What the server asks for; nothing is shown unless set. It may not hold `##`. */
  readonly token?: Redacted.Redacted
  /** The name to go by; the server gives one unless set. It may not hold `##`. */
  readonly name?: string
  readonly limits?: Partial<DeviceLimits>
  /** How often the server is greeted, so that neither end takes the other for gone; a minute unless set. */
  readonly heartbeatInterval?: Duration.Duration
}

/** Where a device stands. `Ended` is final: trying again would not help. */
export type DeviceStatus =
  | { readonly _tag: "Connecting" }
  | { readonly _tag: "Registered"; readonly services: number }
  | { readonly _tag: "Lost"; readonly reason: string }
  | { readonly _tag: "Ended"; readonly error: DeviceRejected | McpSessionError }

/** Models behind a device server have more patience than those behind a gateway of ours need. */
const defaultClientLimits: DeviceLimits = {
  ...defaultDeviceLimits,
  maxCalls: 32,
  callTimeout: Duration.minutes(5)
}

/** A connection that lasted so long was a good one: waits begin anew after it. */
const stableAfter = Duration.minutes(1)

/**
 * Connects any session with a device server for as long as the scope: its tools are registered as services, again
 * whenever they change and whenever the connection had to be opened again, and called by the server. Gives where the
 * device stands, now and after every change.
 */
export const connectDevice = Effect.fnUntraced(function* (
  session: McpSession,
  { heartbeatInterval = Duration.minutes(1), limits: limitOverrides, ...address }: DeviceClientOptions
): Effect.fn.Return<Stream.Stream<DeviceStatus>, never, Scope.Scope | ByteConnector> {
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
      const connectedAt = yield* Clock.currentTimeMillis
      const outcome = yield* Effect.result(Effect.scoped(connection))
      if (Result.isFailure(outcome)) {
        yield* Effect.logError("the device may not come back", {
          ...logFields,
          reason: outcome.failure.message
        })
        return yield* setStatus({ _tag: "Ended", error: outcome.failure })
      }
      const reason = outcome.success
      yield* setStatus({ _tag: "Lost", reason })
      const connectedFor = (yield* Clock.currentTimeMillis) - connectedAt
      if (connectedFor >= Duration.toMillis(stableAfter)) attempt = 1
      const delay = yield* backoffDelay(reconnectBackoff, attempt++)
      yield* Effect.logWarning("no connection with the device server, trying again", {
        ...logFields,
        reason,
        seconds: Duration.toSeconds(delay)
      })
      yield* Effect.sleep(delay)
      yield* setStatus({ _tag: "Connecting" })
    }
  })
  const sessionEnded = Effect.flatMap(session.closed, (error) => setStatus({ _tag: "Ended", error }))
  yield* Effect.forkScoped(Effect.raceFirst(reconnectLoop, sessionEnded))
  return SubscriptionRef.changes(status)
})
