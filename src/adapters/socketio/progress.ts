import type { Socket } from "node:net"

/** What Node counts below a socket, and does not declare. */
interface Handle {
  readonly bytesWritten: number
  /** Bytes that the network has not taken yet. */
  readonly writeQueueSize: number
  /** What carries the bytes, where these are for TLS, which says of none that it is on its way before all are. */
  readonly _parent?: Handle
}

/** How far the bytes of a connection have come. */
export interface Progress {
  readonly socket: Socket
  readonly read: number
  readonly sent: number
  readonly waiting: number
}

/**
 * Bytes that have to come in a second at least: slower than any line that is of use, and fast enough that nobody keeps
 * what it has begun to send in our memory for ever.
 */
const leastRate = 1024

/** How far the bytes of a connection have come until now. */
export const progressOf = (socket: Socket): Progress => {
  const { _handle: own } = socket as { readonly _handle?: Handle | null }
  const handle = own?._parent ?? own
  const waiting = handle?.writeQueueSize ?? 0
  return { socket, read: socket.bytesRead, sent: (handle?.bytesWritten ?? 0) - waiting, waiting }
}

/**
 * Has the far end sent something in these milliseconds, or taken some of what waited for it? What did not have to wait
 * says nothing: it may lie in a buffer on its way to nobody.
 */
export const hasMoved = ({ read, sent, socket, waiting }: Progress, millis: number): boolean => {
  const now = progressOf(socket)
  return now.read - read >= (leastRate * millis) / 1000 || (waiting > 0 && now.sent > sent)
}
