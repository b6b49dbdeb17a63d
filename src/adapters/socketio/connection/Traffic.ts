/** The bytes of a connection or of one of its transports. */
export interface Traffic {
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
}

/** What a transport reports to its connection. */
export interface TrafficListener {
  /** {@link Traffic.incompleteBytes} may have changed. */
  readonly onBytesReceived: () => void
  /** {@link Traffic.bufferedBytes} has changed. */
  readonly onBacklogChange: () => void
}
