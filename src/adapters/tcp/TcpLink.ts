import type { Socket } from "node:net"
import { Cause, Deferred, Effect, Exit, Latch, Stream } from "effect"
import { ByteLinkClosed } from "../../application/ports/ByteLink.ts"
import { formatNetworkError } from "../bytes/formatNetworkError.ts"
import { closedLocally, closedByPeer, closeTimeout, type OwnedByteLink } from "../bytes/OwnedByteLink.ts"

/** What every socket of ours is opened with. */
export const socketOptions = {
  /** A far end that sends no more may still listen. */
  allowHalfOpen: true,
  /** Frames are small and wait for answers. */
  noDelay: true,
  /** A far end that lost its power says nothing: it is asked after so many milliseconds of silence. */
  keepAlive: true,
  keepAliveInitialDelay: 30_000
} as const

/** Spells an address one way, whether it came over a socket of IPv4 or of both. */
export const formatAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "")

/**
 * Makes a link of a socket, which belongs to it from now on; to be called in the same turn in which the socket is
 * made, so that no error of it goes unheard.
 */
export const makeTcpLink = (socket: Socket, remoteAddress: string): OwnedByteLink => {
  const closed = Deferred.makeUnsafe<string>()
  /** Open as long as the system takes what is written. */
  const writable = Latch.makeUnsafe(true)
  /** Open when there may be something to read, or the end of it. */
  const readable = Latch.makeUnsafe(false)
  let closeReason: string | undefined
  let isClosing = false

  /** From now on nothing waits; the first reason counts. */
  const markClosed = (reason: string): string => {
    closeReason ??= reason
    writable.openUnsafe()
    readable.openUnsafe()
    return closeReason
  }
  const onReadable = () => void readable.openUnsafe()
  // with a listener for this event nothing flows: the socket reads ahead by one buffer, then the far end has to wait
  socket.on("readable", onReadable)
  socket.on("end", onReadable)
  socket.on("drain", () => writable.openUnsafe())
  socket.on("error", (error) => markClosed(formatNetworkError(error)))
  socket.on("close", () => Deferred.doneUnsafe(closed, Exit.succeed(markClosed(closedByPeer))))

  const pull: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
    // what had arrived when the link was lost is still there
    const chunk: Buffer | null = isClosing ? null : socket.read()
    if (chunk !== null) {
      return Effect.succeed([new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)])
    }
    if (closeReason !== undefined || socket.readableEnded) return Cause.done()
    readable.closeUnsafe()
    return Effect.andThen(readable.await, pull)
  })

  const ensureOpen = Effect.suspend(() =>
    closeReason === undefined ? Effect.void : Effect.fail(new ByteLinkClosed({ reason: closeReason }))
  )
  /** Gives bytes to the socket, which keeps their order, and waits until it has handed on what it holds. */
  const write = (bytes: Uint8Array) =>
    Effect.suspend(() => {
      if (socket.write(bytes)) return Effect.void
      writable.closeUnsafe()
      return Effect.andThen(writable.await, ensureOpen)
    })

  const close = Effect.suspend(() => {
    isClosing = true
    markClosed(socket.readableEnded ? closedByPeer : closedLocally)
    // What still comes is thrown away: where bytes are left unread the system resets the connection, and with it what
    // was sent last.
    socket.off("readable", onReadable).resume()
    socket.end()
    return Deferred.await(closed).pipe(
      Effect.timeoutOrElse({
        duration: closeTimeout,
        orElse: () =>
          Effect.andThen(
            Effect.sync(() => void socket.destroy()),
            Deferred.await(closed)
          )
      }),
      Effect.asVoid
    )
  })

  return {
    link: {
      remoteAddress,
      bytes: Stream.fromPull(Effect.succeed(pull)),
      send: (bytes) => Effect.andThen(ensureOpen, write(bytes)),
      closed: Deferred.await(closed)
    },
    close
  }
}
