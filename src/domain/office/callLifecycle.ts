import { maxTimeoutSeconds } from "../model/fields.ts"

/** The state of a call at a Server, which waits for the reply of a Computer. */
export type RoutedCallState =
  | {
      readonly _tag: "InFlight"
      /** Time that was added since the timer of the request last rang. */
      readonly addedMillis: number
      /** Time that may still be added. */
      readonly leftMillis: number
    }
  | { readonly _tag: "Ended" }

/** How a call ends, once. */
export type CallEnd =
  /** By a reply that its caller can take. */
  | "Replied"
  /** By an error: its time is over, the link of the Computer has closed, or its reply is unusable. */
  | "Failed"
  /** By the Server: one of its members has left the office, or an operator has cancelled it. */
  | "Aborted"
  /** Its caller does not wait any more: it has disconnected. */
  | "Abandoned"

export type RoutedCallEvent =
  | { readonly _tag: CallEnd }
  /** The Computer has announced that the call waits for a person. */
  | { readonly _tag: "Extended"; readonly millis: number }
  /** The time of the request is over. Added time starts the timer again; without it the request fails. */
  | { readonly _tag: "TimerRang" }

export type RoutedCallCommand =
  /** Drops the request, whose reply may still arrive. */
  | "DropRequest"
  /** Frees the places that the call has in the limits. */
  | "Release"
  /** Reports the outcome to the observers. */
  | "Report"
  /** Notifies the Computer that the caller does not wait any more. */
  | "CancelAtComputer"
  /** Gives the outcome to the caller. */
  | "Reply"

type Step = readonly [RoutedCallState, ReadonlyArray<RoutedCallCommand>]

export const callInFlight: RoutedCallState = { _tag: "InFlight", addedMillis: 0, leftMillis: maxTimeoutSeconds * 1000 }

const callEnded: RoutedCallState = { _tag: "Ended" }

// Made once: a call allocates nothing for its end.
const afterEnd: Step = [callEnded, []]
const ends: { readonly [End in CallEnd]: Step } = {
  Replied: [callEnded, ["Release", "Report", "Reply"]],
  Failed: [callEnded, ["Release", "Report", "CancelAtComputer", "Reply"]],
  Aborted: [callEnded, ["DropRequest", "Release", "Report", "CancelAtComputer", "Reply"]],
  Abandoned: [callEnded, ["DropRequest", "Release", "Report", "CancelAtComputer"]]
}

/** The life of a call at a Server: it may be extended, within an hour in all, and ends exactly once. */
export const callTransition = (state: RoutedCallState, event: RoutedCallEvent): Step => {
  if (state._tag === "Ended") return afterEnd
  if (event._tag === "TimerRang") return [{ ...state, addedMillis: 0 }, []]
  if (event._tag !== "Extended") return ends[event._tag]
  const millis = Math.min(state.leftMillis, event.millis)
  return [{ ...state, addedMillis: state.addedMillis + millis, leftMillis: state.leftMillis - millis }, []]
}
