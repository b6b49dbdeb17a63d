import type { Socket } from "node:net"

/** What Node counts below a socket, and does not declare. */
interface TcpHandle {
  readonly bytesWritten: number
  /** Bytes that the network has not taken yet. */
  readonly writeQueueSize: number
  /** What carries the bytes, where these are for TLS, which says of none that it is on its way before all are. */
  readonly _parent?: TcpHandle
}

/** How far the bytes of a connection have come. */
export interface SocketProgress {
  readonly socket: Socket
  readonly bytesRead: number
  readonly bytesSent: number
  readonly bytesQueued: number
}

/**
 * Bytes that have to come in a second at least: slower than any line that is of use, and fast enough that nobody keeps
 * what it has begun to send in our memory for ever.
 */
const minBytesPerSecond = 1024

/** How far the bytes of a connection have come until now. */
export const measureProgress = (socket: Socket): SocketProgress => {
  const { _handle: own } = socket as { readonly _handle?: TcpHandle | null }
  const handle = own?._parent ?? own
  const bytesQueued = handle?.writeQueueSize ?? 0
  return {
    socket,
    bytesRead: socket.bytesRead,
    bytesSent: (handle?.bytesWritten ?? 0) - bytesQueued,
    bytesQueued
  }
}

/**
 * Has the far end sent something in these milliseconds, or taken some of what waited for it? What did not have to wait
 * says nothing: it may lie in a buffer on its way to nobody.
 */
export const hasProgressed = (
  { bytesRead, bytesSent, socket, bytesQueued }: SocketProgress,
  millis: number
): boolean => {
  const now = measureProgress(socket)
  return (
    now.bytesRead - bytesRead >= (minBytesPerSecond * millis) / 1000 ||
    (bytesQueued > 0 && now.bytesSent > bytesSent)
  )
}
