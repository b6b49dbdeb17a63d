import { Socket } from "node:net"
import { Duration, Effect, Layer } from "effect"
import { ByteConnector } from "../../application/ports/ByteLink.ts"
import { Unreachable } from "../../application/ports/Transport.ts"
import { formatNetworkError } from "../bytes/networkErrors.ts"
import { formatAddress, makeTcpLink, socketOptions } from "./TcpLink.ts"

/** Timeout of a connection attempt; the operating system alone tries for minutes. */
const connectTimeout = Duration.seconds(10)

const openSocket = Effect.fnUntraced(function* (to: { readonly host: string; readonly port: number }) {
  const fail = (reason: string) =>
    Effect.fail(new Unreachable({ message: `Cannot reach ${to.host}:${to.port}: ${reason}` }))
  const socket = new Socket(socketOptions)
  const { close, link } = makeTcpLink(socket, to.host)
  const connected = Effect.callback<void, Unreachable>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    try {
      socket.connect(to.port, to.host)
    } catch (error) {
      resume(fail(formatNetworkError(error)))
    }
  })
  yield* connected.pipe(
    Effect.raceFirst(Effect.flatMap(link.closed, fail)),
    Effect.timeoutOrElse({ duration: connectTimeout, orElse: () => fail("connection timed out") }),
    Effect.onError(() => Effect.sync(() => socket.destroy()))
  )
  return { close, link: { ...link, remoteAddress: formatAddress(socket.remoteAddress ?? to.host) } }
})

/** Opens connections over TCP. */
export const layer: Layer.Layer<ByteConnector> = Layer.succeed(
  ByteConnector,
  ByteConnector.of({
    connect: Effect.fn("TcpConnector.connect")(function* (to) {
      // Interruption destroys the socket at once.
      const opened = yield* Effect.acquireRelease(openSocket(to), ({ close }) => close, { interruptible: true })
      return opened.link
    })
  })
)
