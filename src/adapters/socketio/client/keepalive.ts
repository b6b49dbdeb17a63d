/** What is needed of a WebSocket in Node to hear the bytes of a message that is not complete; browsers hide them. */
interface NetSocket {
  on(event: "data", listener: () => void): unknown
}

/** The parts of a client of Engine.IO by which it finds out that its server is gone. */
export interface ClientEngineInternals {
  readonly transport: { readonly ws?: { readonly _socket?: NetSocket } | null }
  readonly _pingInterval: number
  readonly _pingTimeout: number
  _pingTimeoutTime: number
  _pingTimeoutTimer: ReturnType<typeof setTimeout> | undefined
  _resetPingTimeout: () => void
  _onClose(reason: string): void
  on(event: "open" | "upgrade", listener: () => void): unknown
}

/**
 * Lets a client wait for the end of a long message. For Engine.IO only a ping says that the server is there, and none
 * comes before the message has passed, however slowly. From now on whatever comes over WebSocket is a sign of life.
 */
export const extendKeepaliveOnData = (engine: ClientEngineInternals): void => {
  let lastDataAt = 0
  const attach = () => {
    engine.transport.ws?._socket?.on("data", () => {
      lastDataAt = Date.now()
    })
  }
  engine.on("open", attach)
  engine.on("upgrade", attach)

  const keepaliveTimeout = () => engine._pingInterval + engine._pingTimeout
  const armTimer = (millis: number) => {
    clearTimeout(engine._pingTimeoutTimer)
    engine._pingTimeoutTime = Date.now() + millis
    engine._pingTimeoutTimer = setTimeout(() => {
      const remaining = lastDataAt + keepaliveTimeout() - Date.now()
      if (remaining > 0) armTimer(remaining)
      else engine._onClose("ping timeout")
    }, millis)
  }
  engine._resetPingTimeout = () => armTimer(keepaliveTimeout())
}
