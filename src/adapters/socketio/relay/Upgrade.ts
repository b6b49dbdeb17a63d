import { Deadlines } from "../connection/Deadlines.ts"
import { upgradeTimeout } from "../limits.ts"
import type { PollingTransport } from "./PollingTransport.ts"
import type { TransportListener } from "./RelayTransport.ts"
import type { WebSocketTransport } from "./WebSocketTransport.ts"

/** Milliseconds between two responses to polls during an upgrade: the client ends its last poll before it goes on. */
const pokeInterval = 100

/** An upgrade of a connection from polling to WebSocket: the client probes the new transport first. */
export interface Upgrade extends TransportListener {
  readonly start: (transport: WebSocketTransport) => void
  /** Closes the new transport. */
  readonly cancel: () => void
}

const upgrades = new Deadlines<Upgrade>(upgradeTimeout, (upgrade) => upgrade.cancel())

const ignore = (): void => undefined

/**
 * Begins an upgrade. `onEnd` gets the transport that takes over, or `undefined` when the connection stays with polling.
 */
export const beginUpgrade = (
  connection: Pick<TransportListener, "isAdmitted">,
  polling: PollingTransport,
  onEnd: (transport?: WebSocketTransport) => void
): Upgrade => {
  let transport: WebSocketTransport | undefined
  let poking: NodeJS.Timeout | undefined
  const end = (next?: WebSocketTransport) => {
    upgrades.stop(upgrade)
    clearInterval(poking)
    onEnd(next)
  }
  const cancel = () => {
    transport?.close(true, ignore)
    end()
  }
  const upgrade: Upgrade = {
    // Messages may follow the end of the upgrade at once.
    get isAdmitted() {
      return connection.isAdmitted
    },
    start: (opened) => void (transport = opened),
    onPacket: (packet) => {
      const text = packet.length > "2probe".length ? "" : packet.toString("latin1")
      if (text === "2probe" && poking === undefined) {
        transport?.sendPacket("3probe")
        polling.poke()
        poking = setInterval(() => polling.poke(), pokeInterval).unref()
      } else if (text === "5") end(transport)
      else cancel()
    },
    onBinary: cancel,
    // Proxies may send some.
    onControlFrame: ignore,
    onTransportClosed: () => end(),
    // The connection counts bytes after the upgrade, and reports the backlog of the transport that it uses.
    onBytesReceived: ignore,
    onBacklogChange: ignore,
    cancel
  }
  upgrades.start(upgrade)
  return upgrade
}
