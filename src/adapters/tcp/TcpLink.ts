import type { Socket } from "node:net"
import { Cause, Deferred, Effect, Exit, Latch, Stream } from "effect"
import { ByteLinkClosed } from "../../application/ports/ByteLink.ts"
import { formatNetworkError } from "../bytes/networkErrors.ts"
import { closedLocally, closedByPeer, linkCloseTimeout, type OwnedByteLink } from "../bytes/OwnedByteLink.ts"

export const socketOptions = {
  /** A peer that ended its side may still receive. */
  allowHalfOpen: true,
  /** Frames are small, and their senders wait for replies. */
  noDelay: true,
  /** Detects peers that lost power, after this many idle milliseconds. */
  keepAlive: true,
  keepAliveInitialDelay: 30_000
} as const

/** Formats IPv4 addresses of dual-stack sockets as plain IPv4. */
export const formatAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "")

/** Makes a link that owns a socket. Call it in the tick that creates the socket: later, an error has no listener. */
export const makeTcpLink = (socket: Socket, remoteAddress: string): OwnedByteLink => {
  const closed = Deferred.makeUnsafe<string>()
  /** Open while the socket accepts writes. */
  const writable = Latch.makeUnsafe(true)
  /** Open when there may be bytes, or the end. */
  const readable = Latch.makeUnsafe(false)
  let closeReason: string | undefined
  let isClosing = false

  /** Wakes all waiting fibers; the first reason counts. */
  const markClosed = (reason: string): string => {
    closeReason ??= reason
    writable.openUnsafe()
    readable.openUnsafe()
    return closeReason
  }
  const onReadable = () => void readable.openUnsafe()
  // A listener for this event stops the flow: the socket reads ahead by one buffer, then the peer waits.
  socket.on("readable", onReadable)
  socket.on("end", onReadable)
  socket.on("drain", () => writable.openUnsafe())
  socket.on("error", (error) => markClosed(formatNetworkError(error)))
  socket.on("close", () => Deferred.doneUnsafe(closed, Exit.succeed(markClosed(closedByPeer))))

  const pull: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
    // Bytes that arrived before the loss are still readable.
    const chunk: Buffer | null = isClosing ? null : socket.read()
    if (chunk !== null) return Effect.succeed([new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)])
    if (closeReason !== undefined || socket.readableEnded) return Cause.done()
    readable.closeUnsafe()
    return Effect.andThen(readable.await, pull)
  })

  const ensureOpen = Effect.suspend(() =>
    closeReason === undefined ? Effect.void : Effect.fail(new ByteLinkClosed({ reason: closeReason }))
  )
  /** Writes bytes and waits until the socket has passed on its buffer. */
  const write = (bytes: Uint8Array) =>
    Effect.suspend(() => {
      if (socket.write(bytes)) return Effect.void
      writable.closeUnsafe()
      return Effect.andThen(writable.await, ensureOpen)
    })

  const close = Effect.suspend(() => {
    isClosing = true
    markClosed(socket.readableEnded ? closedByPeer : closedLocally)
    // Reads and drops the rest: unread bytes make the system reset the connection and lose the last sent bytes.
    socket.off("readable", onReadable).resume()
    socket.end()
    return Effect.timeoutOption(Deferred.await(closed), linkCloseTimeout).pipe(
      Effect.andThen(Effect.sync(() => socket.destroy())),
      Effect.andThen(Effect.asVoid(Deferred.await(closed)))
    )
  })

  return {
    link: {
      remoteAddress,
      bytes: Stream.fromPull(Effect.succeed(pull)),
      send: (bytes) => Effect.andThen(ensureOpen, write(bytes)),
      unsentBytes: () => socket.writableLength,
      sentBytes: () => socket.bytesWritten - socket.writableLength,
      closed: Deferred.await(closed)
    },
    close
  }
}
