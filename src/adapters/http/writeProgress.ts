import type { Socket } from "node:net"

interface TcpHandle {
  readonly bytesWritten?: number
  readonly writeQueueSize?: number
  /** The TCP handle of a TLS handle. TLS counts a write only when all of it is sent. */
  readonly _parent?: TcpHandle
}

/** Bytes that the network took from a socket, and bytes that still wait; only whole writes where the handle counts none. */
export const writeProgressOf = (socket: Socket) => {
  const { _handle: own } = socket as { readonly _handle?: TcpHandle | null }
  const handle = own?._parent ?? own
  const bytesQueued = handle?.writeQueueSize ?? socket.writableLength
  return { bytesSent: (handle?.bytesWritten ?? socket.bytesWritten) - bytesQueued, bytesQueued }
}
