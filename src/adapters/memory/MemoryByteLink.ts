import { type Cause, Context, Deferred, Effect, Exit, FiberSet, Latch, Layer, Queue, Stream } from "effect"
import { ByteConnector, ByteLinkClosed, ByteListener } from "../../application/ports/ByteLink.ts"
import { ListenError, Unreachable } from "../../application/ports/Transport.ts"
import { closedLocally, closedByPeer, linkCloseTimeout, type OwnedByteLink, serveLink } from "../bytes/OwnedByteLink.ts"

/** Bytes that one direction holds before the sender waits, and the largest chunk, as with TCP. */
const maxBufferedBytes = 64 * 1024

/** The first port for listeners that request port 0. */
const firstFreePort = 49_152

const loopback = "127.0.0.1"

/** Makes one direction of a link: bytes that were sent and not received. */
const makePipe = Effect.map(Queue.unbounded<Uint8Array, Cause.Done>(), (chunks) => {
  /** Open below the limit. */
  const writable = Latch.makeUnsafe(true)
  /** Open when the pipe is empty. */
  const drained = Latch.makeUnsafe(true)
  let heldBytes = 0
  let takenBytes = 0
  let state: "open" | "ended" | "discarded" = "open"

  const markDrained = (): void => {
    heldBytes = 0
    writable.openUnsafe()
    drained.openUnsafe()
  }

  return {
    take: Effect.map(Queue.take(chunks), (chunk) => {
      heldBytes -= chunk.length
      takenBytes += chunk.length
      if (heldBytes === 0) markDrained()
      return [chunk] as const
    }),
    state: () => state,
    heldBytes: () => heldBytes,
    takenBytes: () => takenBytes,
    /** Adds a copy of all bytes. False above the limit: the sender waits for `awaitWritable`. */
    write: (bytes: Uint8Array): boolean => {
      if (state === "discarded" || bytes.length === 0) return writable.isOpen()
      for (let at = 0; at < bytes.length; at += maxBufferedBytes)
        Queue.offerUnsafe(chunks, bytes.slice(at, at + maxBufferedBytes))
      heldBytes += bytes.length
      drained.closeUnsafe()
      if (heldBytes >= maxBufferedBytes) writable.closeUnsafe()
      return writable.isOpen()
    },
    awaitWritable: writable.await,
    /** Ends the pipe and wakes waiting senders. */
    end: (): void => {
      if (state === "open") state = "ended"
      Queue.endUnsafe(chunks)
      writable.openUnsafe()
    },
    /** Drops all bytes, later ones included. */
    discard: (): void => {
      state = "discarded"
      Queue.endUnsafe(chunks)
      Queue.shutdownUnsafe(chunks)
      markDrained()
    },
    /** Waits until all bytes are received or dropped. */
    awaitDrained: drained.await
  }
})

type Pipe = Effect.Success<typeof makePipe>

const makeByteLink = (remoteAddress: string, inbound: Pipe, outbound: Pipe): OwnedByteLink => {
  const closed = Deferred.makeUnsafe<string>()
  let closeReason: string | undefined

  const ensureOpen = Effect.suspend(() => {
    // As with TCP, only sending detects that the peer is gone.
    if (closeReason === undefined && inbound.state() === "discarded") {
      closeReason = "connection reset"
      Deferred.doneUnsafe(closed, Exit.succeed(closeReason))
    }
    return closeReason === undefined ? Effect.void : Effect.fail(new ByteLinkClosed({ reason: closeReason }))
  })

  const close = Effect.suspend(() => {
    const reason = closeReason ?? (inbound.state() === "open" ? closedLocally : closedByPeer)
    closeReason = reason
    inbound.discard()
    outbound.end()
    return outbound.awaitDrained.pipe(
      Effect.timeoutOption(linkCloseTimeout),
      Effect.andThen(
        Effect.sync(() => {
          outbound.discard()
          Deferred.doneUnsafe(closed, Exit.succeed(reason))
        })
      )
    )
  })

  const write = (bytes: Uint8Array) =>
    Effect.suspend(() => (outbound.write(bytes) ? Effect.void : Effect.andThen(outbound.awaitWritable, ensureOpen)))

  return {
    link: {
      remoteAddress,
      bytes: Stream.fromPull(Effect.succeed(inbound.take)),
      send: (bytes) => Effect.andThen(ensureOpen, write(bytes)),
      unsentBytes: outbound.heldBytes,
      sentBytes: outbound.takenBytes,
      closed: Deferred.await(closed)
    },
    close
  }
}

const formatAddress = (host: string, port: number): string => `${host}:${port}`

const make = () => {
  const listeners = new Map<string, (link: OwnedByteLink) => void>()

  const bind = (host: string, requestedPort: number, onConnection: (link: OwnedByteLink) => void) =>
    Effect.suspend(() => {
      let port = requestedPort === 0 ? firstFreePort : requestedPort
      while (requestedPort === 0 && listeners.has(formatAddress(host, port))) port++
      const address = formatAddress(host, port)
      if (listeners.has(address)) {
        return Effect.fail(new ListenError({ message: `Cannot listen on ${address}: the address is in use` }))
      }
      listeners.set(address, onConnection)
      return Effect.succeed({ host, port })
    })

  const listen: ByteListener["Service"]["listen"] = Effect.fnUntraced(function* (options, serve) {
    const { host, maxConnections, port } = options
    // Its finalizer interrupts the handlers and waits until their links are closed.
    const run = yield* FiberSet.makeRuntime<never>()
    let linkCount = 0
    const releaseSlot = Effect.sync(() => void linkCount--)
    const onConnection = (link: OwnedByteLink): void => {
      if (linkCount >= maxConnections) {
        const details = { reason: "max_connections", remoteAddress: loopback }
        run(Effect.andThen(Effect.logDebug("connection rejected", details), link.close))
        return
      }
      linkCount++
      run(Effect.ensuring(serveLink(link, serve), releaseSlot))
    }
    return yield* Effect.acquireRelease(bind(host, port, onConnection), (bound) =>
      Effect.sync(() => listeners.delete(formatAddress(bound.host, bound.port)))
    )
  })

  const open = Effect.fnUntraced(function* (host: string, port: number) {
    const address = formatAddress(host, port)
    const onConnection = listeners.get(address)
    if (onConnection === undefined)
      return yield* new Unreachable({ message: `Cannot reach ${address}: connection refused` })
    const [toServer, toClient] = [yield* makePipe, yield* makePipe]
    onConnection(makeByteLink(loopback, toServer, toClient))
    return makeByteLink(host, toClient, toServer)
  })
  const connect: ByteConnector["Service"]["connect"] = ({ host, port }) =>
    Effect.map(
      Effect.acquireRelease(open(host, port), ({ close }) => close),
      ({ link }) => link
    )

  return Context.make(ByteListener, ByteListener.of({ listen })).pipe(
    Context.add(ByteConnector, ByteConnector.of({ connect }))
  )
}

/**
 * TCP in one process, for tests on virtual time: the same limits and messages without Node. Host names match by equality.
 * A link closes when the peer has received all bytes, or after {@link linkCloseTimeout}.
 */
export const layer: Layer.Layer<ByteListener | ByteConnector> = Layer.effectContext(Effect.sync(make))
