import type { Layer } from "effect"
import * as RelayServer from "../../../src/adapters/socketio/RelayServer.ts"
import * as SocketIoServer from "../../../src/adapters/socketio/SocketIoServer.ts"
import type { TransportServer } from "../../../src/application/ports/Transport.ts"
import type { ServerMetrics } from "../../../src/application/server/observability/ServerMetrics.ts"

type MakeServer = (options?: RelayServer.RelayServerOptions) => Layer.Layer<TransportServer, never, ServerMetrics>

/** The adapters for the Server's end of Socket.IO, with the words for their engine. */
export const engines: ReadonlyArray<readonly [engine: string, makeServer: MakeServer]> = [
  ["the relay", RelayServer.layer],
  ["the stock server", SocketIoServer.layer]
]
