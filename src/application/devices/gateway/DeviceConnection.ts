import { Clock, Deferred, Duration, Effect, Exit, Ref, Result, Scope } from "effect"
import { parseCredentials, parseStatus } from "../../../domain/devices/handshake.ts"
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import { isExhausted, newViolationBudget, recordViolation } from "../../../domain/devices/ViolationBudget.ts"
import { decodeUtf8Lossy } from "../../../domain/utf8.ts"
import type { ByteLink } from "../../ports/ByteLink.ts"
import { makeFrameLink } from "../FrameLink.ts"
import { makeDeviceCalls } from "./DeviceCalls.ts"
import { makeMessageHandler } from "./deviceMessageHandler.ts"
import type { DeviceEntry } from "./DeviceRegistry.ts"
import type { GatewayContext } from "./GatewayContext.ts"

/** Why a connection ends: a code for logs, and a sentence that explains it to the device. */
const closeReasons = {
  too_many_violations: "the device sent too many invalid frames or messages",
  session_takeover: "another connection uses the name of this device",
  auth_throttled: "too many rejected attempts from this address",
  auth_rejected: "authentication failed",
  auth_timeout: "the device sent no token in time",
  idle_timeout: "the device sent nothing for too long",
  client_disconnect: "the device disconnected"
} as const

interface Closing {
  readonly reason: string
  /** Kind of the status that tells the device; the gateway sends none when absent. */
  readonly statusKind?: "ERROR" | "REPLACED"
}

const closing = (code: keyof typeof closeReasons, statusKind?: Closing["statusKind"]): Closing => ({
  reason: `${code}: ${closeReasons[code]}`,
  ...(statusKind !== undefined && { statusKind })
})

/** How long a device has to close its end after DISCONNECT. */
const disconnectTimeout = "2 seconds"

/** True for a name that can be part of a tool's name: 1 to 64 visible characters, no spaces at the ends. */
export const isValidDeviceName = (name: string): boolean => /^\P{C}{1,64}$/u.test(name) && name.trim() === name

/** Serves one device until it disconnects or the gateway closes the connection. */
export const serveDevice = Effect.fnUntraced(function* (
  bytes: ByteLink,
  { acknowledgeRegistration, authenticate, authThrottle, limits, onFrame, registry }: GatewayContext
): Effect.fn.Return<void, never, Scope.Scope> {
  const link = yield* makeFrameLink(bytes, limits)
  const { remoteAddress } = link
  const scope = yield* Effect.scope
  const closed = yield* Deferred.make<Closing>()
  /** Holds a slot of the throttle until the device is authenticated. */
  const pendingAuthScope = yield* Scope.fork(scope)
  if (authenticate !== undefined) {
    if (!authThrottle.acquirePending(remoteAddress))
      return yield* Effect.logDebug("too many unauthenticated connections", { remoteAddress })
    yield* Scope.addFinalizer(
      pendingAuthScope,
      Effect.sync(() => authThrottle.releasePending(remoteAddress))
    )
  }
  const violations = yield* Ref.make(newViolationBudget(yield* Clock.currentTimeMillis))
  let admitted: DeviceEntry | undefined
  /** Stops the authentication timeout: the device does not answer for the time that the check takes. */
  let hasPresentedToken = false

  const close = (code: keyof typeof closeReasons, statusKind?: Closing["statusKind"]): void => {
    Deferred.doneUnsafe(closed, Exit.succeed(closing(code, statusKind)))
  }
  /** Counts a rejection, and logs it until the throttle blocks the address. */
  const onRejected = Effect.fnUntraced(function* (reason: string) {
    const now = yield* Clock.currentTimeMillis
    if (!authThrottle.isBlocked(remoteAddress, now)) yield* Effect.logInfo("device rejected", { remoteAddress, reason })
    authThrottle.recordRejection(remoteAddress, now)
  })

  const onViolation = Effect.fnUntraced(function* (violation: string, reason: string, size = 0) {
    const device = admitted?.device.name
    yield* Effect.logDebug("device violation", { device, remoteAddress, violation, reason })
    const now = yield* Clock.currentTimeMillis
    const budget = yield* Ref.updateAndGet(violations, (before) => recordViolation(before, now, violation, size))
    if (isExhausted(budget)) close("too_many_violations", "ERROR")
  })

  const handleMessage = makeMessageHandler({ acknowledgeRegistration, limits, link, onViolation, registry })

  const admit = Effect.fnUntraced(function* (requestedName: string | undefined) {
    const trimmed = requestedName?.trim() ?? ""
    const name = isValidDeviceName(trimmed) ? trimmed : registry.nextFreeName()
    const entry: DeviceEntry = {
      device: { name, remoteAddress, connectedAt: yield* Clock.currentTimeMillis, services: new Map() },
      calls: yield* makeDeviceCalls(name, link, limits),
      evict: () => close("session_takeover", "REPLACED")
    }
    admitted = entry
    yield* Scope.close(pendingAuthScope, Exit.void)
    yield* Effect.addFinalizer(() => {
      entry.calls.failAll("the gateway closes")
      return registry.remove(entry)
    })
    yield* registry.add(entry)
    return entry
  })

  const onAuth = Effect.fnUntraced(function* (payload: Uint8Array) {
    if (admitted !== undefined) {
      return yield* Effect.logDebug("repeated auth ignored", { device: admitted.device.name, remoteAddress })
    }
    // Checked again here: one peer can open many connections before its first rejection.
    if (authThrottle.isBlocked(remoteAddress, yield* Clock.currentTimeMillis)) return close("auth_throttled")
    hasPresentedToken = true
    const credentials = parseCredentials(decodeUtf8Lossy(payload))
    const outcome = yield* Effect.result(
      authenticate === undefined
        ? Effect.succeed<{ readonly name?: string }>({})
        : authenticate({ ...credentials, remoteAddress })
    )
    if (Result.isFailure(outcome)) {
      const { message } = outcome.failure
      yield* onRejected(message)
      yield* link.sendStatus("auth", "ERROR", message)
      return close("auth_rejected")
    }
    yield* admit(outcome.success.name ?? credentials.options.get("name"))
    return yield* link.sendStatus("auth", "INFO", "AUTHENTICATED")
  })

  const onStatus = Effect.fnUntraced(function* (payload: Uint8Array) {
    const { kind } = parseStatus(decodeUtf8Lossy(payload))
    if (kind === "PING") return yield* link.sendStatus("status", "INFO", "PONG")
    if (kind !== "DISCONNECT") return
    const closeLater = Effect.delay(
      Effect.sync(() => close("client_disconnect")),
      disconnectTimeout
    )
    yield* Effect.forkScoped(closeLater, { startImmediately: true })
    yield* link.sendStatus("status", "INFO", "DISCONNECT")
  })

  const handleFrame = Effect.fnUntraced(function* (frame: Frame) {
    if (frame.type === "auth") return yield* onAuth(frame.payload)
    if (admitted === undefined && authenticate !== undefined) {
      return yield* onViolation("unauthenticated", "the first frame must be AUTH")
    }
    const entry = admitted ?? (yield* admit(undefined))
    const device = entry.device.name
    if (frame.type === "mcp") return yield* handleMessage(entry, frame)
    if (frame.type === "status") yield* onStatus(frame.payload)
    if (onFrame === undefined) return
    yield* Effect.catchCause(
      onFrame(device, frame, (reply) => Effect.ignore(link.send(reply))),
      (cause) => Effect.logError("frame handler failed", { device }, cause)
    )
  })

  const idleTimeout = Effect.gen(function* () {
    const idleMillis = Duration.toMillis(limits.idleTimeout)
    while (true) {
      const left = link.lastReceivedAt() + idleMillis - (yield* Clock.currentTimeMillis)
      if (left <= 0) return closing("idle_timeout", "ERROR")
      yield* Effect.sleep(Duration.millis(left))
    }
  })
  const authTimeout = Effect.gen(function* () {
    if (authenticate === undefined) return yield* Effect.never
    yield* Effect.sleep(limits.authTimeout)
    return hasPresentedToken ? yield* Effect.never : closing("auth_timeout", "ERROR")
  })

  const { statusKind, reason } = yield* Effect.raceAllFirst<Effect.Effect<Closing, never, Scope.Scope>>([
    link
      .receive({
        onFrame: (frame) => Scope.provide(handleFrame(frame), scope),
        onInvalid: (violation, size) => onViolation(violation, "invalid frame", size)
      })
      .pipe(Effect.map((linkReason) => ({ reason: linkReason }))),
    Deferred.await(closed),
    idleTimeout,
    authTimeout
  ])
  if (admitted === undefined) {
    // A rejected token has been counted already; it closes the connection without a status.
    if (statusKind !== undefined && authenticate !== undefined) yield* onRejected(reason)
    yield* Effect.logDebug("unauthenticated connection closed", { remoteAddress, reason })
  } else {
    admitted.calls.failAll(reason)
    yield* Effect.logInfo("device disconnected", { device: admitted.device.name, remoteAddress, reason })
  }
  if (statusKind !== undefined) yield* link.sendStatus("status", statusKind, reason)
}, Effect.scoped)
