import { Cause, Context, Deferred, Effect, Exit, FiberSet, Latch, Layer, Stream } from "effect"
import { ByteConnector, ByteLinkClosed, ByteListener } from "../../application/ports/ByteLink.ts"
import { ListenError, Unreachable } from "../../application/ports/Transport.ts"
import {
  closedLocally,
  closedByPeer,
  closeTimeout,
  type OwnedByteLink,
  serveLink
} from "../bytes/OwnedByteLink.ts"

/** How many bytes one direction holds before its sender waits, and how large a piece is at most: as with TCP. */
const maxBufferedBytes = 64 * 1024

/** The first of the ports that are given to who asks for any. */
const firstFreePort = 49_152

/** Where everybody comes from. */
const loopback = "127.0.0.1"

/** One direction of a link: what was sent and is not taken yet. */
const makePipe = () => {
  const chunks: Array<Uint8Array> = []
  /** Open unless there is too much here. */
  const writable = Latch.makeUnsafe(true)
  /** Open when nothing is here. */
  const drained = Latch.makeUnsafe(true)
  /** Open when there may be something to take, or the end of it. */
  const readable = Latch.makeUnsafe(false)
  let heldBytes = 0
  let state: "open" | "finished" | "discarded" = "open"

  const markDrained = (): void => {
    heldBytes = 0
    writable.openUnsafe()
    drained.openUnsafe()
  }

  const take: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
    const chunk = chunks.shift()
    if (chunk === undefined) {
      if (state !== "open") return Cause.done()
      readable.closeUnsafe()
      return Effect.andThen(readable.await, take)
    }
    heldBytes -= chunk.length
    if (heldBytes === 0) markDrained()
    return Effect.succeed([chunk])
  })

  return {
    take,
    state: () => state,
    /** Puts a copy of all bytes in at once. False when there is too much now: `room` says when that is over. */
    write: (bytes: Uint8Array): boolean => {
      if (state === "discarded" || bytes.length === 0) return writable.isOpen()
      for (let at = 0; at < bytes.length; at += maxBufferedBytes)
        chunks.push(bytes.slice(at, at + maxBufferedBytes))
      heldBytes += bytes.length
      drained.closeUnsafe()
      if (heldBytes >= maxBufferedBytes) writable.closeUnsafe()
      readable.openUnsafe()
      return writable.isOpen()
    },
    awaitWritable: writable.await,
    /** Nothing more is put in: nobody waits to do so any more. */
    finish: (): void => {
      if (state === "open") state = "finished"
      writable.openUnsafe()
      readable.openUnsafe()
    },
    /** What is here is thrown away, and what still comes. */
    discard: (): void => {
      state = "discarded"
      chunks.length = 0
      markDrained()
      readable.openUnsafe()
    },
    /** Waits until all was taken, or thrown away. */
    awaitDrained: drained.await
  }
}

type Pipe = ReturnType<typeof makePipe>

/** The end of a link that takes from one way and puts into the other. */
const makeByteLink = (remoteAddress: string, inbound: Pipe, outbound: Pipe): OwnedByteLink => {
  const closed = Deferred.makeUnsafe<string>()
  let closeReason: string | undefined

  const ensureOpen = Effect.suspend(() => {
    // the far end is gone for good, which is found out as with TCP: by sending
    if (closeReason === undefined && inbound.state() === "discarded") {
      closeReason = "the connection was reset"
      Deferred.doneUnsafe(closed, Exit.succeed(closeReason))
    }
    return closeReason === undefined ? Effect.void : Effect.fail(new ByteLinkClosed({ reason: closeReason }))
  })

  const close = Effect.suspend(() => {
    const reason = closeReason ?? (inbound.state() === "open" ? closedLocally : closedByPeer)
    closeReason = reason
    inbound.discard()
    outbound.finish()
    return outbound.awaitDrained.pipe(
      Effect.timeoutOption(closeTimeout),
      Effect.andThen(
        Effect.sync(() => {
          outbound.discard()
          Deferred.doneUnsafe(closed, Exit.succeed(reason))
        })
      )
    )
  })

  const write = (bytes: Uint8Array) =>
    Effect.suspend(() =>
      outbound.write(bytes) ? Effect.void : Effect.andThen(outbound.awaitWritable, ensureOpen)
    )

  return {
    link: {
      remoteAddress,
      bytes: Stream.fromPull(Effect.succeed(inbound.take)),
      send: (bytes) => Effect.andThen(ensureOpen, write(bytes)),
      closed: Deferred.await(closed)
    },
    close
  }
}

const formatAddress = (host: string, port: number): string => `${host}:${port}`

/**
 * TCP within one process, for deterministic tests on virtual time: the same bounds, the same words, no Node. Hosts are
 * names that must be equal. A link closes when the far end has taken everything, or {@link closeTimeout} later.
 */
export const layer: Layer.Layer<ByteListener | ByteConnector> = Layer.effectContext(
  Effect.sync(() => {
    /** Who takes connections, by address. */
    const listeners = new Map<string, (end: OwnedByteLink) => void>()

    const bind = (host: string, requestedPort: number, onConnection: (link: OwnedByteLink) => void) =>
      Effect.suspend(() => {
        let port = requestedPort === 0 ? firstFreePort : requestedPort
        while (requestedPort === 0 && listeners.has(formatAddress(host, port))) port++
        const address = formatAddress(host, port)
        if (listeners.has(address)) {
          return Effect.fail(
            new ListenError({ message: `Cannot listen on ${address}: the address is in use` })
          )
        }
        listeners.set(address, onConnection)
        return Effect.succeed({ host, port })
      })

    const listen: ByteListener["Service"]["listen"] = Effect.fnUntraced(function* (options, serve) {
      const { host, maxConnections, port } = options
      // its end interrupts those who serve, and waits until their links are closed
      const run = yield* FiberSet.makeRuntime<never>()
      let linkCount = 0
      const releaseSlot = Effect.sync(() => void linkCount--)
      const onConnection = (link: OwnedByteLink): void => {
        if (linkCount >= maxConnections) {
          run(Effect.andThen(Effect.logDebug("one connection too many was closed"), link.close))
          return
        }
        linkCount++
        run(Effect.ensuring(serveLink(link, serve), releaseSlot))
      }
      return yield* Effect.acquireRelease(bind(host, port, onConnection), (place) =>
        Effect.sync(() => listeners.delete(formatAddress(place.host, place.port)))
      )
    })

    const connectTo = (host: string, port: number) =>
      Effect.suspend(() => {
        const onConnection = listeners.get(formatAddress(host, port))
        if (onConnection === undefined) {
          const message = `Cannot reach ${formatAddress(host, port)}: the connection was refused`
          return Effect.fail(new Unreachable({ message }))
        }
        const [toServer, toClient] = [makePipe(), makePipe()]
        onConnection(makeByteLink(loopback, toServer, toClient))
        return Effect.succeed(makeByteLink(host, toClient, toServer))
      })
    const connect: ByteConnector["Service"]["connect"] = ({ host, port }) =>
      Effect.map(
        Effect.acquireRelease(connectTo(host, port), ({ close }) => close),
        ({ link }) => link
      )

    return Context.make(ByteListener, ByteListener.of({ listen })).pipe(
      Context.add(ByteConnector, ByteConnector.of({ connect }))
    )
  })
)
