import { Deferred, Duration, Effect, Exit, FiberSet } from "effect"
import { makeDeviceMessage, type ServiceOutcome } from "../../../domain/devices/deviceMessages.ts"
import { failedOutcome, outcomeToToolResult } from "../../../domain/devices/serviceOutcome.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ParamsCheck } from "../../shared/paramsCheck.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import type { DeviceLimits } from "../DeviceLimits.ts"
import type { FrameLink } from "../FrameLink.ts"

export type DeviceCalls = Effect.Success<ReturnType<typeof makeDeviceCalls>>

const invalidArguments = (service: string, errors: ReadonlyArray<string>): ServiceOutcome => {
  const list = errors.map((error) => `\n- ${error}`).join("")
  return failedOutcome(`'${service}' was not called: its arguments do not match its schema.${list}`)
}

export const makeDeviceCalls = Effect.fnUntraced(function* (
  device: string,
  { sendMcp }: FrameLink,
  { callTimeout, maxCalls }: DeviceLimits,
  check: ParamsCheck,
  recordFault: (text: string) => Effect.Effect<void>
) {
  const pending = new Map<string, Deferred.Deferred<ServiceOutcome>>()
  // Unsent messages count as calls after their caller has given up: calls to a device that does not read use memory.
  const sending = yield* FiberSet.make<void>()
  const disconnected = yield* Deferred.make<string>()
  let disconnectReason: string | undefined

  const complete = (callId: string, outcome: ServiceOutcome): boolean => {
    const result = pending.get(callId)
    return result !== undefined && Deferred.doneUnsafe(result, Exit.succeed(outcome))
  }
  const failDisconnected = (callId: string, reason: string): boolean =>
    complete(callId, failedOutcome(`Device '${device}' disconnected: ${reason}`))

  const request = Effect.fnUntraced(function* (service: string, params: JsonObject) {
    const callId = yield* makeRequestId
    const failUnsent = (reason: string) =>
      void complete(callId, failedOutcome(`the call was not sent to device '${device}': ${reason}`))
    const send = sendMcp(makeDeviceMessage.call(callId, service, params)).pipe(
      Effect.catch(({ message }) => Effect.sync(() => failUnsent(message))),
      // An in-process caller can pass values that JSON cannot represent.
      Effect.catchDefect((defect) => {
        failUnsent("internal error")
        return Effect.logError("device call failed", { device, service }, defect)
      })
    )
    const register = Effect.sync(() => {
      const result = Deferred.makeUnsafe<ServiceOutcome>()
      pending.set(callId, result)
      if (disconnectReason !== undefined) failDisconnected(callId, disconnectReason)
      return result
    })
    return yield* Effect.acquireUseRelease(
      register,
      (result) => Effect.andThen(FiberSet.run(sending, send), Deferred.await(result)),
      () => Effect.sync(() => pending.delete(callId))
    )
  })

  return {
    /**
     * Calls a service; the result, an MCP tool result, covers every failure. Interruption stops waiting only: the
     * protocol has no message that cancels a call.
     */
    call: Effect.fnUntraced(
      function* (name: string, service: DeviceService, params: JsonObject) {
        const errors = yield* check(service.parameters, params)
        if (errors.length > 0) return invalidArguments(name, errors)
        const inFlight = Math.max(pending.size, yield* FiberSet.size(sending))
        if (disconnectReason === undefined && inFlight >= maxCalls) {
          return failedOutcome(`Device '${device}' is busy: ${maxCalls} calls are in flight. Try again later.`)
        }
        const late = `did not answer within ${Duration.toSeconds(callTimeout)} seconds`
        return yield* Effect.timeoutOrElse(request(name, params), {
          duration: callTimeout,
          orElse: () => Effect.succeed(failedOutcome(`Service '${name}' of device '${device}' ${late}`))
        })
      },
      (calling, name) =>
        Effect.tap(calling, (outcome) => (outcome.success ? Effect.void : recordFault(`${name}: ${outcome.error}`))),
      Effect.map(outcomeToToolResult)
    ),
    complete,
    /** Fails all calls when the device disconnects. */
    failAll: (reason: string): void => {
      disconnectReason ??= reason
      Deferred.doneUnsafe(disconnected, Exit.succeed(reason))
      for (const callId of pending.keys()) failDisconnected(callId, reason)
    },
    disconnectReason: () => disconnectReason,
    /** Resolves with the reason when the device disconnects. */
    disconnected: Deferred.await(disconnected)
  }
})
