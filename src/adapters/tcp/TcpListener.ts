import { createServer } from "node:net"
import { Effect, FiberSet, Layer } from "effect"
import { ByteListener } from "../../application/ports/ByteLink.ts"
import { ListenFailed } from "../../application/ports/Transport.ts"
import { listen } from "../node/network.ts"
import { serveLink } from "../bytes/OwnedLink.ts"
import { makeTcpLink, socketOptions, spellAddress } from "./TcpLink.ts"

/** Takes connections over TCP. */
export const layer: Layer.Layer<ByteListener> = Layer.succeed(
  ByteListener,
  ByteListener.of({
    listen: Effect.fn("TcpListener.listen")(function* ({ host, mostLinks, port }, serve) {
      // its end interrupts those who serve, and waits until their links are closed
      const run = yield* FiberSet.makeRuntime<never>()
      const server = createServer(socketOptions)
      server.maxConnections = mostLinks
      server.on("connection", (socket) => {
        // who has no address any more is gone already
        if (socket.remoteAddress === undefined) socket.destroy()
        else run(serveLink(makeTcpLink(socket, spellAddress(socket.remoteAddress)), serve))
      })
      server.on("drop", ({ remoteAddress = "" } = {}) =>
        run(Effect.logDebug("one connection too many was closed", { peer: spellAddress(remoteAddress) }))
      )
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const place = yield* listen(
        server,
        { host, port },
        (why) => new ListenFailed({ message: `Cannot listen on ${host}:${port}: ${why}` })
      )
      server.on("error", (error) => run(Effect.logWarning("a connection could not be taken", error)))
      return { host: place.address, port: place.port }
    })
  })
)
