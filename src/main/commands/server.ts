import { Console, Effect, Layer } from "effect"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"
import { Server } from "../../application/server/Server.ts"
import { failed } from "../failure.ts"
import { serverLayer } from "../layers.ts"

/** Runs a Server until it is told to stop; says where on stdout as soon as members can connect. */
export const runServer = (options: SocketIoServerOptions & { readonly requireRole: boolean }) => {
  const { requireRole, ...socketIo } = options
  const announce = Effect.flatMap(Server, ({ url }) => Console.log(`listening on ${url}`))
  return Layer.launch(
    Layer.effectDiscard(announce).pipe(Layer.provide(serverLayer({ ...socketIo, settings: { requireRole } })))
  ).pipe(Effect.mapError(failed))
}
