import { Clock, Deferred, Duration, Effect, Exit, Ref, Result, Scope } from "effect"
import type { Frame } from "../../domain/devices/frame.ts"
import { messageOf, readMessage } from "../../domain/devices/messages.ts"
import { isExhausted, noFaults, spend } from "../../domain/devices/patience.ts"
import { longestName, readServices } from "../../domain/devices/services.ts"
import { readCredentials, readStatus } from "../../domain/devices/session.ts"
import { decodeUtf8Leniently } from "../../domain/utf8.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ByteLink } from "../ports/ByteLink.ts"
import type { AuthenticateDevice } from "./Authentication.ts"
import { makeDeviceCalls } from "./DeviceCalls.ts"
import type { GatewayLimits } from "./DeviceLimits.ts"
import type { DeviceRegistry, Entry } from "./DeviceRegistry.ts"
import type { Door } from "./Door.ts"
import { makeFrameLink } from "./FrameLink.ts"

/** What a device sends beside calls and results, such as voice and text of a talk. */
export type OnFrame = (
  device: string,
  frame: Frame,
  reply: (frame: Frame) => Effect.Effect<void>
) => Effect.Effect<void>

/** What all connections of a gateway share. */
export interface ConnectionContext {
  readonly registry: DeviceRegistry
  readonly limits: GatewayLimits
  readonly authenticate: AuthenticateDevice | undefined
  /** Tell devices what became of their registration. */
  readonly acknowledge: boolean
  readonly onFrame: OnFrame | undefined
  /** Counts who is refused. */
  readonly door: Door
}

/** Why a connection ends, and by which word the device is told, if it is to be. */
interface Ending {
  readonly reason: string
  readonly kind?: "ERROR" | "REPLACED"
}

/** How long a device that says goodbye has to close its end. */
const goodbyeTime = "2 seconds"

/** How many faults of one registration are told; the others are counted. */
const mostToldFaults = 10

/** A name that can be part of a tool's: nothing in it is invisible, so that no two look the same, and it is no essay. */
export const isGoodName = (name: string): boolean => /^\P{C}{1,64}$/u.test(name) && name.trim() === name

/** Serves one device until it is gone, or no longer welcome. */
export const serveDevice = Effect.fnUntraced(function* (
  bytes: ByteLink,
  { acknowledge, authenticate, door, limits, onFrame, registry }: ConnectionContext
): Effect.fn.Return<void, never, Scope.Scope> {
  const link = yield* makeFrameLink(bytes, limits)
  const { peer } = link
  const scope = yield* Effect.scope
  const leaving = yield* Deferred.make<Ending>()
  /** Its place among those who have not shown who they are, until it has. */
  const place = yield* Scope.fork(scope)
  if (authenticate !== undefined) {
    if (!door.wait(peer)) return yield* Effect.logDebug("too many strangers wait", { peer })
    yield* Scope.addFinalizer(
      place,
      Effect.sync(() => door.waited(peer))
    )
  }
  const faults = yield* Ref.make(noFaults(yield* Clock.currentTimeMillis))
  let admitted: Entry | undefined
  /** A token has been shown; how long it takes to judge it is not the device's fault. */
  let hasShown = false
  /** Services have been registered before. */
  let hasRegistered = false

  const leave = (reason: string, kind?: Ending["kind"]): void => {
    Deferred.doneUnsafe(leaving, Exit.succeed({ reason, ...(kind !== undefined && { kind }) }))
  }
  const nameOf = () => admitted?.device.name
  /** Counts a refusal. Said as long as the door is open, so that no stranger fills the log. */
  const onRefused = Effect.fnUntraced(function* (reason: string) {
    const now = yield* Clock.currentTimeMillis
    if (!door.isShut(peer, now)) yield* Effect.logInfo("device refused", { peer, reason })
    door.refused(peer, now)
  })

  const fault = Effect.fnUntraced(function* (what: string, reason: string, size = 0) {
    yield* Effect.logDebug("a device sent what cannot be used", { device: nameOf(), peer, what, reason })
    const now = yield* Clock.currentTimeMillis
    if (isExhausted(yield* Ref.updateAndGet(faults, (one) => spend(one, now, what, size)))) {
      leave("it sent too much that cannot be used", "ERROR")
    }
  })

  const admit = Effect.fnUntraced(function* (wanted: string | undefined) {
    const trimmed = wanted?.trim() ?? ""
    const name = isGoodName(trimmed) ? trimmed : registry.freeName()
    const entry: Entry = {
      device: { name, peer, since: yield* Clock.currentTimeMillis, services: new Map() },
      calls: yield* makeDeviceCalls(name, link, limits),
      supersede: () => leave("another connection goes by its name", "REPLACED")
    }
    admitted = entry
    yield* Scope.close(place, Exit.void)
    yield* Effect.addFinalizer(() => {
      entry.calls.abandon("the gateway closes")
      return registry.leave(entry)
    })
    yield* registry.enter(entry)
    return entry
  })

  /** A device shows who it is. Shown again, nothing changes. */
  const onAuth = Effect.fnUntraced(function* (payload: Uint8Array) {
    if (admitted !== undefined) {
      return yield* Effect.logDebug("a device shows its token again", { device: nameOf(), peer })
    }
    // Asked again, since whoever opens many connections before the first refusal has found the door open with each.
    if (door.isShut(peer, yield* Clock.currentTimeMillis)) return leave("its address was refused too often")
    hasShown = true
    const shown = readCredentials(decodeUtf8Leniently(payload))
    const outcome = yield* Effect.result(
      authenticate === undefined
        ? Effect.succeed<{ readonly name?: string }>({})
        : authenticate({ ...shown, peer })
    )
    if (Result.isFailure(outcome)) {
      const { message } = outcome.failure
      yield* onRefused(message)
      yield* link.say("auth", "ERROR", message)
      return leave(message)
    }
    yield* admit(outcome.success.name ?? shown.options.get("name"))
    return yield* link.say("auth", "INFO", "AUTHENTICATED")
  })

  const onRegister = Effect.fnUntraced(function* (
    entry: Entry,
    definitions: JsonObject,
    repeated: ReadonlyArray<string>
  ) {
    const { faults: bad, services } = readServices(definitions, limits.mostServices)
    const wrong = [
      ...bad,
      ...repeated.map((name) => `${JSON.stringify(name.slice(0, longestName))}: registered more than once`)
    ]
    const more = wrong.length > mostToldFaults ? [`and ${wrong.length - mostToldFaults} more`] : []
    const told = [...wrong.slice(0, mostToldFaults), ...more]
    const device = entry.device.name
    if (wrong.length > 0) {
      yield* Effect.logWarning("services of a device cannot be used as they are", { device, faults: told })
      yield* fault("registration", "some services cannot be used")
    }
    if (JSON.stringify([...services]) !== JSON.stringify([...entry.device.services])) {
      yield* registry.update(entry, services)
      // Once is enough: a device may change its services as often as it likes.
      const log = hasRegistered ? Effect.logDebug : Effect.logInfo
      hasRegistered = true
      yield* log("device registered", { device, services: services.size })
    }
    if (acknowledge) yield* Effect.ignore(link.sendMcp(messageOf.registered(services.size, told)))
  })

  const onMessage = Effect.fnUntraced(function* (entry: Entry, { payload, task }: Frame) {
    const read = readMessage(payload)
    if (Result.isFailure(read)) return yield* fault("message", read.failure)
    const message = read.success
    switch (message._tag) {
      case "Register":
        return yield* onRegister(entry, message.definitions, message.repeated)
      case "Result":
        if (entry.calls.settle(message.callId, message.outcome)) return
        return yield* Effect.logDebug("a result nobody waits for", { device: nameOf(), call: message.callId })
      case "Call": {
        const refusal = { success: false, error: `There is no service '${message.method}' here` } as const
        return yield* Effect.ignore(link.sendMcp(messageOf.result(message.callId, refusal), task))
      }
      case "Registered":
      case "Unknown":
        return yield* Effect.logDebug("a message of another kind", { device: nameOf(), message })
    }
  })

  const onStatus = Effect.fnUntraced(function* (payload: Uint8Array) {
    const { kind } = readStatus(decodeUtf8Leniently(payload))
    if (kind === "PING") return yield* link.say("status", "INFO", "PONG")
    if (kind !== "DISCONNECT") return
    const goodbye = Effect.delay(
      Effect.sync(() => leave("it said goodbye")),
      goodbyeTime
    )
    yield* Effect.forkScoped(goodbye, { startImmediately: true })
    yield* link.say("status", "INFO", "DISCONNECT")
  })

  const onFrameOf = Effect.fnUntraced(function* (frame: Frame) {
    if (frame.type === "auth") return yield* onAuth(frame.payload)
    if (admitted === undefined && authenticate !== undefined) {
      return yield* fault("unauthenticated", "a token comes first")
    }
    const entry = admitted ?? (yield* admit(undefined))
    if (frame.type === "mcp") return yield* onMessage(entry, frame)
    if (frame.type === "status") yield* onStatus(frame.payload)
    if (onFrame === undefined) return
    yield* Effect.catchCause(
      onFrame(entry.device.name, frame, (reply) => Effect.ignore(link.send(reply))),
      (cause) => Effect.logError("handling a frame of a device failed", { device: nameOf() }, cause)
    )
  })

  const silence = Effect.gen(function* () {
    const idle = Duration.toMillis(limits.idleTime)
    while (true) {
      const left = link.heardAt() + idle - (yield* Clock.currentTimeMillis)
      if (left <= 0) return { reason: "nothing was heard of it", kind: "ERROR" } as const
      yield* Effect.sleep(Duration.millis(left))
    }
  })
  const tokenTime = Effect.gen(function* () {
    if (authenticate === undefined) return yield* Effect.never
    yield* Effect.sleep(limits.authTime)
    if (hasShown) return yield* Effect.never
    return { reason: "it showed no token in time", kind: "ERROR" } as const
  })

  const { kind, reason } = yield* Effect.raceAllFirst<Effect.Effect<Ending, never, Scope.Scope>>([
    link
      .receive({
        frame: (frame) => Scope.provide(onFrameOf(frame), scope),
        fault: (what, size) => fault(what, "a bad frame", size)
      })
      .pipe(Effect.map((reason) => ({ reason }))),
    Deferred.await(leaving),
    silence,
    tokenTime
  ])
  if (admitted === undefined) {
    // Strangers come and go; who leaves after a wrong token has been counted already.
    if (kind !== undefined && authenticate !== undefined) yield* onRefused(reason)
    yield* Effect.logDebug("a stranger is gone", { peer, reason })
  } else {
    admitted.calls.abandon(reason)
    yield* Effect.logInfo("device gone", { device: nameOf(), peer, reason })
  }
  if (kind !== undefined) yield* link.say("status", kind, reason)
}, Effect.scoped)
