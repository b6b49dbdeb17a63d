import type { Socket } from "node:net"
import type { Socket as EngineSocket, Transport } from "engine.io"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"

/** What a transport reports past the events of Engine.IO. */
export interface TransportListener {
  /** Receives short messages, where the transport can report them. */
  readonly onShortMessage: (bytes: Buffer) => void
  /** {@link RelayTransport.incompleteBytes} may have changed. */
  readonly onBytesReceived: () => void
  /** {@link RelayTransport.bufferedBytes} has changed. */
  readonly onBacklogChange: () => void
}

/** A transport of Engine.IO that relays messages as bytes. */
export interface RelayTransport extends Transport {
  listener: TransportListener | undefined
  /** Prepares the transport that opened a connection. */
  readonly onConnection?: (engineSocket: EngineSocket) => void
  /** Sends a message at once; false when it has to wait in Engine.IO's queue. */
  readonly trySend: (message: OutboundMessage) => boolean
  /** Bytes that the transport holds and the network has not taken. */
  readonly bufferedBytes: () => number
  /** Bytes that the network has taken. */
  readonly sentBytes: () => number
  /** Approximate memory of the message that has arrived in part. */
  readonly incompleteBytes: () => number
  /** Bytes that have arrived. */
  readonly receivedBytes: () => number
  /** Reads nothing for some milliseconds, where the transport can do that. */
  readonly pauseFor: (millis: number) => void
  /** Accepts messages of any allowed size: the member is admitted. */
  readonly liftSizeLimit: () => void
  /** The connections that carry messages now. */
  readonly netSockets: () => ReadonlyArray<Socket>
}

/** The transport that a connection uses now. {@link RelayEngine} makes no others. */
export const relayTransportOf = ({ transport }: EngineSocket): RelayTransport => transport as RelayTransport
