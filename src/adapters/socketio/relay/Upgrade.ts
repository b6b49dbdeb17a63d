import { Deadlines } from "../connection/Deadlines.ts"
import { upgradeTimeout } from "../limits.ts"
import type { PollingTransport } from "./PollingTransport.ts"
import type { TransportListener } from "./RelayTransport.ts"
import type { WebSocketTransport } from "./WebSocketTransport.ts"

/** Milliseconds between two responses to polls during an upgrade: the client ends its last poll before it goes on. */
const pokeInterval = 100

/** The upgrades in progress, by the functions that cancel them. */
const upgrades = new Deadlines<() => void>(upgradeTimeout, (cancel) => cancel())

const ignore = (): void => undefined

interface UpgradeParts {
  readonly connection: Pick<TransportListener, "isAdmitted">
  readonly polling: PollingTransport
  readonly open: (listener: TransportListener) => WebSocketTransport
  /** Gets the transport that takes over; none when the connection stays with polling. */
  readonly onEnd: (transport?: WebSocketTransport) => void
}

/**
 * Upgrades a connection from polling to WebSocket: the client probes the new transport first. The returned function
 * cancels the upgrade.
 */
export const startUpgrade = ({ connection, onEnd, open, polling }: UpgradeParts): (() => void) => {
  let poking: NodeJS.Timeout | undefined
  const end = (next?: WebSocketTransport) => {
    upgrades.stop(cancel)
    clearInterval(poking)
    onEnd(next)
  }
  const cancel = () => {
    transport.close(true, ignore)
    end()
  }
  const transport = open({
    // Messages may follow the end of the upgrade at once.
    get isAdmitted() {
      return connection.isAdmitted
    },
    onPacket: (packet) => {
      const text = packet.length > "2probe".length ? "" : packet.toString("latin1")
      if (text === "2probe" && poking === undefined) {
        transport.sendPacket("3probe")
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
    onBacklogChange: ignore
  })
  upgrades.start(cancel)
  return cancel
}
