import { Cause, Context, Deferred, Effect, Exit, FiberSet, Latch, Layer, Stream } from "effect"
import { ByteConnector, ByteLinkClosed, ByteListener } from "../../application/ports/ByteLink.ts"
import { ListenFailed, Unreachable } from "../../application/ports/Transport.ts"
import { closedHere, closedThere, closingTime, type OwnedLink, serveLink } from "../bytes/OwnedLink.ts"

/** How many bytes one direction holds before its sender waits, and how large a piece is at most: as with TCP. */
const capacity = 64 * 1024

/** The first of the ports that are given to who asks for any. */
const firstFreePort = 49_152

/** Where everybody comes from. */
const loopback = "127.0.0.1"

/** One direction of a link: what was sent and is not taken yet. */
const makeWay = () => {
  const pieces: Array<Uint8Array> = []
  /** Open unless there is too much here. */
  const room = Latch.makeUnsafe(true)
  /** Open when nothing is here. */
  const empty = Latch.makeUnsafe(true)
  /** Open when there may be something to take, or the end of it. */
  const news = Latch.makeUnsafe(false)
  let held = 0
  let state: "open" | "finished" | "discarded" = "open"

  const becomeEmpty = (): void => {
    held = 0
    room.openUnsafe()
    empty.openUnsafe()
  }

  const take: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
    const piece = pieces.shift()
    if (piece === undefined) {
      if (state !== "open") return Cause.done()
      news.closeUnsafe()
      return Effect.andThen(news.await, take)
    }
    held -= piece.length
    if (held === 0) becomeEmpty()
    return Effect.succeed([piece])
  })

  return {
    take,
    state: () => state,
    /** Puts a copy of all bytes in at once. False when there is too much now: `room` says when that is over. */
    put: (bytes: Uint8Array): boolean => {
      if (state === "discarded" || bytes.length === 0) return room.isOpen()
      for (let at = 0; at < bytes.length; at += capacity) pieces.push(bytes.slice(at, at + capacity))
      held += bytes.length
      empty.closeUnsafe()
      if (held >= capacity) room.closeUnsafe()
      news.openUnsafe()
      return room.isOpen()
    },
    room: room.await,
    /** Nothing more is put in: nobody waits to do so any more. */
    finish: (): void => {
      if (state === "open") state = "finished"
      room.openUnsafe()
      news.openUnsafe()
    },
    /** What is here is thrown away, and what still comes. */
    discard: (): void => {
      state = "discarded"
      pieces.length = 0
      becomeEmpty()
      news.openUnsafe()
    },
    /** Waits until all was taken, or thrown away. */
    emptied: empty.await
  }
}

type Way = ReturnType<typeof makeWay>

/** The end of a link that takes from one way and puts into the other. */
const makeEnd = (peer: string, from: Way, to: Way): OwnedLink => {
  const closed = Deferred.makeUnsafe<string>()
  let gone: string | undefined

  const alive = Effect.suspend(() => {
    // the far end is gone for good, which is found out as with TCP: by sending
    if (gone === undefined && from.state() === "discarded") {
      gone = "the connection was reset"
      Deferred.doneUnsafe(closed, Exit.succeed(gone))
    }
    return gone === undefined ? Effect.void : Effect.fail(new ByteLinkClosed({ reason: gone }))
  })

  const close = Effect.suspend(() => {
    const reason = gone ?? (from.state() === "open" ? closedHere : closedThere)
    gone = reason
    from.discard()
    to.finish()
    return to.emptied.pipe(
      Effect.timeoutOption(closingTime),
      Effect.andThen(
        Effect.sync(() => {
          to.discard()
          Deferred.doneUnsafe(closed, Exit.succeed(reason))
        })
      )
    )
  })

  const write = (bytes: Uint8Array) =>
    Effect.suspend(() => (to.put(bytes) ? Effect.void : Effect.andThen(to.room, alive)))

  return {
    link: {
      peer,
      bytes: Stream.fromPull(Effect.succeed(from.take)),
      send: (bytes) => Effect.andThen(alive, write(bytes)),
      closed: Deferred.await(closed)
    },
    close
  }
}

const addressOf = (host: string, port: number): string => `${host}:${port}`

/**
 * TCP within one process, for deterministic tests on virtual time: the same bounds, the same words, no Node. Hosts are
 * names that must be equal. A link closes when the far end has taken everything, or {@link closingTime} later.
 */
export const layer: Layer.Layer<ByteListener | ByteConnector> = Layer.effectContext(
  Effect.sync(() => {
    /** Who takes connections, by address. */
    const doors = new Map<string, (end: OwnedLink) => void>()

    const open = (host: string, wanted: number, enter: (end: OwnedLink) => void) =>
      Effect.suspend(() => {
        let port = wanted === 0 ? firstFreePort : wanted
        while (wanted === 0 && doors.has(addressOf(host, port))) port++
        const address = addressOf(host, port)
        if (doors.has(address)) {
          return Effect.fail(
            new ListenFailed({ message: `Cannot listen on ${address}: the address is in use` })
          )
        }
        doors.set(address, enter)
        return Effect.succeed({ host, port })
      })

    const listen: ByteListener["Service"]["listen"] = Effect.fnUntraced(function* (options, serve) {
      const { host, mostLinks, port } = options
      // its end interrupts those who serve, and waits until their links are closed
      const run = yield* FiberSet.makeRuntime<never>()
      let links = 0
      const leave = Effect.sync(() => void links--)
      const enter = (end: OwnedLink): void => {
        if (links >= mostLinks) {
          run(Effect.andThen(Effect.logDebug("one connection too many was closed"), end.close))
          return
        }
        links++
        run(Effect.ensuring(serveLink(end, serve), leave))
      }
      return yield* Effect.acquireRelease(open(host, port, enter), (place) =>
        Effect.sync(() => doors.delete(addressOf(place.host, place.port)))
      )
    })

    const enterAt = (host: string, port: number) =>
      Effect.suspend(() => {
        const enter = doors.get(addressOf(host, port))
        if (enter === undefined) {
          const message = `Cannot reach ${addressOf(host, port)}: the connection was refused`
          return Effect.fail(new Unreachable({ message }))
        }
        const [there, here] = [makeWay(), makeWay()]
        enter(makeEnd(loopback, there, here))
        return Effect.succeed(makeEnd(host, here, there))
      })
    const connect: ByteConnector["Service"]["connect"] = ({ host, port }) =>
      Effect.map(
        Effect.acquireRelease(enterAt(host, port), ({ close }) => close),
        ({ link }) => link
      )

    return Context.make(ByteListener, ByteListener.of({ listen })).pipe(
      Context.add(ByteConnector, ByteConnector.of({ connect }))
    )
  })
)
