import { Deferred, Duration, Effect, Exit, Option } from "effect"
import { messageOf, type Outcome } from "../../domain/devices/messages.ts"
import { toMcpResult } from "../../domain/devices/results.ts"
import type { Service } from "../../domain/devices/services.ts"
import type { JsonObject } from "../../domain/json.ts"
import { SchemaValidator } from "../ports/SchemaValidator.ts"
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
  /** How many run. */
  readonly size: () => number
}

const failed = (error: string): Outcome => ({ success: false, error })

/** The calls of the device at the other end of this link. */
export const makeDeviceCalls = Effect.fnUntraced(function* (
  device: string,
  { sendMcp }: FrameLink,
  { callTimeout, mostCalls }: DeviceLimits
): Effect.fn.Return<DeviceCalls> {
  const validator = yield* Effect.serviceOption(SchemaValidator)
  const waiting = new Map<string, Deferred.Deferred<Outcome>>()
  const ended = yield* Deferred.make<string>()
  let gone: string | undefined

  /** Why the parameters do not fit; a schema that nobody can use checks nothing. */
  const misfit = Effect.fnUntraced(function* ({ parameters }: Service, params: JsonObject) {
    if (Option.isNone(validator)) return undefined
    const faults = yield* Effect.orElseSucceed(validator.value.check(parameters, params), () => [])
    return faults.length === 0 ? undefined : faults.map((fault) => `\n- ${fault}`).join("")
  })

  const ask = Effect.fnUntraced(function* (name: string, params: JsonObject) {
    const callId = yield* newRequestId
    const answer = Deferred.makeUnsafe<Outcome>()
    const sent = sendMcp(messageOf.call(callId, name, params)).pipe(
      Effect.matchEffect({
        onFailure: ({ message }) => Effect.succeed(failed(`device '${device}' was not asked: ${message}`)),
        onSuccess: () => Deferred.await(answer)
      })
    )
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => waiting.set(callId, answer)),
      () => sent,
      () => Effect.sync(() => waiting.delete(callId))
    )
  })

  const late = (name: string) =>
    `Service '${name}' of device '${device}' did not answer within ${Duration.toSeconds(callTimeout)} seconds`

  return {
    call: Effect.fnUntraced(function* (name, service, params) {
      const wrong = yield* misfit(service, params)
      if (wrong !== undefined) {
        return toMcpResult(failed(`'${name}' was not called: its arguments do not fit its schema.${wrong}`))
      }
      if (gone !== undefined) return toMcpResult(failed(`Device '${device}' has gone: ${gone}`))
      if (waiting.size >= mostCalls) {
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
        Deferred.doneUnsafe(answer, Exit.succeed(failed(`Device '${device}' has gone: ${reason}`)))
      }
    },
    gone: () => gone,
    ended: Deferred.await(ended),
    size: () => waiting.size
  }
})
