import { Clock, Deferred, Duration, Effect, Exit, Result, Scope } from "effect"
import { parseCredentials, parseStatus } from "../../../domain/devices/handshake.ts"
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import { isExhausted, newViolationBudget, recordViolation } from "../../../domain/devices/ViolationBudget.ts"
import { decodeUtf8Lossy } from "../../../domain/utf8.ts"
import type { ByteLink } from "../../ports/ByteLink.ts"
import type { BufferLimit } from "../../shared/BufferLimit.ts"
import type { AuthenticateDevice } from "../AuthenticateDevice.ts"
import type { GatewayLimits } from "../DeviceLimits.ts"
import { type FrameLink, makeFrameLink } from "../FrameLink.ts"
import type { AuthThrottle } from "../../shared/AuthThrottle.ts"
import type { ParamsCheck } from "../../shared/paramsCheck.ts"
import { makeDeviceCalls, makeFaultLog } from "./DeviceCalls.ts"
import { makeMessageHandler } from "./deviceMessageHandler.ts"
import type { DeviceEntry, DeviceRegistry } from "./DeviceRegistry.ts"

/** Handles frames other than MCP messages, such as the voice and text of a dialogue. */
export type OnDeviceFrame = (
  device: string,
  frame: Frame,
  reply: (frame: Frame) => Effect.Effect<void>
) => Effect.Effect<void>

/** Parts that all connections of a gateway share. */
export interface GatewayContext {
  readonly registry: DeviceRegistry
  readonly limits: GatewayLimits
  /** Undefined when the gateway admits every device. */
  readonly authenticate: AuthenticateDevice | "allowAll"
  readonly acknowledgeRegistration: boolean
  readonly onFrame: OnDeviceFrame | undefined
  readonly authThrottle: AuthThrottle
  /** Limits the frames that devices have not read, or have sent in part. */
  readonly checkParams: ParamsCheck
  readonly buffers: BufferLimit<BufferedConnection>
}

/** A connection with its buffers. */
export interface BufferedConnection {
  readonly link: FrameLink
  readonly closeForBuffers: () => void
}

interface Closing {
  readonly reason: string
  /** Kind of the status that tells the device; the gateway sends none when absent. */
  readonly statusKind?: "ERROR" | "REPLACED"
}

/** Each reason is a code for logs, and a sentence that explains it to the device. */
const closings = {
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

/** True for a name that can be part of a tool's name: 1 to 64 visible characters, no spaces at the ends. */
export const isValidDeviceName = (name: string): boolean => /^\P{C}{1,64}$/u.test(name) && name.trim() === name

type DeviceState = Effect.Success<ReturnType<typeof makeDeviceState>>

/** Makes the state of one connection: its device once it is admitted, its violations, and why it closes. */
const makeDeviceState = Effect.fnUntraced(function* (
  { authThrottle, checkParams, limits, registry }: GatewayContext,
  { remoteAddress }: ByteLink,
  link: FrameLink,
  /** Holds a slot of the throttle until the device is authenticated. */
  pendingAuth: Scope.Closeable
) {
  const closed = yield* Deferred.make<Closing>()
  const close = (closing: Closing): void => void Deferred.doneUnsafe(closed, Exit.succeed(closing))
  let violations = newViolationBudget(yield* Clock.currentTimeMillis)
  let admitted: DeviceEntry | undefined

  return {
    close,
    closed: Deferred.await(closed),
    admitted: () => admitted,
    /** Counts a rejection, and logs it until the throttle blocks the address. */
    onRejected: Effect.fnUntraced(function* (reason: string) {
      const now = yield* Clock.currentTimeMillis
      if (!authThrottle.isBlocked(remoteAddress, now))
        yield* Effect.logInfo("device rejected", { remoteAddress, reason })
      authThrottle.recordRejection(remoteAddress, now)
    }),
    onViolation: Effect.fnUntraced(function* (violation: string, reason: string, size = 0) {
      const device = admitted?.device.name
      yield* Effect.logDebug("device violation", { device, remoteAddress, violation, reason })
      admitted?.faults.record(`${violation}: ${reason}`)
      violations = recordViolation(violations, yield* Clock.currentTimeMillis, violation, size)
      if (isExhausted(violations)) close(closings.violations)
    }),
    admit: Effect.fnUntraced(function* (requestedName: string | undefined) {
      const trimmed = requestedName?.trim() ?? ""
      const name = isValidDeviceName(trimmed) ? trimmed : registry.nextFreeName()
      const faults = makeFaultLog(yield* Clock.Clock)
      const entry: DeviceEntry = {
        device: { name, remoteAddress, connectedAt: yield* Clock.currentTimeMillis, services: new Map() },
        calls: yield* makeDeviceCalls(name, link, limits, { check: checkParams, faults }),
        faults,
        evict: () => close(closings.takeover)
      }
      admitted = entry
      yield* Scope.close(pendingAuth, Exit.void)
      yield* Effect.addFinalizer(() => {
        entry.calls.failAll("the gateway closes")
        return registry.remove(entry)
      })
      yield* registry.add(entry)
      return entry
    })
  }
})

/** Makes the function that authenticates a device, and tells whether it has presented a token. */
const makeAuthentication = (
  { authenticate, authThrottle }: GatewayContext,
  { remoteAddress }: ByteLink,
  link: FrameLink,
  { admit, admitted, close, onRejected }: DeviceState
) => {
  /** Stops the authentication timeout: the device does not answer for the time that the check takes. */
  let hasPresentedToken = false
  const onAuth = Effect.fnUntraced(function* (payload: Uint8Array) {
    const entry = admitted()
    if (entry !== undefined) {
      return yield* Effect.logDebug("repeated auth ignored", { device: entry.device.name, remoteAddress })
    }
    // Checked again here: one peer can open many connections before its first rejection.
    if (authThrottle.isBlocked(remoteAddress, yield* Clock.currentTimeMillis)) return close(closings.throttled)
    hasPresentedToken = true
    const credentials = parseCredentials(decodeUtf8Lossy(payload))
    const outcome = yield* Effect.result(
      authenticate === "allowAll"
        ? Effect.succeed<{ readonly name?: string }>({})
        : authenticate({ ...credentials, remoteAddress })
    )
    if (Result.isFailure(outcome)) {
      const { message } = outcome.failure
      yield* onRejected(message)
      yield* link.sendStatus("auth", "ERROR", message)
      return close(closings.rejected)
    }
    yield* admit(outcome.success.name ?? credentials.options.get("name"))
    return yield* link.sendStatus("auth", "INFO", "AUTHENTICATED")
  })
  return { onAuth, hasPresentedToken: () => hasPresentedToken }
}

/** Makes the handler of the frames of one device. */
const makeFrameHandler = (
  context: GatewayContext,
  link: FrameLink,
  { admit, admitted, close, onViolation }: DeviceState,
  onAuth: (payload: Uint8Array) => Effect.Effect<void, never, Scope.Scope>
) => {
  const { authenticate, onFrame } = context
  const handleMessage = makeMessageHandler({ ...context, link, onViolation })

  const onStatus = Effect.fnUntraced(function* (payload: Uint8Array) {
    const { kind } = parseStatus(decodeUtf8Lossy(payload))
    if (kind === "PING") return yield* link.sendStatus("status", "INFO", "PONG")
    if (kind !== "DISCONNECT") return
    const closeLater = Effect.map(Effect.sleep(disconnectTimeout), () => close(closings.disconnected))
    yield* Effect.forkScoped(closeLater, { startImmediately: true })
    yield* link.sendStatus("status", "INFO", "DISCONNECT")
  })

  return Effect.fnUntraced(function* (frame: Frame) {
    if (frame.type === "auth") return yield* onAuth(frame.payload)
    const known = admitted()
    if (known === undefined && authenticate !== "allowAll") {
      return yield* onViolation("unauthenticated", "the first frame must be AUTH")
    }
    const entry = known ?? (yield* admit(undefined))
    const device = entry.device.name
    if (frame.type === "mcp") return yield* handleMessage(entry, frame)
    if (frame.type === "status") yield* onStatus(frame.payload)
    if (onFrame === undefined) return
    yield* Effect.catchCause(
      onFrame(device, frame, (reply) => Effect.ignore(link.send(reply))),
      (cause) => Effect.logError("frame handler failed", { device }, cause)
    )
  })
}

/** Gives the reason to close a connection that receives nothing for too long. */
const awaitIdle = Effect.fnUntraced(function* (link: FrameLink, limits: GatewayLimits) {
  const idleMillis = Duration.toMillis(limits.idleTimeout)
  while (true) {
    const left = link.lastReceivedAt() + idleMillis - (yield* Clock.currentTimeMillis)
    if (left <= 0) return closings.idleTimeout
    yield* Effect.sleep(Duration.millis(left))
  }
})

/** Serves one device until it disconnects or the gateway closes the connection. */
export const serveDevice = Effect.fnUntraced(function* (
  bytes: ByteLink,
  context: GatewayContext
): Effect.fn.Return<void, never, Scope.Scope> {
  const { authenticate, authThrottle, buffers, limits } = context
  const { remoteAddress } = bytes
  const link: FrameLink = yield* makeFrameLink(bytes, limits, () => buffers.update(buffered))
  const buffered: BufferedConnection = { link, closeForBuffers: () => state.close(closings.buffers) }
  yield* Effect.addFinalizer(() => Effect.sync(() => buffers.remove(buffered)))
  if (authThrottle.isBlocked(remoteAddress, yield* Clock.currentTimeMillis)) {
    return yield* Effect.logDebug("device throttled", { remoteAddress })
  }
  const scope = yield* Effect.scope
  const pendingAuth = yield* Scope.fork(scope)
  const state: DeviceState = yield* makeDeviceState(context, bytes, link, pendingAuth)
  if (authenticate !== "allowAll") {
    if (!authThrottle.acquirePending(remoteAddress)) {
      return yield* Effect.logDebug("too many unauthenticated connections", { remoteAddress })
    }
    const releasePending = Effect.sync(() => authThrottle.releasePending(remoteAddress))
    yield* Scope.addFinalizer(pendingAuth, releasePending)
  }
  const { hasPresentedToken, onAuth } = makeAuthentication(context, bytes, link, state)
  const handleFrame = makeFrameHandler(context, link, state, onAuth)
  const authTimeout = Effect.gen(function* () {
    if (authenticate === "allowAll") return yield* Effect.never
    yield* Effect.sleep(limits.authTimeout)
    return hasPresentedToken() ? yield* Effect.never : closings.authTimeout
  })

  const { statusKind, reason } = yield* Effect.raceAllFirst<Effect.Effect<Closing, never, Scope.Scope>>([
    link
      .receive({
        onFrame: (frame) => Scope.provide(handleFrame(frame), scope),
        onInvalid: (violation, size) => state.onViolation(violation, "invalid frame", size)
      })
      .pipe(Effect.map((linkReason) => ({ reason: linkReason }))),
    state.closed,
    awaitIdle(link, limits),
    authTimeout
  ])
  const entry = state.admitted()
  if (entry === undefined) {
    // A rejected token has been counted already; it closes the connection without a status.
    if (statusKind !== undefined && authenticate !== "allowAll") yield* state.onRejected(reason)
    yield* Effect.logDebug("unauthenticated connection closed", { remoteAddress, reason })
  } else {
    entry.calls.failAll(reason)
    yield* Effect.logInfo("device disconnected", { device: entry.device.name, remoteAddress, reason })
  }
  if (statusKind !== undefined) yield* link.sendStatus("status", statusKind, reason)
}, Effect.scoped)
