import { Cause, Clock, Duration, Effect, Exit, Latch, Option } from "effect"
import { type Caller, isInOffice, memberName } from "../../../domain/approvals/Caller.ts"
import {
  acceptCall,
  type CallAct,
  type CallCommand,
  isPaused,
  timeLeft,
  transitionCall
} from "../../../domain/calls/callState.ts"
import type { CallReport, CallStatus } from "../../../domain/model/CallStatus.ts"
import type { ToolCallRequest } from "../../../domain/wire/calls.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { definedOnly } from "../../../domain/objects.ts"

/** Tells the caller of a call its status. */
export interface CallReporter {
  /** Best effort. */
  readonly report: (report: CallReport) => Effect.Effect<void>
  /**
   * Announces that a call waits for an approval. True when the Server and the Agent wait on for that time, beyond the
   * timeout of the call.
   */
  readonly announceWait: (report: CallReport) => Effect.Effect<boolean>
}

/** Reports nothing. */
export const silentReporter: CallReporter = { report: () => Effect.void, announceWait: () => Effect.succeed(false) }

/** A call that waits longer has its status reported: most calls are confirmed without a prompt. */
export const reportDelay = Duration.millis(200)

/** A call, from the office or from this Computer. */
export type ReceivedCall = Omit<ToolCallRequest, "agent" | "computer" | "timeout"> & {
  readonly caller: Caller
  readonly reporter: CallReporter
}

/** A call in one of the states of {@link transitionCall}. */
export type Call = Effect.Success<ReturnType<typeof startCall>>

/** Starts the time of a call. */
export const startCall = Effect.fnUntraced(function* (
  { reporter, ...request }: ReceivedCall,
  { approvalTimeout, timeout }: { readonly approvalTimeout: Duration.Duration; readonly timeout: Duration.Duration }
) {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const { caller, reqId } = request
  const counting = Latch.makeUnsafe(true)
  let state = acceptCall(now(), Duration.toMillis(timeout), Duration.toMillis(approvalTimeout))

  const dispatch = (act: CallAct): CallCommand | undefined => {
    const [next, command] = transitionCall(state, { ...act, at: now() })
    state = next
    if (isPaused(next)) counting.closeUnsafe()
    else counting.openUnsafe()
    return command
  }
  const left = () => timeLeft(state, now())
  const expired: Effect.Effect<void> = Effect.gen(function* () {
    while (true) {
      yield* counting.await
      if (left() === 0) return
      // Whole milliseconds: a sleep of less than a nanosecond takes no time.
      yield* Effect.sleep(Duration.millis(Math.ceil(left())))
    }
  })
  const agent = isInOffice(caller) ? memberName(caller) : undefined
  const reportOf = (status: CallStatus): CallReport => ({ reqId, status, ...definedOnly({ agent }) })
  return {
    ...request,
    dispatch,
    /** Begins a wait for an approval: for `limit`, or for `extension` where the caller waits longer. */
    awaitApproval: (_tag: "ConsentAwaited" | "AnswerAwaited") => {
      const command = dispatch({ _tag })
      const { extension, limit } = command?._tag === "Wait" ? command : { extension: 0, limit: 0 }
      return { extension: Duration.millis(extension), limit: Duration.millis(limit) }
    },
    /** The time that it has left, never a negative one. */
    remaining: Effect.sync(() => Duration.millis(left())),
    /** Runs an effect until it ends or the time of the call is over, which gives none. */
    bound: <A, E, R>(running: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
      Effect.raceFirst(Effect.asSome(running), Effect.as(expired, Option.none())),
    report: (status: CallStatus) => Effect.suspend(() => reporter.report(reportOf(status))),
    announceWait: (status: CallStatus) => Effect.suspend(() => reporter.announceWait(reportOf(status)))
  }
})

/** Waits for MCP servers, and reports the status of a call once this takes long. */
export const waitReporting = <A, E, R>(call: Call, waiting: Effect.Effect<A, E, R>, status: () => CallStatus) =>
  Effect.raceFirst(
    waiting,
    Effect.suspend(() => call.report(status())).pipe(Effect.delay(reportDelay), Effect.andThen(Effect.never))
  )

/** How the execution of a call ended, without a result when its time was over. */
export const endOf = (exit: Exit.Exit<Option.Option<ToolResult>>): CallAct => {
  if (Exit.isFailure(exit)) {
    return { _tag: "Returned", outcome: Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "failed" }
  }
  if (Option.isNone(exit.value)) return { _tag: "TimePassed" }
  return { _tag: "Returned", outcome: exit.value.value.isError ? "failed" : "done" }
}
