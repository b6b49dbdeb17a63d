import { Deadlines } from "../connection/Deadlines.ts"
import { upgradeTimeout } from "../limits.ts"
import type { PollingTransport } from "./PollingTransport.ts"
import type { TransportListener } from "./RelayTransport.ts"
import type { WebSocketTransport } from "./WebSocketTransport.ts"

/** Milliseconds between two responses to polls during an upgrade: the client ends its last poll before it goes on. */
const pokeInterval = 100

const upgrades = new Deadlines<Upgrade>(upgradeTimeout, (upgrade) => upgrade.cancel())

/** An upgrade of a connection from polling to WebSocket: the client probes the new transport first. */
export class Upgrade implements TransportListener {
  readonly #connection: Pick<TransportListener, "isAdmitted">
  readonly #polling: PollingTransport
  readonly #onEnd: (transport: WebSocketTransport | undefined) => void
  #transport: WebSocketTransport | undefined
  #poking: NodeJS.Timeout | undefined

  /** `onEnd` gets the transport that takes over, or `undefined` when the connection stays with polling. */
  constructor(
    connection: Pick<TransportListener, "isAdmitted">,
    polling: PollingTransport,
    onEnd: (transport: WebSocketTransport | undefined) => void
  ) {
    this.#connection = connection
    this.#polling = polling
    this.#onEnd = onEnd
    upgrades.start(this)
  }

  /** Messages may follow the end of the upgrade at once. */
  get isAdmitted(): boolean {
    return this.#connection.isAdmitted
  }

  start(transport: WebSocketTransport): void {
    this.#transport = transport
  }

  onPacket(packet: Buffer): void {
    const text = packet.length > "2probe".length ? "" : packet.toString("latin1")
    if (text === "2probe" && this.#poking === undefined) {
      this.#transport?.sendPacket("3probe")
      this.#polling.poke()
      this.#poking = setInterval(() => this.#polling.poke(), pokeInterval).unref()
    } else if (text === "5") this.#end(this.#transport)
    else this.cancel()
  }

  onBinary(): void {
    this.cancel()
  }

  onControlFrame(): void {
    // Proxies may send some.
  }

  onTransportClosed(): void {
    this.#end(undefined)
  }

  onBytesReceived(): void {
    // The connection counts them after the upgrade.
  }

  onBacklogChange(): void {
    // The connection reports its own transport.
  }

  /** Closes the new transport. */
  cancel(): void {
    this.#transport?.close(true, () => undefined)
    this.#end(undefined)
  }

  #end(transport: WebSocketTransport | undefined): void {
    upgrades.stop(this)
    clearInterval(this.#poking)
    this.#onEnd(transport)
  }
}
