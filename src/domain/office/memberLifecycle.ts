import { Match } from "effect"
import { errorCodes, isRetryableMessage } from "../model/ProtocolError.ts"
import type { CurrentMember } from "./membershipConflict.ts"

/** Why a member could not connect or join. */
export type JoinFailure =
  | { readonly _tag: "Unreachable"; readonly message: string; readonly permanent?: boolean; readonly reason?: string }
  | {
      readonly _tag: "AdmissionRejected"
      readonly message: string
      readonly code: number
      readonly retryable?: boolean
    }
  | { readonly _tag: "JoinRejected"; readonly message: string; readonly current?: CurrentMember }
  | { readonly _tag: "VersionRejected"; readonly message: string }

/** What a member keeps from one connection to the next. */
interface History {
  /** Retries the first join while its failure is temporary. */
  readonly retriesFirstJoin: boolean
  readonly hasJoined: boolean
  /** Failed attempts since the last join, or since the last wait for a place. */
  readonly failures: number
  /** The reasons of failed attempts since the last join: each is logged once. */
  readonly reasons: ReadonlyArray<string>
  /** Waits of the first join for its place. */
  readonly placeWaits: number
  /** Consecutive short memberships. Each costs the office two notifications, so they are delayed. */
  readonly shortLived: number
}

export type MemberState =
  /** It connects and joins. The Server may tell it already that another connection has replaced it. */
  | { readonly _tag: "Connecting"; readonly history: History; readonly isReplaced: boolean }
  | { readonly _tag: "Joined"; readonly history: History; readonly isReplaced: boolean }
  /** It waits before its next attempt: for a Server, or until its place is free. The first wait is 1. */
  | {
      readonly _tag: "Waiting"
      readonly history: History
      readonly for: "server" | "place"
      readonly attempt: number
    }
  | { readonly _tag: "Ended" }

export type MemberEvent<F extends JoinFailure> =
  | { readonly _tag: "Joined" }
  /** `placeMillis`: how long it may still wait for its place. */
  | { readonly _tag: "JoinFailed"; readonly failure: F; readonly placeMillis: number }
  /** Another connection of the same identity has taken the membership over. */
  | { readonly _tag: "Replaced" }
  | { readonly _tag: "Lost"; readonly reason: string; readonly lastedMillis: number }
  | { readonly _tag: "WaitOver" }

export type MemberCommand<F extends JoinFailure> =
  | { readonly _tag: "AnnounceJoin"; readonly isRejoin: boolean }
  | { readonly _tag: "AnnounceLoss"; readonly reason: string }
  | { readonly _tag: "LogRetry"; readonly reason: string }
  | { readonly _tag: "LogPlaceTaken"; readonly current: CurrentMember }
  /** The first join has failed for good. */
  | { readonly _tag: "FailFirstJoin"; readonly failure: F }
  | { readonly _tag: "FailRejoin"; readonly failure: F }
  | { readonly _tag: "GiveWay" }

type Step<F extends JoinFailure> = readonly [MemberState, ReadonlyArray<MemberCommand<F>>]

/** A membership of this duration, in milliseconds, was stable: the member rejoins at once. */
const stableAfterMillis = 2000

const ended: MemberState = { _tag: "Ended" }

const connecting = (history: History): MemberState => ({ _tag: "Connecting", history, isReplaced: false })

export const initialMember = (retriesFirstJoin: boolean): MemberState =>
  connecting({ retriesFirstJoin, hasJoined: false, failures: 0, reasons: [], placeWaits: 0, shortLived: 0 })

export const hasJoined = (state: MemberState): boolean => state._tag !== "Ended" && state.history.hasJoined

/** True for temporary failures: the Server is unreachable or cannot admit this member at present. */
const isTemporary = Match.typeTags<JoinFailure, boolean>()({
  Unreachable: ({ permanent }) => permanent !== true,
  AdmissionRejected: ({ retryable }) => retryable === true,
  JoinRejected: ({ message }) => isRetryableMessage(message),
  VersionRejected: () => false
})

/**
 * A rejoin may outlast more: another member may hold the name, a proxy answers for its Server with 403 or 404, and a
 * certificate that has expired is renewed.
 */
const isRetryable = ({ hasJoined, retriesFirstJoin }: History, failure: JoinFailure): boolean => {
  if (isTemporary(failure)) return hasJoined || retriesFirstJoin
  if (!hasJoined) return false
  return (
    failure._tag === "JoinRejected" ||
    (failure._tag === "Unreachable" && failure.reason !== undefined) ||
    (failure._tag === "AdmissionRejected" && failure.code === errorCodes.notFound)
  )
}

const afterFailure = <F extends JoinFailure>(history: History, failure: F, placeMillis: number): Step<F> => {
  const { hasJoined, placeWaits, reasons } = history
  const { message: reason } = failure
  if (isRetryable(history, failure)) {
    const attempt = history.failures + 1
    const isLogged = reasons.includes(reason)
    const next = { ...history, failures: attempt, reasons: isLogged ? reasons : [...reasons, reason] }
    const commands: Step<F>[1] = isLogged ? [] : [{ _tag: "LogRetry", reason }]
    return [{ _tag: "Waiting", for: "server", attempt, history: next }, commands]
  }
  if (hasJoined) return [ended, [{ _tag: "FailRejoin", failure }]]
  const current = failure._tag === "JoinRejected" ? failure.current : undefined
  if (current === undefined || placeMillis <= 0) return [ended, [{ _tag: "FailFirstJoin", failure }]]
  const attempt = placeWaits + 1
  const commands: Step<F>[1] = attempt > 1 ? [] : [{ _tag: "LogPlaceTaken", current }]
  return [
    { _tag: "Waiting", for: "place", attempt, history: { ...history, failures: 0, placeWaits: attempt } },
    commands
  ]
}

/** The life of a membership: a lost connection is opened again until the Server reports a permanent failure. */
export const memberTransition = <F extends JoinFailure>(state: MemberState, event: MemberEvent<F>): Step<F> => {
  if (event._tag === "Replaced")
    return [state._tag === "Connecting" || state._tag === "Joined" ? { ...state, isReplaced: true } : state, []]
  if (state._tag === "Connecting" && event._tag === "Joined") {
    const history = { ...state.history, hasJoined: true, failures: 0, reasons: [] }
    return [{ ...state, _tag: "Joined", history }, [{ _tag: "AnnounceJoin", isRejoin: state.history.hasJoined }]]
  }
  if (state._tag === "Connecting" && event._tag === "JoinFailed")
    return afterFailure(state.history, event.failure, event.placeMillis)
  if (state._tag === "Joined" && event._tag === "Lost") {
    const loss = { _tag: "AnnounceLoss", reason: event.reason } as const
    if (state.isReplaced) return [ended, [loss, { _tag: "GiveWay" }]]
    const shortLived = event.lastedMillis >= stableAfterMillis ? 0 : state.history.shortLived + 1
    const history = { ...state.history, shortLived }
    return [
      shortLived > 1 ? { _tag: "Waiting", for: "server", attempt: shortLived - 1, history } : connecting(history),
      [loss]
    ]
  }
  return [state._tag === "Waiting" && event._tag === "WaitOver" ? connecting(state.history) : state, []]
}
