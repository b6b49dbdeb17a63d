import { maxTimeoutSeconds } from "../model/fields.ts"

/** Elicitations of one call, which are answered one after the other. Further ones are declined. */
const maxElicitations = 32

/** Milliseconds between two reports of the progress of a call. */
const progressInterval = 500

/** How a call ended that reached an MCP server. It is cancelled by its Agent, by the shell, or at the end of the membership. */
export type CallOutcome = "done" | "failed" | "cancelled" | "timed_out"

interface CallTimes {
  /** When its timeout is over, in milliseconds of the epoch. It moves on by the time that does not count. */
  readonly deadline: number
  /** Since when the time does not count: its caller waits longer. */
  readonly pausedAt?: number
  /** How long an approval may take, in milliseconds. */
  readonly approvalTimeout: number
  /** By how many milliseconds its caller may yet wait longer. */
  readonly extensionLeft: number
  readonly elicitations: number
  /** Progress before this time is not reported. */
  readonly progressFrom: number
}

export type CallState = { readonly times: CallTimes } & (
  | { readonly _tag: "Preparing" }
  /** An MCP server starts that may have its tool. */
  | { readonly _tag: "WaitingForServers" }
  /** `extension` is the longest wait where the caller waits longer. */
  | { readonly _tag: "WaitingForConsent"; readonly since: number; readonly extension: number }
  /** Its MCP server executes the tool; a lazy one starts for it. */
  | { readonly _tag: "Running" }
  | { readonly _tag: "WaitingForElicitation"; readonly since: number }
  | { readonly _tag: "Ended" }
)

export type CallAct =
  | { readonly _tag: "ServersAwaited" }
  | { readonly _tag: "ServersReady" }
  | { readonly _tag: "ConsentAwaited" }
  | { readonly _tag: "ConsentDecided" }
  | { readonly _tag: "Started" }
  /** The MCP server asks. Elicitations are answered one after the other. */
  | { readonly _tag: "Elicited" }
  | { readonly _tag: "AnswerAwaited" }
  | { readonly _tag: "Answered" }
  /** The caller knows that the call waits, and waits longer. */
  | { readonly _tag: "Extended" }
  | { readonly _tag: "Progressed" }
  | { readonly _tag: "TimePassed" }
  | { readonly _tag: "Returned"; readonly outcome: Exclude<CallOutcome, "timed_out"> }

/** An act and its time, in milliseconds of the epoch. */
export type CallEvent = CallAct & { readonly at: number }

export type CallCommand =
  /** Waits for `limit`, or for `extension` where the caller waits longer; in milliseconds. */
  | { readonly _tag: "Wait"; readonly limit: number; readonly extension: number }
  | { readonly _tag: "Elicit" }
  | { readonly _tag: "ReportProgress" }
  | { readonly _tag: "Record"; readonly outcome: CallOutcome }

type Transition = readonly [CallState, CallCommand?]

/** The state of a call that arrives. Times are in milliseconds. */
export const acceptCall = (at: number, timeout: number, approvalTimeout: number): CallState => ({
  _tag: "Preparing",
  times: {
    deadline: at + timeout,
    approvalTimeout,
    extensionLeft: maxTimeoutSeconds * 1000,
    elicitations: 0,
    progressFrom: 0
  }
})

/** The time that a call has left, in milliseconds. */
export const timeLeft = ({ times: { deadline, pausedAt } }: CallState, now: number): number =>
  Math.max(0, deadline - (pausedAt ?? now))

export const isPaused = ({ times }: CallState): boolean => times.pausedAt !== undefined

/** How long a call may wait that has this time left: then it runs its tool, or tells what it waited for. */
export const waitLimit = (left: number): number => left - Math.min(left * 0.1, 2000)

/** The times after a wait, of which the caller has used some of its extension. */
const resume = ({ deadline, pausedAt, ...times }: CallTimes, at: number, used: number): CallTimes => ({
  ...times,
  deadline: pausedAt === undefined ? deadline : deadline + at - pausedAt,
  extensionLeft: times.extensionLeft - used
})

const wait = (state: CallState, at: number) => ({
  _tag: "Wait" as const,
  limit: waitLimit(timeLeft(state, at)),
  extension: Math.max(0, Math.min(state.times.approvalTimeout, state.times.extensionLeft))
})

const end = (times: CallTimes, at: number, outcome: CallOutcome): Transition => [
  { _tag: "Ended", times: resume(times, at, 0) },
  { _tag: "Record", outcome }
]

/**
 * Changes the state of a call. It is prepared, which includes waits for MCP servers and for consent, and runs at an MCP
 * server, which may ask its user. An event that does not fit its state changes nothing.
 */
export const transitionCall = (state: CallState, event: CallEvent): Transition => {
  const { _tag: tag, times } = state
  const { at } = event
  const isAtServer = tag === "Running" || tag === "WaitingForElicitation"
  switch (event._tag) {
    case "ServersAwaited":
      return tag === "Preparing" ? [{ _tag: "WaitingForServers", times }] : [state]
    case "ServersReady":
      return tag === "WaitingForServers" ? [{ _tag: "Preparing", times }] : [state]
    case "ConsentAwaited": {
      if (tag !== "Preparing") return [state]
      const command = wait(state, at)
      return [{ _tag: "WaitingForConsent", since: at, extension: command.extension, times }, command]
    }
    case "ConsentDecided": {
      if (tag !== "WaitingForConsent") return [state]
      // The caller does not tell when it has heard of the decision.
      return [{ _tag: "Preparing", times: resume(times, at, isPaused(state) ? state.extension : 0) }]
    }
    case "Started":
      return tag === "Preparing" ? [{ _tag: "Running", times }] : [state]
    case "Elicited": {
      if (!isAtServer || times.elicitations >= maxElicitations) return [state]
      return [{ ...state, times: { ...times, elicitations: times.elicitations + 1 } }, { _tag: "Elicit" }]
    }
    case "AnswerAwaited":
      return tag === "Running" ? [{ _tag: "WaitingForElicitation", since: at, times }, wait(state, at)] : [state]
    case "Answered":
      return tag === "WaitingForElicitation"
        ? [{ _tag: "Running", times: resume(times, at, at - state.since) }]
        : [state]
    case "Extended":
      return tag === "WaitingForConsent" || tag === "WaitingForElicitation"
        ? [{ ...state, times: { ...times, pausedAt: state.since } }]
        : [state]
    case "Progressed":
      return isAtServer && at >= times.progressFrom
        ? [{ ...state, times: { ...times, progressFrom: at + progressInterval } }, { _tag: "ReportProgress" }]
        : [state]
    case "TimePassed":
      return isAtServer && !isPaused(state) && timeLeft(state, at) === 0 ? end(times, at, "timed_out") : [state]
    case "Returned":
      return isAtServer ? end(times, at, event.outcome) : [state]
  }
}
