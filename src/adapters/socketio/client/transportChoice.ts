import { Duration } from "effect"

/** After this time without an answer to its WebSocket, an attempt goes on with polling. */
const webSocketTimeout = Duration.seconds(5)

/** A WebSocket that stalls after a longer time is no sign of a network that stops WebSockets. */
const provenAfter = Duration.toMillis("10 minutes")

/** How long a network that stops WebSockets gets none. */
const avoidance = Duration.toMillis("1 hour")

/** Stalled WebSockets in a row, after which a client avoids WebSockets: one may be a machine that was suspended. */
const maxStalls = 2

/** Reasons of a connection that ends without a sign from the Server. */
const stallReasons: ReadonlySet<string> = new Set(["keepalive_timeout", "join_timeout"])

type TransportName = "polling" | "websocket"

/** Makes the choice of transports, by what a client learns of its network. `transports` of the options are followed. */
export const makeTransportChoice = (transports?: ReadonlyArray<TransportName>) => {
  let hasWebSocket = false
  let stalls = 0
  let avoidedUntil = 0
  return {
    /**
     * The transports of the next attempt. `upgrade` permits polling to change to WebSocket. Polling follows a WebSocket that
     * fails or gets no answer for `fallbackAfter`.
     */
    next: (
      connectTimeout: Duration.Duration
    ): {
      readonly transports: ReadonlyArray<TransportName>
      readonly upgrade: boolean
      readonly fallbackAfter?: Duration.Duration
    } => {
      if (transports !== undefined) return { transports, upgrade: true }
      if (!hasWebSocket) return { transports: ["polling", "websocket"], upgrade: Date.now() >= avoidedUntil }
      const half = Duration.divideUnsafe(connectTimeout, 2)
      // A reconnect over WebSocket is one request instead of at least five. Polling shows the reason of a rejection.
      const fallbackAfter = Duration.min(webSocketTimeout, half)
      return { transports: ["websocket", "polling"], upgrade: true, fallbackAfter }
    },
    onConnected: (transport: string): void => {
      hasWebSocket = transport === "websocket"
    },
    /** A network may swallow WebSockets: then no attempt ever ends. */
    onUnanswered: (): void => {
      hasWebSocket = false
    },
    /** Learns from the end of a connection that has lasted for these milliseconds. */
    onClosed: (transport: string, reason: string, lasted: number): void => {
      if (transport !== "websocket" || !stallReasons.has(reason)) return
      hasWebSocket = false
      stalls = lasted < provenAfter ? stalls + 1 : 1
      if (stalls >= maxStalls) avoidedUntil = Date.now() + avoidance
    }
  }
}

export type TransportChooser = ReturnType<typeof makeTransportChoice>
