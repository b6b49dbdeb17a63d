import { Clock, Effect, SubscriptionRef } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { isRunning, type ServerState } from "../../application/computer/servers/ServerState.ts"
import { isWindowUri } from "../../domain/desktop/WindowUri.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"

/** The state of a server in a word or two. */
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

/** Why a server is in its state, and what comes next; `now` in milliseconds since 1970. */
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

/** How much of a running server the office can use; nothing for others. */
export const formatServerOffer = (name: string, state: ServerState, { entries }: Catalogue): string => {
  if (!isRunning(state)) return ""
  const tools = [...entries.values()].filter(({ server }) => server === name).length
  return `${formatCount(tools, "tool")}, ${formatCount(state.resources.filter(isWindow).length, "window")}`
}

/** A server that does not run, in one line: why, and what comes next. */
export const notRunningReason = (state: ServerState | undefined): Effect.Effect<string | undefined> =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    state === undefined || isRunning(state)
      ? undefined
      : [stateLabel(state), stateReason(state, now)].filter(Boolean).join(": ")
  )

/** Where the Computer sits, in one line. */
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
      return `lost office ${office}, coming back: ${status.reason}`
    case "Failed":
      return `out of office ${office} for good: ${status.error.message}`
  }
})
