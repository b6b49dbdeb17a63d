import { Deferred, Duration, Effect, Exit, FiberSet, type Scope } from "effect"
import { messageOf, type Outcome } from "../../domain/devices/messages.ts"
import { toMcpResult } from "../../domain/devices/results.ts"
import type { Service } from "../../domain/devices/services.ts"
import type { JsonObject } from "../../domain/json.ts"
import { makeParamsCheck } from "../paramsCheck.ts"
import { newRequestId } from "../RequestId.ts"
import type { DeviceLimits } from "./DeviceLimits.ts"
import type { FrameLink } from "./FrameLink.ts"

/** The calls of one device that wait for their results. */
export interface DeviceCalls {
  /**
   * Calls a service and gives its result as MCP has it; what keeps it from having one is a result that says so.
   * Interrupting it stops the waiting: the protocol has no word for giving a call up.
   */
  readonly call: (name: string, service: Service, params: JsonObject) => Effect.Effect<JsonObject>
  /** A result has come; false when nobody waits for it. */
  readonly settle: (callId: string, outcome: Outcome) => boolean
  /** The device is gone: nothing else will come. */
  readonly abandon: (reason: string) => void
  /** Why the device is gone, if it is. */
  readonly gone: () => string | undefined
  /** Waits until the device is gone, and says why. */
  readonly ended: Effect.Effect<string>
}

const failed = (error: string): Outcome => ({ success: false, error })

/** The calls of the device at the other end of this link. */
export const makeDeviceCalls = Effect.fnUntraced(function* (
  device: string,
  { sendMcp }: FrameLink,
  { callTimeout, mostCalls }: DeviceLimits
): Effect.fn.Return<DeviceCalls, never, Scope.Scope> {
  const check = yield* makeParamsCheck
  const waiting = new Map<string, Deferred.Deferred<Outcome>>()
  /**
   * Messages that the device has not taken yet. They are there whether or not anybody waits for their result, so they
   * keep their places: who calls a device that does not read would fill our memory.
   */
  const unsent = yield* FiberSet.make<void>()
  const ended = yield* Deferred.make<string>()
  let gone: string | undefined

  const goneBecause = (reason: string) => `Device '${device}' has gone: ${reason}`

  const ask = Effect.fnUntraced(function* (name: string, params: JsonObject) {
    const callId = yield* newRequestId
    const answer = Deferred.makeUnsafe<Outcome>()
    const fail = (why: string) => void Deferred.doneUnsafe(answer, Exit.succeed(failed(why)))
    const send = sendMcp(messageOf.call(callId, name, params)).pipe(
      Effect.catch(({ message }) => Effect.sync(() => fail(`device '${device}' was not asked: ${message}`))),
      // What JSON cannot say, from a program that shares our process.
      Effect.catchDefect((defect) => {
        fail(`device '${device}' was not asked: internal error`)
        return Effect.logError("a call of a device failed", { device, service: name }, defect)
      })
    )
    const enter = Effect.sync(() => {
      waiting.set(callId, answer)
      if (gone !== undefined) fail(goneBecause(gone))
    })
    return yield* Effect.acquireUseRelease(
      enter,
      () => Effect.andThen(FiberSet.run(unsent, send), Deferred.await(answer)),
      () => Effect.sync(() => waiting.delete(callId))
    )
  })

  const late = (name: string) =>
    `Service '${name}' of device '${device}' did not answer within ${Duration.toSeconds(callTimeout)} seconds`

  return {
    call: Effect.fnUntraced(function* (name, service, params) {
      const faults = yield* check(service.parameters, params)
      if (faults.length > 0) {
        const list = faults.map((fault) => `\n- ${fault}`).join("")
        return toMcpResult(failed(`'${name}' was not called: its arguments do not fit its schema.${list}`))
      }
      if (gone !== undefined) return toMcpResult(failed(goneBecause(gone)))
      if (Math.max(waiting.size, yield* FiberSet.size(unsent)) >= mostCalls) {
        return toMcpResult(
          failed(`Device '${device}' is busy: ${mostCalls} calls run already. Try again later.`)
        )
      }
      return yield* ask(name, params).pipe(
        Effect.timeoutOrElse({ duration: callTimeout, orElse: () => Effect.succeed(failed(late(name))) }),
        Effect.map(toMcpResult)
      )
    }),
    settle: (callId, outcome) => {
      const answer = waiting.get(callId)
      return answer !== undefined && Deferred.doneUnsafe(answer, Exit.succeed(outcome))
    },
    abandon: (reason) => {
      gone ??= reason
      Deferred.doneUnsafe(ended, Exit.succeed(reason))
      for (const answer of waiting.values()) {
        Deferred.doneUnsafe(answer, Exit.succeed(failed(goneBecause(reason))))
      }
    },
    gone: () => gone,
    ended: Deferred.await(ended)
  }
})
