import {
  type ClientEngine,
  closeStaleClient,
  keepaliveTimeoutOf,
  netSocketOf,
  replacePingTimer,
  startPingTimer
} from "../internals.ts"

/**
 * Counts all bytes received over WebSocket as keepalive. Engine.IO counts pings only, and none arrives before the end of
 * a long message. Browsers hide the bytes of incomplete messages.
 */
export const extendKeepaliveOnData = (engine: ClientEngine): void => {
  let lastDataAt = 0
  const attach = () =>
    netSocketOf(engine)?.on("data", () => {
      lastDataAt = Date.now()
    })
  engine.on("open", attach)
  engine.on("upgrade", attach)

  const armTimer = (millis: number) =>
    startPingTimer(engine, millis, () => {
      const remaining = lastDataAt + keepaliveTimeoutOf(engine) - Date.now()
      if (remaining > 0) armTimer(remaining)
      else closeStaleClient(engine)
    })
  replacePingTimer(engine, () => armTimer(keepaliveTimeoutOf(engine)))
}
