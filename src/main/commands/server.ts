import { Console, Effect, Layer, Option } from "effect"
import * as AuditFile from "../../adapters/node/AuditFile.ts"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"
import { Server } from "../../application/server/Server.ts"
import { failed } from "../failure.ts"
import { serverLayer } from "../layers.ts"

/** What the command line says about a Server. */
export interface ServerCommand extends SocketIoServerOptions {
  readonly requireRole: boolean
  readonly audit: Option.Option<string>
  readonly auditMaxBytes: number
  readonly auditKeep: number
}

const auditLayer = ({ audit, auditKeep: keep, auditMaxBytes: maxBytes }: ServerCommand) =>
  Option.match(audit, {
    onNone: () => Layer.empty,
    onSome: (file) => AuditFile.layer({ file, keep, maxBytes })
  })

/** Runs a Server until it is told to stop; says where on stdout as soon as members can connect. */
export const runServer = (command: ServerCommand) => {
  const { audit: _audit, auditKeep: _keep, auditMaxBytes: _maxBytes, requireRole, ...socketIo } = command
  const announce = Effect.flatMap(Server, ({ url }) => Console.log(`listening on ${url}`))
  return Layer.launch(
    Layer.effectDiscard(announce).pipe(
      Layer.provide(serverLayer({ ...socketIo, settings: { requireRole } })),
      Layer.provide(auditLayer(command))
    )
  ).pipe(Effect.mapError(failed))
}
