import type { Socket } from "node:net"
import type { Socket as EngineSocket, Transport } from "engine.io"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import type { Traffic, TrafficListener } from "../connection/Traffic.ts"

/** What a transport reports past the events of Engine.IO. */
export interface TransportListener extends TrafficListener {
  /** Receives short messages, where the transport can report them. */
  readonly onShortMessage: (bytes: Buffer) => void
}

/** A transport of Engine.IO that relays messages as bytes. */
export interface RelayTransport extends Transport {
  readonly traffic: Traffic
  listener: TransportListener | undefined
  /** Prepares the transport that opened a connection. */
  readonly onConnection?: (engineSocket: EngineSocket) => void
  /** Sends a message at once; false when it has to wait in Engine.IO's queue. */
  readonly trySend: (message: OutboundMessage) => boolean
  /** Accepts messages of any allowed size: the member is admitted. */
  readonly liftSizeLimit: () => void
  /** The connections that carry messages now. */
  readonly netSockets: () => ReadonlyArray<Socket>
}

/** The transport that a connection uses now. {@link RelayEngine} makes no others. */
export const relayTransportOf = ({ transport }: EngineSocket): RelayTransport => transport as RelayTransport
