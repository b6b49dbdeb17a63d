import { Duration, Effect } from "effect"
import type { AwaitedApproval, CallReport, CallStatus } from "../../domain/model/CallStatus.ts"
import type { Body } from "../ports/Body.ts"
import { type ExtendTimeout, makeExtension } from "../ports/Transport.ts"
import type { ComputerName, RequestId } from "../../domain/model/ids.ts"

/** Receives the reason why a call waits. The Agent ignores a failure, after logging it. */
export type OnCallStatus = (status: CallStatus) => Effect.Effect<void>

export type CallStatuses = ReturnType<typeof makeCallStatuses>

/**
 * The time that the Agent waits longer than its Computer waits for an approval: the result of the Computer, and not the
 * timeout of the Agent, ends the call.
 */
const waitMargin = Duration.seconds(2)

/** Follows the calls that wait for an approval. */
export interface WaitObserver {
  /** A call waits for this approval. */
  readonly onWait: (approval: AwaitedApproval, computer: ComputerName) => Effect.Effect<void>
  /** Someone decided about a call of this Computer. */
  readonly onDecided: (computer: ComputerName) => Effect.Effect<void>
  /** The call that waited for this approval has ended. */
  readonly onEnd: (approval: string) => Effect.Effect<void>
}

interface ListenedCall {
  readonly reqId: RequestId
  readonly computer: ComputerName
  readonly onStatus: OnCallStatus | undefined
  /** The request, when another process makes the call. */
  readonly sharedCall?: Body
}

interface Listener extends Pick<ListenedCall, "computer" | "onStatus"> {
  readonly extendTimeout: (time: Duration.Duration) => void
  /** The id of the approval for which the call waits, or waited. */
  approval?: string
}

/** Passes the statuses that arrive to the calls which they are about. */
export const makeCallStatuses = (observer?: WaitObserver) => {
  const listeners = new Map<string, Listener>()
  return {
    /**
     * Passes the statuses of a call to a function while the effect runs. The effect gets the time by which an approval
     * extends the timeout of the call.
     */
    listen: <A, E, R>(call: ListenedCall, running: (extend: ExtendTimeout) => Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        const { computer, onStatus, reqId } = call
        const extension = makeExtension()
        const listener: Listener = { computer, onStatus, extendTimeout: extension.add }
        listeners.set(reqId, listener)
        return Effect.ensuring(
          running(extension.take),
          Effect.suspend(() => {
            listeners.delete(reqId)
            return (listener.approval && observer?.onEnd(listener.approval)) || Effect.void
          })
        )
      }),
    receive: ({ reqId, status }: CallReport): Effect.Effect<void> =>
      Effect.suspend(() => {
        const listener = listeners.get(reqId)
        if (listener?.computer !== status.computer) return Effect.void
        const { onStatus } = listener
        const notified = onStatus === undefined ? Effect.void : notifyListener(onStatus, status)
        if (status._tag === "Decided")
          return Effect.andThen(observer?.onDecided(status.computer) ?? Effect.void, notified)
        if (status._tag !== "WaitingForConsent" || status.approval === undefined) return notified
        const { id, waitSeconds } = status.approval
        listener.extendTimeout(Duration.sum(Duration.seconds(waitSeconds), waitMargin))
        listener.approval = id
        return Effect.andThen(observer?.onWait(status.approval, status.computer) ?? Effect.void, notified)
      })
  }
}

/** Runs a function of the host, whose failure does not concern the call. */
export const notifyListener = (onStatus: OnCallStatus, status: CallStatus): Effect.Effect<void> =>
  Effect.catchCause(
    Effect.suspend(() => onStatus(status)),
    (cause) => Effect.logError("call status handler failed", cause)
  )
