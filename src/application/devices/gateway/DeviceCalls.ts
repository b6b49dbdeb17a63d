import { Deferred, Duration, Effect, Exit, FiberSet, type Clock } from "effect"
import { makeDeviceMessage, type ServiceOutcome } from "../../../domain/devices/deviceMessages.ts"
import { failedOutcome, outcomeToToolResult } from "../../../domain/devices/serviceOutcome.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ParamsCheck } from "../../shared/paramsCheck.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import type { DeviceLimits } from "../DeviceLimits.ts"
import type { FrameLink } from "../FrameLink.ts"
import { type InspectedFault, maxFaults, maxFaultLength } from "../../../domain/page/Inspection.ts"

export type FaultLog = ReturnType<typeof makeFaultLog>

/** Keeps the latest faults of a device for operators. */
export const makeFaultLog = (clock: Clock.Clock) => {
  let faults: ReadonlyArray<InspectedFault> = []
  return {
    record: (text: string): void => {
      const fault = { at: clock.currentTimeMillisUnsafe(), text: text.slice(0, maxFaultLength).toWellFormed() }
      faults = [...faults, fault].slice(-maxFaults)
    },
    /** The latest faults, the oldest one first. */
    recent: (): ReadonlyArray<InspectedFault> => faults
  }
}

export type DeviceCalls = Effect.Success<ReturnType<typeof makeDeviceCalls>>

const disconnectMessage = (device: string, reason: string) => `Device '${device}' disconnected: ${reason}`

/** Makes the function that sends calls to a device and awaits their results. */
const makeDeviceRequests = Effect.fnUntraced(function* (device: string, { sendMcp }: FrameLink) {
  const pending = new Map<string, Deferred.Deferred<ServiceOutcome>>()
  /**
   * Unsent messages count as calls even after their caller has given up: otherwise calls to a device that does not
   * read would exhaust memory.
   */
  const sending = yield* FiberSet.make<void>()
  const disconnected = yield* Deferred.make<string>()
  let disconnectReason: string | undefined

  const request = Effect.fnUntraced(function* (name: string, params: JsonObject) {
    const callId = yield* makeRequestId
    const result = Deferred.makeUnsafe<ServiceOutcome>()
    const fail = (error: string) => void Deferred.doneUnsafe(result, Exit.succeed(failedOutcome(error)))
    const send = sendMcp(makeDeviceMessage.call(callId, name, params)).pipe(
      Effect.catch(({ message }) => Effect.sync(() => fail(`the call was not sent to device '${device}': ${message}`))),
      // An in-process caller can pass values that JSON cannot represent.
      Effect.catchDefect((defect) => {
        fail(`the call was not sent to device '${device}': internal error`)
        return Effect.logError("device call failed", { device, service: name }, defect)
      })
    )
    const register = Effect.sync(() => {
      pending.set(callId, result)
      if (disconnectReason !== undefined) fail(disconnectMessage(device, disconnectReason))
    })
    return yield* Effect.acquireUseRelease(
      register,
      () => Effect.andThen(FiberSet.run(sending, send), Deferred.await(result)),
      () => Effect.sync(() => pending.delete(callId))
    )
  })

  return {
    request,
    /** Calls in flight, and unsent ones. */
    size: Effect.map(FiberSet.size(sending), (unsent) => Math.max(pending.size, unsent)),
    /** Completes a call; false when no call waits for the result. */
    complete: (callId: string, outcome: ServiceOutcome): boolean => {
      const result = pending.get(callId)
      return result !== undefined && Deferred.doneUnsafe(result, Exit.succeed(outcome))
    },
    /** Fails all calls when the device disconnects. */
    failAll: (reason: string): void => {
      disconnectReason ??= reason
      Deferred.doneUnsafe(disconnected, Exit.succeed(reason))
      for (const result of pending.values()) {
        Deferred.doneUnsafe(result, Exit.succeed(failedOutcome(disconnectMessage(device, reason))))
      }
    },
    disconnectReason: () => disconnectReason,
    /** Resolves with the reason when the device disconnects. */
    disconnected: Deferred.await(disconnected)
  }
})

/** In-flight calls of one device. */
export const makeDeviceCalls = Effect.fnUntraced(function* (
  device: string,
  link: FrameLink,
  { callTimeout, maxCalls }: DeviceLimits,
  { check, faults }: { readonly check: ParamsCheck; readonly faults: Pick<FaultLog, "record"> }
) {
  const { request, size, ...requests } = yield* makeDeviceRequests(device, link)

  const timeoutMessage = (name: string) =>
    `Service '${name}' of device '${device}' did not answer within ${Duration.toSeconds(callTimeout)} seconds`

  return {
    /**
     * Calls a service; the result, an MCP tool result, covers every failure. Interruption stops waiting only: the
     * protocol has no message that cancels a call.
     */
    call: Effect.fnUntraced(
      function* (name: string, service: DeviceService, params: JsonObject) {
        const errors = yield* check(service.parameters, params)
        if (errors.length > 0) {
          const list = errors.map((error) => `\n- ${error}`).join("")
          return failedOutcome(`'${name}' was not called: its arguments do not match its schema.${list}`)
        }
        const reason = requests.disconnectReason()
        if (reason !== undefined) return failedOutcome(disconnectMessage(device, reason))
        if ((yield* size) >= maxCalls) {
          return failedOutcome(`Device '${device}' is busy: ${maxCalls} calls are in flight. Try again later.`)
        }
        return yield* Effect.timeoutOrElse(request(name, params), {
          duration: callTimeout,
          orElse: () => Effect.succeed(failedOutcome(timeoutMessage(name)))
        })
      },
      (calling, name) =>
        Effect.map(calling, (outcome) => {
          if (!outcome.success) faults.record(`${name}: ${outcome.error}`)
          return outcomeToToolResult(outcome)
        })
    ),
    ...requests
  }
})
