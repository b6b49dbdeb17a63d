import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import type { Traffic, TrafficListener } from "../connection/Traffic.ts"

/** What a transport reports. */
export interface TransportListener extends TrafficListener {
  /** True once messages of any allowed size are accepted. */
  readonly isAdmitted: boolean
  /** Gets a packet of Engine.IO: its type as a digit, and its data. */
  readonly onPacket: (packet: Buffer) => void
  readonly onBinary: () => void
  /** Counts a frame that carries no packet. */
  readonly onControlFrame: () => void
  /** Runs once, with the code of the reason. */
  readonly onTransportClosed: (transport: RelayTransport, reason: string) => void
}

/** A way to carry the packets of a connection. */
export interface RelayTransport extends Traffic {
  listener: TransportListener
  readonly send: (message: OutboundMessage) => void
  /** Sends a packet of Engine.IO. */
  readonly sendPacket: (packet: string) => void
  /** Closes the transport; `discard` drops what the peer has not read. `onClosed` runs when nothing waits any more. */
  readonly close: (discard: boolean, onClosed: () => void) => void
}
