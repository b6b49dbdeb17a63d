import { Clock, Deferred, Duration, Effect, Exit, Result, Scope } from "effect"
import { decodeDeviceMessage, makeDeviceMessage } from "../../../domain/devices/deviceMessages.ts"
import { parseCredentials, parseStatus } from "../../../domain/devices/handshake.ts"
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import { decodeServices, maxNameLength } from "../../../domain/devices/serviceDefinitions.ts"
import { failedOutcome } from "../../../domain/devices/serviceOutcome.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { makeTokenBucket, type RateLimit, takeToken, type TokenBucket } from "../../../domain/tokenBucket.ts"
import { decodeUtf8Lossy } from "../../../domain/utf8.ts"
import type { ByteLink } from "../../ports/ByteLink.ts"
import type { BufferLimit } from "../../shared/BufferLimit.ts"
import type { DeviceGatewayOptions } from "../DeviceGatewayOptions.ts"
import type { GatewayLimits } from "../DeviceLimits.ts"
import { type FrameLink, makeFrameLink } from "../FrameLink.ts"
import type { AuthThrottle } from "../../shared/AuthThrottle.ts"
import type { ParamsCheck } from "../../shared/paramsCheck.ts"
import { makeDeviceCalls } from "./DeviceCalls.ts"
import { type DeviceEntry, type DeviceRegistry, recordFault } from "./DeviceRegistry.ts"

/** Parts that all connections of a gateway share. */
export interface GatewayContext extends Omit<DeviceGatewayOptions, "limits"> {
  readonly registry: DeviceRegistry
  readonly limits: GatewayLimits
  readonly authThrottle: AuthThrottle
  readonly checkParams: ParamsCheck
  /** Limits the frames that devices have not read, or have sent in part. */
  readonly buffers: BufferLimit<DevicePeer>
}

interface Closing {
  readonly reason: string
  /** Kind of the status that tells the device; the gateway sends none when absent. */
  readonly statusKind?: "ERROR" | "REPLACED"
}

/** Each reason is a code for logs, and a sentence that explains it to the device. */
export const closings = {
  violations: {
    reason: "too_many_violations: the device sent too many invalid frames or messages",
    statusKind: "ERROR"
  },
  takeover: { reason: "session_takeover: another connection uses the name of this device", statusKind: "REPLACED" },
  throttled: { reason: "auth_throttled: too many rejected attempts from this address" },
  rejected: { reason: "auth_rejected: authentication failed" },
  authTimeout: { reason: "auth_timeout: the device sent no token in time", statusKind: "ERROR" },
  buffers: { reason: "buffer_limit_exceeded: the devices together read or send too slowly, and this one most" },
  idleTimeout: { reason: "idle_timeout: the device sent nothing for too long", statusKind: "ERROR" },
  disconnected: { reason: "client_disconnect: the device disconnected" }
} satisfies { readonly [name: string]: Closing }

/** How long a device has to close its end after DISCONNECT. */
const disconnectTimeout = "2 seconds"

/** Errors that the reply to one registration has; the rest is counted. */
const maxReportedErrors = 10

/** True for a name that can be part of a tool's name: 1 to 64 visible characters, no spaces at the ends. */
export const isValidDeviceName = (name: string): boolean => /^\P{C}{1,64}$/u.test(name) && name.trim() === name

/** One connection, and its device once that is admitted. */
export interface DevicePeer extends GatewayContext {
  readonly remoteAddress: string
  readonly link: FrameLink
  readonly close: (closing: Closing) => void
  /** Holds a slot of the throttle until the device is authenticated. */
  readonly pendingAuth: Scope.Closeable
  readonly violations: TokenBucket
  admitted?: DeviceEntry
  /** Stops the authentication timeout: the device does not answer for the time that the check takes. */
  hasPresentedToken: boolean
  hasRegistered: boolean
}

/** Counts a rejection, and logs it until the throttle blocks the address. */
const onRejected = Effect.fnUntraced(function* ({ authThrottle, remoteAddress }: DevicePeer, reason: string) {
  const now = yield* Clock.currentTimeMillis
  if (!authThrottle.isBlocked(remoteAddress, now)) yield* Effect.logInfo("device rejected", { remoteAddress, reason })
  authThrottle.recordRejection(remoteAddress, now)
})

/** The points that violations of a device may cost: a hundred at once, and as many in each minute. */
const violationRate: RateLimit = { perSecond: 100 / 60, burst: 100 }

/** A line break after every frame is harmless, so garbage costs little. `bytes` is its size. */
const violationCost = (violation: string, bytes: number): number => {
  if (violation === "garbage") return bytes / (16 * 1024)
  return violation === "too_large" ? 45 : 1
}

const onViolation = Effect.fnUntraced(function* (connection: DevicePeer, violation: string, reason: string, size = 0) {
  const { admitted, close, remoteAddress, violations } = connection
  yield* Effect.logDebug("device violation", { device: admitted?.device.name, remoteAddress, violation, reason })
  if (admitted !== undefined) yield* recordFault(admitted, `${violation}: ${reason}`)
  const wait = takeToken(violations, violationRate, yield* Clock.currentTimeMillis, violationCost(violation, size))
  if (wait > 0) close(closings.violations)
})

const admit = Effect.fnUntraced(function* (connection: DevicePeer, requestedName = "") {
  const { checkParams, close, limits, link, pendingAuth, registry, remoteAddress } = connection
  const trimmed = requestedName.trim()
  const name = isValidDeviceName(trimmed) ? trimmed : registry.nextFreeName()
  const recordFailure = (text: string) => recordFault(entry, text)
  const entry: DeviceEntry = {
    device: { name, remoteAddress, connectedAt: yield* Clock.currentTimeMillis, services: new Map() },
    calls: yield* makeDeviceCalls(name, link, limits, checkParams, recordFailure),
    faults: [],
    evict: () => close(closings.takeover)
  }
  connection.admitted = entry
  yield* Scope.close(pendingAuth, Exit.void)
  yield* Effect.addFinalizer(() => {
    entry.calls.failAll("the gateway closes")
    return registry.remove(entry)
  })
  yield* registry.add(entry)
  return entry
})

const onAuth = Effect.fnUntraced(function* (connection: DevicePeer, payload: Uint8Array) {
  const { admitted, authenticate, authThrottle, close, link, remoteAddress } = connection
  if (admitted !== undefined) {
    return yield* Effect.logDebug("repeated auth ignored", { device: admitted.device.name, remoteAddress })
  }
  // Checked again here: one peer can open many connections before its first rejection.
  if (authThrottle.isBlocked(remoteAddress, yield* Clock.currentTimeMillis)) return close(closings.throttled)
  connection.hasPresentedToken = true
  const credentials = parseCredentials(decodeUtf8Lossy(payload))
  const outcome = yield* Effect.result(
    authenticate === "allowAll"
      ? Effect.succeed<{ readonly name?: string }>({})
      : authenticate({ ...credentials, remoteAddress })
  )
  if (Result.isFailure(outcome)) {
    const { message } = outcome.failure
    yield* onRejected(connection, message)
    yield* link.sendStatus("auth", "ERROR", message)
    return close(closings.rejected)
  }
  yield* admit(connection, outcome.success.name ?? credentials.options.get("name"))
  return yield* link.sendStatus("auth", "INFO", "AUTHENTICATED")
})

const onStatus = Effect.fnUntraced(function* ({ close, link }: DevicePeer, payload: Uint8Array) {
  const { kind } = parseStatus(decodeUtf8Lossy(payload))
  if (kind === "PING") return yield* link.sendStatus("status", "INFO", "PONG")
  if (kind !== "DISCONNECT") return
  const closeLater = Effect.map(Effect.sleep(disconnectTimeout), () => close(closings.disconnected))
  yield* Effect.forkScoped(closeLater, { startImmediately: true })
  yield* link.sendStatus("status", "INFO", "DISCONNECT")
})

const onRegister = Effect.fnUntraced(function* (
  connection: DevicePeer,
  entry: DeviceEntry,
  definitions: JsonObject,
  duplicates: ReadonlyArray<string>
) {
  const { errors: invalidDefinitions, services } = decodeServices(definitions, connection.limits.maxServices)
  const errors = [
    ...invalidDefinitions,
    ...duplicates.map((name) => `${JSON.stringify(name.slice(0, maxNameLength))}: registered more than once`)
  ]
  const omitted = errors.length > maxReportedErrors ? [`and ${errors.length - maxReportedErrors} more`] : []
  const reported = [...errors.slice(0, maxReportedErrors), ...omitted]
  const device = entry.device.name
  if (errors.length > 0) {
    yield* Effect.logWarning("invalid service definitions", { device, errors: reported })
    yield* onViolation(connection, "invalid_registration", `invalid service definitions: ${reported.join("; ")}`)
  }
  if (JSON.stringify([...services]) !== JSON.stringify([...entry.device.services])) {
    yield* connection.registry.updateServices(entry, services)
    // Only the first one: a device may change its services as often as it likes.
    const log = connection.hasRegistered ? Effect.logDebug : Effect.logInfo
    connection.hasRegistered = true
    yield* log("device registered", { device, services: services.size })
  }
  if (connection.acknowledgeRegistration === true)
    yield* Effect.ignore(connection.link.sendMcp(makeDeviceMessage.registered(services.size, reported)))
})

/** Handles an MCP frame of an admitted device: a registration, a result, or a call. */
const onMessage = Effect.fnUntraced(function* (connection: DevicePeer, entry: DeviceEntry, { payload, task }: Frame) {
  const decoded = decodeDeviceMessage(payload)
  if (Result.isFailure(decoded)) return yield* onViolation(connection, "invalid_message", decoded.failure)
  const message = decoded.success
  const device = entry.device.name
  if (message._tag === "Register") {
    return yield* onRegister(connection, entry, message.definitions, message.duplicates)
  }
  if (message._tag === "Call") {
    const outcome = failedOutcome(`The gateway has no service '${message.method}'`)
    return yield* Effect.ignore(connection.link.sendMcp(makeDeviceMessage.result(message.callId, outcome), task))
  }
  if (message._tag !== "Result") return yield* Effect.logDebug("unexpected message", { device, message })
  const { callId, outcome } = message
  if (!entry.calls.complete(callId, outcome)) yield* Effect.logDebug("result for unknown call", { device, callId })
})

const handleFrame = Effect.fnUntraced(function* (connection: DevicePeer, frame: Frame) {
  const { admitted, authenticate, link, onFrame } = connection
  if (frame.type === "auth") return yield* onAuth(connection, frame.payload)
  if (admitted === undefined && authenticate !== "allowAll") {
    return yield* onViolation(connection, "unauthenticated", "the first frame must be AUTH")
  }
  const entry = admitted ?? (yield* admit(connection))
  const device = entry.device.name
  if (frame.type === "mcp") return yield* onMessage(connection, entry, frame)
  if (frame.type === "status") yield* onStatus(connection, frame.payload)
  if (onFrame === undefined) return
  yield* Effect.catchCause(
    onFrame(device, frame, (reply) => Effect.ignore(link.send(reply))),
    (cause) => Effect.logError("frame handler failed", { device }, cause)
  )
})

/** Gives the reason to close a connection that receives nothing for too long. */
const awaitIdle = Effect.fnUntraced(function* ({ limits, link }: DevicePeer) {
  const idleMillis = Duration.toMillis(limits.idleTimeout)
  while (true) {
    const left = link.lastReceivedAt() + idleMillis - (yield* Clock.currentTimeMillis)
    if (left <= 0) return closings.idleTimeout
    yield* Effect.sleep(Duration.millis(left))
  }
})

/** Gives the reason to close a connection without a token. */
const awaitAuthTimeout = Effect.fnUntraced(function* (connection: DevicePeer) {
  if (connection.authenticate === "allowAll") return yield* Effect.never
  yield* Effect.sleep(connection.limits.authTimeout)
  return connection.hasPresentedToken ? yield* Effect.never : closings.authTimeout
})

/** Serves one device until it disconnects or the gateway closes the connection. */
export const serveDevice = Effect.fnUntraced(function* (bytes: ByteLink, context: GatewayContext) {
  const { authenticate, authThrottle, buffers, limits } = context
  const { remoteAddress } = bytes
  const link: FrameLink = yield* makeFrameLink(bytes, limits, () => buffers.update(connection))
  const closed = yield* Deferred.make<Closing>()
  const close = (closing: Closing): void => void Deferred.doneUnsafe(closed, Exit.succeed(closing))
  const now = yield* Clock.currentTimeMillis
  if (authThrottle.isBlocked(remoteAddress, now)) return yield* Effect.logDebug("device throttled", { remoteAddress })
  const scope = yield* Effect.scope
  const pendingAuth = yield* Scope.fork(scope)
  if (authenticate !== "allowAll") {
    if (!authThrottle.acquirePending(remoteAddress)) {
      return yield* Effect.logDebug("too many unauthenticated connections", { remoteAddress })
    }
    const releasePending = Effect.sync(() => authThrottle.releasePending(remoteAddress))
    yield* Scope.addFinalizer(pendingAuth, releasePending)
  }
  const flags = { hasPresentedToken: false, hasRegistered: false }
  const violations = makeTokenBucket(violationRate, now)
  const connection: DevicePeer = { ...context, ...flags, remoteAddress, link, close, pendingAuth, violations }
  yield* Effect.addFinalizer(() => Effect.sync(() => buffers.remove(connection)))

  const received = link.receive({
    onFrame: (frame) => Scope.provide(handleFrame(connection, frame), scope),
    onInvalid: (violation, size) => onViolation(connection, violation, "invalid frame", size)
  })
  const { statusKind, reason } = yield* Effect.raceAllFirst<Effect.Effect<Closing, never, Scope.Scope>>([
    Effect.map(received, (linkReason) => ({ reason: linkReason })),
    Deferred.await(closed),
    awaitIdle(connection),
    awaitAuthTimeout(connection)
  ])
  const { admitted } = connection
  if (admitted === undefined) {
    // A rejected token has been counted already; it closes the connection without a status.
    if (statusKind !== undefined && authenticate !== "allowAll") yield* onRejected(connection, reason)
    yield* Effect.logDebug("unauthenticated connection closed", { remoteAddress, reason })
  } else {
    admitted.calls.failAll(reason)
    yield* Effect.logInfo("device disconnected", { device: admitted.device.name, remoteAddress, reason })
  }
  if (statusKind !== undefined) yield* link.sendStatus("status", statusKind, reason)
}, Effect.scoped)
