import { Effect } from "effect"
import type { CallReport, CallStatus } from "../../domain/model/CallStatus.ts"

/** Receives the reason why a call waits. The Agent ignores a failure, after logging it. */
export type OnCallStatus = (status: CallStatus) => Effect.Effect<void>

export type CallStatuses = ReturnType<typeof makeCallStatuses>

/** Passes the statuses that arrive to the calls which they are about. */
export const makeCallStatuses = () => {
  const listeners = new Map<string, { readonly computer: string; readonly onStatus: OnCallStatus }>()
  return {
    /** Passes the statuses of a call to a function while the effect runs. */
    listen: <A, E, R>(
      call: { readonly reqId: string; readonly computer: string; readonly onStatus: OnCallStatus | undefined },
      running: Effect.Effect<A, E, R>
    ): Effect.Effect<A, E, R> => {
      const { computer, onStatus, reqId } = call
      return onStatus === undefined
        ? running
        : Effect.acquireUseRelease(
            Effect.sync(() => void listeners.set(reqId, { computer, onStatus })),
            () => running,
            () => Effect.sync(() => void listeners.delete(reqId))
          )
    },
    /** Handles a status that the Server forwarded. */
    receive: ({ reqId, status }: CallReport): Effect.Effect<void> => {
      const listener = listeners.get(reqId)
      return listener?.computer === status.computer ? notifyListener(listener.onStatus, status) : Effect.void
    }
  }
}

/** Runs a function of the host, whose failure does not concern the call. */
export const notifyListener = (onStatus: OnCallStatus, status: CallStatus): Effect.Effect<void> =>
  Effect.catchCause(
    Effect.suspend(() => onStatus(status)),
    (cause) => Effect.logError("call status handler failed", cause)
  )
