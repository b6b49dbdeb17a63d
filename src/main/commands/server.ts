import { Console, Effect, Layer, Option } from "effect"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"
import { Server } from "../../application/server/Server.ts"
import { tlsFrom } from "../config/tlsFiles.ts"
import { failed, refuse } from "../failure.ts"
import { serverLayer } from "../layers.ts"
import { type AuthenticationCommand, authenticationOf } from "./authentication.ts"

/** What the command line says about a Server. */
export interface ServerCommand extends Omit<SocketIoServerOptions, "host" | "tls">, AuthenticationCommand {
  readonly requireRole: boolean
  readonly tlsCert: Option.Option<string>
  readonly tlsKey: Option.Option<string>
}

const tlsOf = Effect.fnUntraced(function* ({ tlsCert, tlsKey }: ServerCommand) {
  if (Option.isNone(tlsCert) && Option.isNone(tlsKey)) return undefined
  if (Option.isSome(tlsCert) && Option.isSome(tlsKey)) {
    return yield* tlsFrom({ cert: tlsCert.value, key: tlsKey.value })
  }
  return yield* refuse("A certificate needs its key: give --tls-cert and --tls-key together")
})

/** Runs a Server until it is told to stop; says where on stdout as soon as members can connect. */
export const runServer = Effect.fnUntraced(
  function* (command: ServerCommand) {
    const { requireRole, ...socketIo } = command
    const tls = yield* tlsOf(command)
    const authenticator = yield* authenticationOf(command, tls !== undefined)
    const announce = Effect.flatMap(Server, ({ url }) => Console.log(`listening on ${url}`))
    const server = serverLayer({
      ...socketIo,
      settings: { requireRole },
      ...(tls !== undefined && { tls }),
      ...(authenticator !== undefined && { authenticator })
    })
    return yield* Layer.launch(Layer.effectDiscard(announce).pipe(Layer.provide(server)))
  },
  Effect.scoped,
  Effect.mapError(failed)
)
