import { Effect, Result } from "effect"
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import { makeDeviceMessage, decodeDeviceMessage } from "../../../domain/devices/deviceMessages.ts"
import { maxNameLength, decodeServices } from "../../../domain/devices/serviceDefinitions.ts"
import { failedOutcome } from "../../../domain/devices/serviceOutcome.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { GatewayLimits } from "../DeviceLimits.ts"
import type { FrameLink } from "../FrameLink.ts"
import type { DeviceEntry, DeviceRegistry } from "./DeviceRegistry.ts"

interface MessageContext {
  readonly acknowledgeRegistration: boolean
  readonly limits: GatewayLimits
  readonly registry: DeviceRegistry
  readonly link: FrameLink
  readonly onViolation: (violation: string, reason: string) => Effect.Effect<void>
}

/** Per registration; the rest is counted. */
const maxReportedErrors = 10

/** Makes the handler of the MCP frames of one admitted device: registrations, results, and calls. */
export const makeMessageHandler = ({
  acknowledgeRegistration,
  limits,
  link,
  onViolation,
  registry
}: MessageContext) => {
  let hasRegistered = false

  const onRegister = Effect.fnUntraced(function* (
    entry: DeviceEntry,
    definitions: JsonObject,
    duplicates: ReadonlyArray<string>
  ) {
    const { errors: invalidDefinitions, services } = decodeServices(definitions, limits.maxServices)
    const errors = [
      ...invalidDefinitions,
      ...duplicates.map((name) => `${JSON.stringify(name.slice(0, maxNameLength))}: registered more than once`)
    ]
    const omitted = errors.length > maxReportedErrors ? [`and ${errors.length - maxReportedErrors} more`] : []
    const reported = [...errors.slice(0, maxReportedErrors), ...omitted]
    const device = entry.device.name
    if (errors.length > 0) {
      yield* Effect.logWarning("invalid service definitions", { device, errors: reported })
      yield* onViolation("invalid_registration", `invalid service definitions: ${reported.join("; ")}`)
    }
    if (JSON.stringify([...services]) !== JSON.stringify([...entry.device.services])) {
      yield* registry.updateServices(entry, services)
      // Only the first one: a device may change its services as often as it likes.
      const log = hasRegistered ? Effect.logDebug : Effect.logInfo
      hasRegistered = true
      yield* log("device registered", { device, services: services.size })
    }
    if (acknowledgeRegistration)
      yield* Effect.ignore(link.sendMcp(makeDeviceMessage.registered(services.size, reported)))
  })

  return Effect.fnUntraced(function* (entry: DeviceEntry, { payload, task }: Frame) {
    const decoded = decodeDeviceMessage(payload)
    if (Result.isFailure(decoded)) return yield* onViolation("invalid_message", decoded.failure)
    const message = decoded.success
    const device = entry.device.name
    switch (message._tag) {
      case "Register":
        return yield* onRegister(entry, message.definitions, message.duplicates)
      case "Result": {
        const { callId, outcome } = message
        if (entry.calls.complete(callId, outcome)) return
        return yield* Effect.logDebug("result for unknown call", { device, callId })
      }
      case "Call": {
        const outcome = failedOutcome(`The gateway has no service '${message.method}'`)
        return yield* Effect.ignore(link.sendMcp(makeDeviceMessage.result(message.callId, outcome), task))
      }
      case "Registered":
      case "Unknown":
        return yield* Effect.logDebug("unexpected message", { device, message })
    }
  })
}
