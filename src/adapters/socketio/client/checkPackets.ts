import { Schema } from "effect"
import type { Socket } from "socket.io-client"
import { maxTimerMillis } from "../../../application/ports/Transport.ts"
import { parseJson } from "../../../domain/json.ts"

type ClientEngine = Socket["io"]["engine"]

/** The share of the keepalive time between two looks at the received bytes. */
const lookShare = 1 / 16

/**
 * Closes a connection that is silent for the keepalive time of its Server, after `onStale`. All bytes count: no ping arrives
 * during a long message. Browsers and Bun hide bytes, there only whole packets count.
 */
export const closeWhenSilent = (engine: ClientEngine, receivedBytes: () => number, onStale: () => void): void => {
  let timer: ReturnType<typeof setTimeout> | undefined
  engine.once("handshake", (handshake) => {
    const timeout = handshake.pingInterval + handshake.pingTimeout
    // The timer of the engine, which counts pings only, must not fire before.
    handshake.pingInterval = 0
    handshake.pingTimeout = maxTimerMillis
    let seenBytes = 0
    let aliveAt = Date.now()
    engine.on("packet", () => {
      aliveAt = Date.now()
    })
    const look = () => {
      const bytes = receivedBytes()
      if (bytes !== seenBytes) aliveAt = Date.now()
      seenBytes = bytes
      if (Date.now() - aliveAt < timeout) timer = setTimeout(look, timeout * lookShare)
      else {
        onStale()
        engine.transport.close()
      }
    }
    look()
  })
  engine.once("close", () => clearTimeout(timer))
}

/** Ends the first transport of a client that has not opened, as after an error: the next transport follows. */
export const failOpeningTransport = ({ readyState, transport }: ClientEngine, reason: string): void => {
  if (readyState !== "opening") return
  const events = transport as { readonly emit: (event: string, error: Error) => unknown }
  events.emit("error", new Error(reason))
  // The engine ignores the transport now, and leaves it open.
  transport.close()
}

const Millis = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

const isHandshake = Schema.is(
  Schema.Struct({
    sid: Schema.NonEmptyString,
    upgrades: Schema.Array(Schema.String),
    pingInterval: Millis,
    pingTimeout: Millis,
    maxPayload: Schema.optionalKey(Schema.NullOr(Schema.Finite))
  })
)

/** True for a packet that a Server sends in this state: the first packet opens the connection, and only this one does. */
const isExpected = (readyState: string, { data, type }: { readonly type: string; readonly data?: unknown }): boolean =>
  type === "open"
    ? readyState === "opening" && typeof data === "string" && isHandshake(parseJson(data))
    : readyState !== "opening"

/**
 * Turns unexpected packets into transport errors, such as those of a proxy that answers for its Server. Engine.IO takes every
 * packet as it comes: an invalid handshake would be an uncaught exception, and a message without one would be ignored.
 */
export const rejectUnexpectedPackets = (engine: ClientEngine): void => {
  engine.on("packet", (packet) => {
    if (isExpected(engine.readyState, packet)) return
    const { transport } = engine
    packet.type = "error"
    // When another transport follows, the engine leaves this one open.
    queueMicrotask(() => void transport.close())
  })
}
