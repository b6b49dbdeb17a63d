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
import { comingBack, waitAfter } from "../backOff.ts"
import type { ByteConnector } from "../ports/ByteLink.ts"
import type { McpFailure, McpSession } from "../ports/McpSession.ts"
import type { DeviceRefused } from "./Authentication.ts"
import { type DeviceLimits, usualLimits } from "./DeviceLimits.ts"
import { offerServices } from "./OfferedServices.ts"
import { serveServer } from "./ServerConnection.ts"

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
  readonly heartbeat?: Duration.Duration
}

/** Where a device stands. `Ended` is final: trying again would not help. */
export type DeviceStatus =
  | { readonly _tag: "Connecting" }
  | { readonly _tag: "Registered"; readonly services: number }
  | { readonly _tag: "Lost"; readonly reason: string }
  | { readonly _tag: "Ended"; readonly error: DeviceRefused | McpFailure }

/** Models behind a device server have more patience than those behind a gateway of ours need. */
const usualClientLimits: DeviceLimits = { ...usualLimits, mostCalls: 32, callTimeout: Duration.minutes(5) }

/** A connection that lasted so long was a good one: waits begin anew after it. */
const stableAfter = Duration.minutes(1)

/**
 * Connects any session with a device server for as long as the scope: its tools are registered as services, again
 * whenever they change and whenever the connection had to be opened again, and called by the server. Gives where the
 * device stands, now and after every change.
 */
export const connectDevice = Effect.fnUntraced(function* (
  session: McpSession,
  { heartbeat = Duration.minutes(1), limits: given, ...place }: DeviceClientOptions
): Effect.fn.Return<Stream.Stream<DeviceStatus>, never, Scope.Scope | ByteConnector> {
  const limits = { ...usualClientLimits, ...given }
  const services = yield* offerServices(session, limits.callTimeout)
  const status = yield* SubscriptionRef.make<DeviceStatus>({ _tag: "Connecting" })
  const say = (next: DeviceStatus) => SubscriptionRef.set(status, next)
  const facts = { server: `${place.host}:${place.port}` }
  const connection = serveServer({
    ...place,
    limits,
    heartbeat,
    services,
    onRegistered: (count) => say({ _tag: "Registered", services: count })
  })

  const stay = Effect.gen(function* () {
    let attempt = 1
    while (true) {
      const since = yield* Clock.currentTimeMillis
      const outcome = yield* Effect.result(Effect.scoped(connection))
      if (Result.isFailure(outcome)) {
        yield* Effect.logError("the device may not come back", { ...facts, reason: outcome.failure.message })
        return yield* say({ _tag: "Ended", error: outcome.failure })
      }
      const reason = outcome.success
      yield* say({ _tag: "Lost", reason })
      const lasted = (yield* Clock.currentTimeMillis) - since
      if (lasted >= Duration.toMillis(stableAfter)) attempt = 1
      const wait = yield* waitAfter(comingBack, attempt++)
      yield* Effect.logWarning("no connection with the device server, trying again", {
        ...facts,
        reason,
        seconds: Duration.toSeconds(wait)
      })
      yield* Effect.sleep(wait)
      yield* say({ _tag: "Connecting" })
    }
  })
  const over = Effect.flatMap(session.ended, (error) => say({ _tag: "Ended", error }))
  yield* Effect.forkScoped(Effect.raceFirst(stay, over))
  return SubscriptionRef.changes(status)
})
