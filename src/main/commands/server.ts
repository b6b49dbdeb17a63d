import { Console, Context, type Duration, Effect, Layer } from "effect"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"
import type { Limits } from "../../application/server/Limits.ts"
import { Server } from "../../application/server/Server.ts"
import { failed } from "../failure.ts"
import { serverLayer } from "../layers.ts"
import { stopSignal } from "../signals.ts"

/** What the command line says about a Server. */
export interface ServerCommand extends SocketIoServerOptions {
  readonly requireRole: boolean
  readonly limits: Limits
  /** How long calls under way may take to end when it is told to stop. */
  readonly drainTime: Duration.Duration
}

/** Serves until a signal asks it to stop, and closes in order. */
const serve = Effect.fnUntraced(function* (
  { drainTime, limits, requireRole, ...socketIo }: ServerCommand,
  stopped: Effect.Effect<string>
) {
  const layer = serverLayer({ ...socketIo, limits, settings: { requireRole, drainTime } })
  const { url } = Context.get(yield* Layer.build(layer), Server)
  yield* Console.log(`listening on ${url}`)
  yield* Effect.logInfo("told to stop", { signal: yield* stopped })
}, Effect.scoped)

/** Runs a Server until it is told to stop; says where on stdout as soon as members can connect. */
export const runServer = (command: ServerCommand) =>
  Effect.gen(function* () {
    yield* serve(command, yield* stopSignal)
    yield* Effect.logInfo("stopped: nobody listens any more")
  }).pipe(Effect.scoped, Effect.mapError(failed))
