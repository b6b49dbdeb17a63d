import { connect, type Socket } from "node:net"
import { Duration, Effect, Layer } from "effect"
import { ByteConnector } from "../../application/ports/ByteLink.ts"
import { Unreachable } from "../../application/ports/Transport.ts"
import { reasonOf } from "../node/network.ts"
import { makeTcpLink, socketOptions, spellAddress } from "./TcpLink.ts"

/** How long a host may take to answer; the system alone would try for minutes. */
const connectTime = Duration.seconds(10)

const connected = (socket: Socket) =>
  Effect.callback<void>((resume) => {
    if (socket.readyState === "open") resume(Effect.void)
    else socket.once("connect", () => resume(Effect.void))
  })

const open = Effect.fnUntraced(function* ({ host, port }: { readonly host: string; readonly port: number }) {
  const refused = (why: string) => new Unreachable({ message: `Cannot reach ${host}:${port}: ${why}` })
  const { owned, socket } = yield* Effect.try({
    try: () => {
      const socket = connect({ ...socketOptions, host, port })
      return { socket, owned: makeTcpLink(socket, host) }
    },
    catch: (error) => refused(reasonOf(error))
  })
  yield* connected(socket).pipe(
    Effect.raceFirst(Effect.flatMap(owned.link.closed, (why) => Effect.fail(refused(why)))),
    Effect.timeoutOrElse({
      duration: connectTime,
      orElse: () => Effect.fail(refused("the far end does not answer"))
    }),
    Effect.onError(() => Effect.sync(() => socket.destroy()))
  )
  return { ...owned, link: { ...owned.link, peer: spellAddress(socket.remoteAddress ?? host) } }
})

/** Opens connections over TCP. */
export const layer: Layer.Layer<ByteConnector> = Layer.succeed(
  ByteConnector,
  ByteConnector.of({
    // trying may be interrupted, which ends the socket at once
    connect: (to) =>
      Effect.acquireRelease(open(to), ({ close }) => close, { interruptible: true }).pipe(
        Effect.map(({ link }) => link)
      )
  })
)
