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
