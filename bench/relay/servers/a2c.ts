/** The Server on its real transport, with the V8 settings of the command line. */
import { Context, Effect, Layer, Redacted, References } from "effect"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { tuneGcForRelay } from "../../../src/adapters/process/gcTuning.ts"
import { serverLayer } from "../../../src/main/layers/serverLayer.ts"
import { obeyOrders } from "../host.ts"
import { maxMessageBytes, path } from "../limits.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

/** The settings of the Server that differ from the defaults. */
const redis = process.env["A2C_BENCH_REDIS"]
const options: Parameters<typeof serverLayer>[0] = {
  port: 0,
  paths: [path],
  engine: process.env["A2C_BENCH_ENGINE"] === "socket.io" ? "socket.io" : "relay",
  maxMessageBytes,
  ...(redis !== undefined && {
    redis: { url: Redacted.make(redis) }
  })
}

tuneGcForRelay()

const program = Effect.gen(function* () {
  const { url } = Context.get(
    yield* Layer.build(serverLayer(options).pipe(Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone]))),
    Server
  )
  obeyOrders(new URL(url).host)
  return yield* Effect.never
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Warn")))
