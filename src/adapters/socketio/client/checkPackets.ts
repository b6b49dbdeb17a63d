import { Schema } from "effect"
import { parseJson } from "../../../domain/json.ts"
import * as internals from "../internals.ts"

/** Counts all received bytes as keepalive: no ping arrives during a long message, whose bytes browsers and Bun hide. */
export const extendKeepaliveOnData = (engine: internals.ClientEngine): void => {
  let lastDataAt = 0
  const attach = () =>
    internals.netSocketOf(engine)?.on("data", () => {
      lastDataAt = Date.now()
    })
  engine.on("open", attach)
  engine.on("upgrade", attach)

  const armTimer = (millis: number) =>
    internals.startPingTimer(engine, millis, () => {
      const remaining = lastDataAt + internals.keepaliveTimeoutOf(engine) - Date.now()
      if (remaining > 0) armTimer(remaining)
      else internals.closeStaleClient(engine)
    })
  internals.replacePingTimer(engine, () => armTimer(internals.keepaliveTimeoutOf(engine)))
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
export const rejectUnexpectedPackets = (engine: internals.ClientEngine): void => {
  engine.on("packet", (packet) => {
    if (isExpected(engine.readyState, packet)) return
    const { transport } = engine
    packet.type = "error"
    // When another transport follows, the engine leaves this one open.
    queueMicrotask(() => void transport.close())
  })
}
