import { Clock, Deferred, Duration, Effect, Exit, Ref, Result, Scope } from "effect"
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import { makeDeviceMessage, decodeDeviceMessage } from "../../../domain/devices/deviceMessages.ts"
import { isExhausted, newViolationBudget, recordViolation } from "../../../domain/devices/ViolationBudget.ts"
import { maxNameLength, decodeServices } from "../../../domain/devices/serviceDefinitions.ts"
import { parseCredentials, parseStatus } from "../../../domain/devices/handshake.ts"
import { decodeUtf8Lossy } from "../../../domain/utf8.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ByteLink } from "../../ports/ByteLink.ts"
import type { AuthenticateDevice } from "../AuthenticateDevice.ts"
import { makeDeviceCalls } from "./DeviceCalls.ts"
import type { GatewayLimits } from "../DeviceLimits.ts"
import type { DeviceRegistry, DeviceEntry } from "./DeviceRegistry.ts"
import type { AuthThrottle } from "./AuthThrottle.ts"
import { makeFrameLink } from "../FrameLink.ts"

/** What a device sends beside calls and results, such as voice and text of a talk. */
export type OnDeviceFrame = (
  device: string,
  frame: Frame,
  reply: (frame: Frame) => Effect.Effect<void>
) => Effect.Effect<void>

/** What all connections of a gateway share. */
export interface GatewayContext {
  readonly registry: DeviceRegistry
  readonly limits: GatewayLimits
  readonly authenticate: AuthenticateDevice | undefined
  /** Tell devices what became of their registration. */
  readonly acknowledgeRegistration: boolean
  readonly onFrame: OnDeviceFrame | undefined
  /** Counts who is refused. */
  readonly authThrottle: AuthThrottle
}

/** Why a connection ends, and by which word the device is told, if it is to be. */
interface CloseReason {
  readonly reason: string
  readonly statusKind?: "ERROR" | "REPLACED"
}

/** How long a device that says goodbye has to close its end. */
const disconnectTimeout = "2 seconds"

/** How many faults of one registration are told; the others are counted. */
const maxReportedErrors = 10

/** A name that can be part of a tool's: nothing in it is invisible, so that no two look the same, and it is no essay. */
export const isValidDeviceName = (name: string): boolean =>
  /^\P{C}{1,64}$/u.test(name) && name.trim() === name

/** Serves one device until it is gone, or no longer welcome. */
export const serveDevice = Effect.fnUntraced(function* (
  bytes: ByteLink,
  { acknowledgeRegistration, authenticate, authThrottle, limits, onFrame, registry }: GatewayContext
): Effect.fn.Return<void, never, Scope.Scope> {
  const link = yield* makeFrameLink(bytes, limits)
  const { remoteAddress } = link
  const scope = yield* Effect.scope
  const closing = yield* Deferred.make<CloseReason>()
  /** Its place among those who have not shown who they are, until it has. */
  const pendingAuthScope = yield* Scope.fork(scope)
  if (authenticate !== undefined) {
    if (!authThrottle.acquirePending(remoteAddress))
      return yield* Effect.logDebug("too many strangers wait", { peer: remoteAddress })
    yield* Scope.addFinalizer(
      pendingAuthScope,
      Effect.sync(() => authThrottle.releasePending(remoteAddress))
    )
  }
  const violations = yield* Ref.make(newViolationBudget(yield* Clock.currentTimeMillis))
  let admitted: DeviceEntry | undefined
  /** A token has been shown; how long it takes to judge it is not the device's fault. */
  let hasPresentedToken = false
  /** Services have been registered before. */
  let hasRegistered = false

  const close = (reason: string, statusKind?: CloseReason["statusKind"]): void => {
    Deferred.doneUnsafe(closing, Exit.succeed({ reason, ...(statusKind !== undefined && { statusKind }) }))
  }
  const deviceName = () => admitted?.device.name
  /** Counts a refusal. Said as long as the door is open, so that no stranger fills the log. */
  const onRejected = Effect.fnUntraced(function* (reason: string) {
    const now = yield* Clock.currentTimeMillis
    if (!authThrottle.isBlocked(remoteAddress, now))
      yield* Effect.logInfo("device refused", { peer: remoteAddress, reason })
    authThrottle.recordRejection(remoteAddress, now)
  })

  const onViolation = Effect.fnUntraced(function* (violation: string, reason: string, size = 0) {
    yield* Effect.logDebug("a device sent what cannot be used", {
      device: deviceName(),
      peer: remoteAddress,
      what: violation,
      reason
    })
    const now = yield* Clock.currentTimeMillis
    if (
      isExhausted(yield* Ref.updateAndGet(violations, (one) => recordViolation(one, now, violation, size)))
    ) {
      close("it sent too much that cannot be used", "ERROR")
    }
  })

  const admit = Effect.fnUntraced(function* (requestedName: string | undefined) {
    const trimmed = requestedName?.trim() ?? ""
    const name = isValidDeviceName(trimmed) ? trimmed : registry.nextFreeName()
    const entry: DeviceEntry = {
      device: { name, remoteAddress, connectedAt: yield* Clock.currentTimeMillis, services: new Map() },
      calls: yield* makeDeviceCalls(name, link, limits),
      evict: () => close("another connection goes by its name", "REPLACED")
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

  /** A device shows who it is. Shown again, nothing changes. */
  const onAuth = Effect.fnUntraced(function* (payload: Uint8Array) {
    if (admitted !== undefined) {
      return yield* Effect.logDebug("a device shows its token again", {
        device: deviceName(),
        peer: remoteAddress
      })
    }
    // Asked again, since whoever opens many connections before the first refusal has found the door open with each.
    if (authThrottle.isBlocked(remoteAddress, yield* Clock.currentTimeMillis))
      return close("its address was refused too often")
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
      return close(message)
    }
    yield* admit(outcome.success.name ?? credentials.options.get("name"))
    return yield* link.sendStatus("auth", "INFO", "AUTHENTICATED")
  })

  const onRegister = Effect.fnUntraced(function* (
    entry: DeviceEntry,
    definitions: JsonObject,
    duplicates: ReadonlyArray<string>
  ) {
    const { errors: invalidDefinitions, services } = decodeServices(definitions, limits.maxServices)
    const errors = [
      ...invalidDefinitions,
      ...duplicates.map(
        (name) => `${JSON.stringify(name.slice(0, maxNameLength))}: registered more than once`
      )
    ]
    const omitted = errors.length > maxReportedErrors ? [`and ${errors.length - maxReportedErrors} more`] : []
    const reported = [...errors.slice(0, maxReportedErrors), ...omitted]
    const device = entry.device.name
    if (errors.length > 0) {
      yield* Effect.logWarning("services of a device cannot be used as they are", {
        device,
        faults: reported
      })
      yield* onViolation("registration", "some services cannot be used")
    }
    if (JSON.stringify([...services]) !== JSON.stringify([...entry.device.services])) {
      yield* registry.updateServices(entry, services)
      // Once is enough: a device may change its services as often as it likes.
      const log = hasRegistered ? Effect.logDebug : Effect.logInfo
      hasRegistered = true
      yield* log("device registered", { device, services: services.size })
    }
    if (acknowledgeRegistration)
      yield* Effect.ignore(link.sendMcp(makeDeviceMessage.registered(services.size, reported)))
  })

  const onMessage = Effect.fnUntraced(function* (entry: DeviceEntry, { payload, task }: Frame) {
    const decoded = decodeDeviceMessage(payload)
    if (Result.isFailure(decoded)) return yield* onViolation("message", decoded.failure)
    const message = decoded.success
    switch (message._tag) {
      case "Register":
        return yield* onRegister(entry, message.definitions, message.duplicates)
      case "Result":
        if (entry.calls.complete(message.callId, message.outcome)) return
        return yield* Effect.logDebug("a result nobody waits for", {
          device: deviceName(),
          call: message.callId
        })
      case "Call": {
        const unknownService = {
          success: false,
          error: `There is no service '${message.method}' here`
        } as const
        return yield* Effect.ignore(
          link.sendMcp(makeDeviceMessage.result(message.callId, unknownService), task)
        )
      }
      case "Registered":
      case "Unknown":
        return yield* Effect.logDebug("a message of another kind", { device: deviceName(), message })
    }
  })

  const onStatus = Effect.fnUntraced(function* (payload: Uint8Array) {
    const { kind } = parseStatus(decodeUtf8Lossy(payload))
    if (kind === "PING") return yield* link.sendStatus("status", "INFO", "PONG")
    if (kind !== "DISCONNECT") return
    const closeLater = Effect.delay(
      Effect.sync(() => close("it said goodbye")),
      disconnectTimeout
    )
    yield* Effect.forkScoped(closeLater, { startImmediately: true })
    yield* link.sendStatus("status", "INFO", "DISCONNECT")
  })

  const handleFrame = Effect.fnUntraced(function* (frame: Frame) {
    if (frame.type === "auth") return yield* onAuth(frame.payload)
    if (admitted === undefined && authenticate !== undefined) {
      return yield* onViolation("unauthenticated", "a token comes first")
    }
    const entry = admitted ?? (yield* admit(undefined))
    if (frame.type === "mcp") return yield* onMessage(entry, frame)
    if (frame.type === "status") yield* onStatus(frame.payload)
    if (onFrame === undefined) return
    yield* Effect.catchCause(
      onFrame(entry.device.name, frame, (reply) => Effect.ignore(link.send(reply))),
      (cause) => Effect.logError("handling a frame of a device failed", { device: deviceName() }, cause)
    )
  })

  const idleTimeout = Effect.gen(function* () {
    const idleMillis = Duration.toMillis(limits.idleTimeout)
    while (true) {
      const left = link.lastReceivedAt() + idleMillis - (yield* Clock.currentTimeMillis)
      if (left <= 0) return { reason: "nothing was heard of it", statusKind: "ERROR" } as const
      yield* Effect.sleep(Duration.millis(left))
    }
  })
  const authTimeout = Effect.gen(function* () {
    if (authenticate === undefined) return yield* Effect.never
    yield* Effect.sleep(limits.authTimeout)
    if (hasPresentedToken) return yield* Effect.never
    return { reason: "it showed no token in time", statusKind: "ERROR" } as const
  })

  const { statusKind, reason } = yield* Effect.raceAllFirst<Effect.Effect<CloseReason, never, Scope.Scope>>([
    link
      .receive({
        onFrame: (frame) => Scope.provide(handleFrame(frame), scope),
        onInvalid: (violation, size) => onViolation(violation, "a bad frame", size)
      })
      .pipe(Effect.map((reason) => ({ reason }))),
    Deferred.await(closing),
    idleTimeout,
    authTimeout
  ])
  if (admitted === undefined) {
    // Strangers come and go; who leaves after a wrong token has been counted already.
    if (statusKind !== undefined && authenticate !== undefined) yield* onRejected(reason)
    yield* Effect.logDebug("a stranger is gone", { peer: remoteAddress, reason })
  } else {
    admitted.calls.failAll(reason)
    yield* Effect.logInfo("device gone", { device: deviceName(), peer: remoteAddress, reason })
  }
  if (statusKind !== undefined) yield* link.sendStatus("status", statusKind, reason)
}, Effect.scoped)
