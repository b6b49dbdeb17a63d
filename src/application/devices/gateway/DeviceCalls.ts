import { Deferred, Duration, Effect, Exit, FiberSet, type Scope } from "effect"
import { makeDeviceMessage, type ServiceOutcome } from "../../../domain/devices/deviceMessages.ts"
import { failedOutcome, outcomeToToolResult } from "../../../domain/devices/serviceOutcome.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { makeParamsCheck } from "../../shared/paramsCheck.ts"
import { makeRequestId } from "../../shared/requestId.ts"
import type { DeviceLimits } from "../DeviceLimits.ts"
import type { FrameLink } from "../FrameLink.ts"

/** The calls of one device that wait for their results. */
export interface DeviceCalls {
  /**
   * Calls a service and gives its result as MCP has it; what keeps it from having one is a result that says so.
   * Interrupting it stops the waiting: the protocol has no word for giving a call up.
   */
  readonly call: (name: string, service: DeviceService, params: JsonObject) => Effect.Effect<JsonObject>
  /** A result has come; false when nobody waits for it. */
  readonly complete: (callId: string, outcome: ServiceOutcome) => boolean
  /** The device is gone: nothing else will come. */
  readonly failAll: (reason: string) => void
  /** Why the device is gone, if it is. */
  readonly disconnectReason: () => string | undefined
  /** Waits until the device is gone, and says why. */
  readonly disconnected: Effect.Effect<string>
}

/** The calls of the device at the other end of this link. */
export const makeDeviceCalls = Effect.fnUntraced(function* (
  device: string,
  { sendMcp }: FrameLink,
  { callTimeout, maxCalls }: DeviceLimits
): Effect.fn.Return<DeviceCalls, never, Scope.Scope> {
  const check = yield* makeParamsCheck
  const pending = new Map<string, Deferred.Deferred<ServiceOutcome>>()
  /**
   * Messages that the device has not taken yet. They are there whether or not anybody waits for their result, so they
   * keep their places: who calls a device that does not read would fill our memory.
   */
  const sending = yield* FiberSet.make<void>()
  const disconnected = yield* Deferred.make<string>()
  let disconnectReason: string | undefined

  const disconnectMessage = (reason: string) => `Device '${device}' has gone: ${reason}`

  const request = Effect.fnUntraced(function* (name: string, params: JsonObject) {
    const callId = yield* makeRequestId
    const result = Deferred.makeUnsafe<ServiceOutcome>()
    const fail = (error: string) => void Deferred.doneUnsafe(result, Exit.succeed(failedOutcome(error)))
    const send = sendMcp(makeDeviceMessage.call(callId, name, params)).pipe(
      Effect.catch(({ message }) => Effect.sync(() => fail(`device '${device}' was not asked: ${message}`))),
      // What JSON cannot say, from a program that shares our process.
      Effect.catchDefect((defect) => {
        fail(`device '${device}' was not asked: internal error`)
        return Effect.logError("a call of a device failed", { device, service: name }, defect)
      })
    )
    const register = Effect.sync(() => {
      pending.set(callId, result)
      if (disconnectReason !== undefined) fail(disconnectMessage(disconnectReason))
    })
    return yield* Effect.acquireUseRelease(
      register,
      () => Effect.andThen(FiberSet.run(sending, send), Deferred.await(result)),
      () => Effect.sync(() => pending.delete(callId))
    )
  })

  const timeoutMessage = (name: string) =>
    `Service '${name}' of device '${device}' did not answer within ${Duration.toSeconds(callTimeout)} seconds`

  return {
    call: Effect.fnUntraced(function* (name, service, params) {
      const errors = yield* check(service.parameters, params)
      if (errors.length > 0) {
        const list = errors.map((error) => `\n- ${error}`).join("")
        return outcomeToToolResult(
          failedOutcome(`'${name}' was not called: its arguments do not fit its schema.${list}`)
        )
      }
      if (disconnectReason !== undefined)
        return outcomeToToolResult(failedOutcome(disconnectMessage(disconnectReason)))
      if (Math.max(pending.size, yield* FiberSet.size(sending)) >= maxCalls) {
        return outcomeToToolResult(
          failedOutcome(`Device '${device}' is busy: ${maxCalls} calls run already. Try again later.`)
        )
      }
      return yield* request(name, params).pipe(
        Effect.timeoutOrElse({
          duration: callTimeout,
          orElse: () => Effect.succeed(failedOutcome(timeoutMessage(name)))
        }),
        Effect.map(outcomeToToolResult)
      )
    }),
    complete: (callId, outcome) => {
      const result = pending.get(callId)
      return result !== undefined && Deferred.doneUnsafe(result, Exit.succeed(outcome))
    },
    failAll: (reason) => {
      disconnectReason ??= reason
      Deferred.doneUnsafe(disconnected, Exit.succeed(reason))
      for (const result of pending.values()) {
        Deferred.doneUnsafe(result, Exit.succeed(failedOutcome(disconnectMessage(reason))))
      }
    },
    disconnectReason: () => disconnectReason,
    disconnected: Deferred.await(disconnected)
  }
})
