import type { Socket } from "node:net"
import { Cause, Deferred, Effect, Exit, Latch, Stream } from "effect"
import { ByteLinkClosed } from "../../application/ports/ByteLink.ts"
import { reasonOf } from "../bytes/networkReason.ts"
import { closedHere, closedThere, closingTime, type OwnedLink } from "../bytes/OwnedLink.ts"

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
export const spellAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "")

/**
 * Makes a link of a socket, which belongs to it from now on; to be called in the same turn in which the socket is
 * made, so that no error of it goes unheard.
 */
export const makeTcpLink = (socket: Socket, peer: string): OwnedLink => {
  const closed = Deferred.makeUnsafe<string>()
  /** Open as long as the system takes what is written. */
  const room = Latch.makeUnsafe(true)
  /** Open when there may be something to read, or the end of it. */
  const news = Latch.makeUnsafe(false)
  let gone: string | undefined
  let isClosing = false

  /** From now on nothing waits; the first reason counts. */
  const lose = (reason: string): string => {
    gone ??= reason
    room.openUnsafe()
    news.openUnsafe()
    return gone
  }
  const tellNews = () => void news.openUnsafe()
  // with a listener for this event nothing flows: the socket reads ahead by one buffer, then the far end has to wait
  socket.on("readable", tellNews)
  socket.on("end", tellNews)
  socket.on("drain", () => room.openUnsafe())
  socket.on("error", (error) => lose(reasonOf(error)))
  socket.on("close", () => Deferred.doneUnsafe(closed, Exit.succeed(lose(closedThere))))

  const pull: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
    // what had arrived when the link was lost is still there
    const piece: Buffer | null = isClosing ? null : socket.read()
    if (piece !== null) {
      return Effect.succeed([new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)])
    }
    if (gone !== undefined || socket.readableEnded) return Cause.done()
    news.closeUnsafe()
    return Effect.andThen(news.await, pull)
  })

  const alive = Effect.suspend(() =>
    gone === undefined ? Effect.void : Effect.fail(new ByteLinkClosed({ reason: gone }))
  )
  /** Gives bytes to the socket, which keeps their order, and waits until it has handed on what it holds. */
  const write = (bytes: Uint8Array) =>
    Effect.suspend(() => {
      if (socket.write(bytes)) return Effect.void
      room.closeUnsafe()
      return Effect.andThen(room.await, alive)
    })

  const close = Effect.suspend(() => {
    isClosing = true
    lose(socket.readableEnded ? closedThere : closedHere)
    // What still comes is thrown away: where bytes are left unread the system resets the connection, and with it what
    // was sent last.
    socket.off("readable", tellNews).resume()
    socket.end()
    return Deferred.await(closed).pipe(
      Effect.timeoutOrElse({
        duration: closingTime,
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
      peer,
      bytes: Stream.fromPull(Effect.succeed(pull)),
      send: (bytes) => Effect.andThen(alive, write(bytes)),
      closed: Deferred.await(closed)
    },
    close
  }
}
