import { Clock, Effect, SubscriptionRef } from "effect"
import { Computer } from "../../../application/computer/Computer.ts"
import { isOffered, type ServerState } from "../../../application/computer/servers/ServersSnapshot.ts"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { Catalogue } from "../../../domain/tools/catalogue.ts"
import { formatQuantity } from "../../../application/shared/formatQuantity.ts"

/** A short label for the state of a server: "backing off" for `BackingOff`. */
export const stateLabel = ({ _tag }: ServerState): string => _tag.replaceAll(/\B[A-Z]/g, " $&").toLowerCase()

/** What is missing of the windows and documents of a running server with resources. */
const subscriptionNote = (state: ServerState): string =>
  isOffered(state) && state.resources.length > 0 && !state.session.info.capabilities.subscribe
    ? "lacks subscribe: only --all-windows shows its windows and documents, without updates"
    : ""

/** The reason for a state and the next attempt; `now` in milliseconds since the epoch. */
export const stateReason = (state: ServerState, now: number): string => {
  if (state._tag === "Ready") return subscriptionNote(state)
  if (state._tag === "Degraded") return [state.reason, subscriptionNote(state)].filter(Boolean).join("; ")
  if (state._tag === "Idle") return state.failure?.reason ?? "starts on request"
  if (state._tag === "Starting") return `attempt ${state.attempt}`
  if (state._tag !== "BackingOff") return state.reason
  const seconds = Math.max(0, Math.ceil((state.retryAt - now) / 1000))
  return `${state.reason}; attempt ${state.attempt} in ${seconds} s`
}

const isWindow = ({ uri }: JsonObject): boolean => typeof uri === "string" && isWindowUri(uri)

/** The number of tools and windows of a running server; empty for others. */
export const formatServerOffer = (name: string, state: ServerState, { entries }: Catalogue): string => {
  if (!isOffered(state)) return ""
  const tools = [...entries.values()].filter(({ server }) => server === name).length
  return `${formatQuantity(tools, "tool")}, ${formatQuantity(state.resources.filter(isWindow).length, "window")}`
}

/** True for a lazy server that could not start, or was lost. */
const hasFailed = (state: ServerState): boolean => state._tag === "Idle" && state.failure !== undefined

/** The state and reason of a server that does not run although it should, in one line. */
export const notRunningReason = (state: ServerState | undefined): Effect.Effect<string | undefined> =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    state === undefined || (isOffered(state) && !hasFailed(state))
      ? undefined
      : [stateLabel(state), stateReason(state, now)].filter(Boolean).join(": ")
  )

/** The status of the membership, in one line. */
export const officeStatusLine = Effect.gen(function* () {
  const computer = yield* Computer
  const office = yield* computer.office
  if (office === undefined) return "in no office"
  const member = yield* computer.member
  if (member === undefined) return `joining office ${office}`
  const status = yield* SubscriptionRef.get(member.status)
  switch (status._tag) {
    case "Joined":
      return `in office ${office}`
    case "Disconnected":
      return `disconnected from office ${office}, reconnecting: ${status.reason}`
    case "Failed":
      return `membership of office ${office} ended: ${status.error.message}`
  }
})
