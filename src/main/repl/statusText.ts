import { Clock, Effect, SubscriptionRef } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { isRunning, type ServerState } from "../../application/computer/servers/ServersSnapshot.ts"
import { isWindowUri } from "../../domain/desktop/WindowUri.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"

/** A short label for the state of a server. */
export const stateLabel = (state: ServerState): string => {
  switch (state._tag) {
    case "Stopped":
      return "stopped"
    case "Starting":
      return "starting"
    case "Ready":
      return "ready"
    case "Degraded":
      return "degraded"
    case "BackingOff":
      return "backing off"
    case "Failed":
      return "failed"
  }
}

/** The reason for a state and the next attempt; `now` in milliseconds since the epoch. */
export const stateReason = (state: ServerState, now: number): string => {
  switch (state._tag) {
    case "Ready":
      return ""
    case "Starting":
      return `attempt ${state.attempt}`
    case "BackingOff": {
      const seconds = Math.max(0, Math.ceil((state.retryAt - now) / 1000))
      return `${state.reason}; attempt ${state.attempt} in ${seconds} s`
    }
    case "Stopped":
    case "Degraded":
    case "Failed":
      return state.reason
  }
}

const formatCount = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

const isWindow = ({ uri }: JsonObject): boolean => typeof uri === "string" && isWindowUri(uri)

/** The number of tools and windows of a running server; empty for others. */
export const formatServerOffer = (name: string, state: ServerState, { entries }: Catalogue): string => {
  if (!isRunning(state)) return ""
  const tools = [...entries.values()].filter(({ server }) => server === name).length
  return `${formatCount(tools, "tool")}, ${formatCount(state.resources.filter(isWindow).length, "window")}`
}

/** The state and reason of a server that does not run, in one line. */
export const notRunningReason = (state: ServerState | undefined): Effect.Effect<string | undefined> =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    state === undefined || isRunning(state)
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
    case "Lost":
      return `disconnected from office ${office}, reconnecting: ${status.reason}`
    case "Ended":
      return `membership of office ${office} ended: ${status.error.message}`
  }
})
