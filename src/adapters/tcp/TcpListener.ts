import { createServer } from "node:net"
import { Effect, FiberSet, Layer } from "effect"
import { ByteListener } from "../../application/ports/ByteLink.ts"
import { ListenError } from "../../application/ports/Transport.ts"
import { serveLink } from "../bytes/OwnedByteLink.ts"
import { cannot, listen } from "../http/httpServer.ts"
import { formatAddress, makeTcpLink, socketOptions } from "./TcpLink.ts"

/** Accepts connections over TCP. */
export const layer: Layer.Layer<ByteListener> = Layer.succeed(
  ByteListener,
  ByteListener.of({
    listen: Effect.fn("TcpListener.listen")(function* ({ host, maxConnections, port }, serve) {
      // Its finalizer interrupts the handlers and waits until their links are closed.
      const run = yield* FiberSet.makeRuntime<never>()
      const server = createServer(socketOptions)
      server.maxConnections = maxConnections
      server.on("connection", (socket) => {
        // A socket without an address is closed already.
        if (socket.remoteAddress === undefined) socket.destroy()
        else run(serveLink(makeTcpLink(socket, formatAddress(socket.remoteAddress)), serve))
      })
      server.on("drop", ({ remoteAddress = "" } = {}) =>
        run(
          Effect.logDebug("connection rejected", {
            reason: "max_connections",
            remoteAddress: formatAddress(remoteAddress)
          })
        )
      )
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const bound = yield* listen(server, { host, port }, cannot("listen", ListenError))
      return { host: bound.address, port: bound.port }
    })
  })
)
