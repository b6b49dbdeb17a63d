import { rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Deferred, Duration, Effect, Exit, Layer, Record, Stream } from "effect"
import { SharedPort } from "../../../adapters/http/SharedPort.ts"
import { makePrivateFolder } from "../../../adapters/http/unixSocket.ts"
import { makeMemoryLimits } from "../../../adapters/process/memoryLimits.ts"
import { openPrimaryChannel } from "../../../adapters/workers/PrimaryChannel.ts"
import { makePortSharing } from "../../../adapters/workers/portSharing.ts"
import { superviseWorkers, workerAuditFile } from "../../../adapters/workers/superviseWorkers.ts"
import * as WorkerCluster from "../../../adapters/workers/WorkerCluster.ts"
import type { WorkerIdentity } from "../../../adapters/workers/WorkerIdentity.ts"
import { AuditLog } from "../../../application/ports/AuditLog.ts"
import { MetricLabels } from "../../../application/server/observability/EffectMetrics.ts"
import { secureRandomHex } from "../../../application/shared/secureRandom.ts"
import { CommandFailed, failCommand } from "../../CommandFailed.ts"
import { reloadRequests } from "../../config/hangup.ts"
import { LocalCluster } from "../../layers/serverLayer.ts"
import { CommandLine } from "../flags/flagRules.ts"
import { type PreparedOptions, type ServerCommandOptions, toServerOptions } from "./flags.ts"
import { announce, auditLayer, serve } from "./startServer.ts"

/** Added to the drain timeout: time for the last bytes, and for the audit. */
const stopGrace = Duration.seconds(15)

/** Why this command can have no workers. */
const workersProblem = ({ engine }: ServerCommandOptions): string | undefined => {
  if (engine !== "relay") return "--workers needs the engine 'relay'"
  if (process.platform === "win32") return "--workers needs Linux or macOS"
  return "bun" in process.versions || "deno" in process.versions ? "--workers needs Node" : undefined
}

/** Runs the workers of a Server until a signal requests its shutdown. This process serves no members itself. */
export const runWorkers = Effect.fnUntraced(function* (
  options: ServerCommandOptions,
  stopRequested: Effect.Effect<string>
) {
  const problem = workersProblem(options)
  if (problem !== undefined) return yield* failCommand(problem)
  const { audit, tls } = yield* toServerOptions(options)
  const { drainTimeout, host, port, workers: count } = options
  const folder = join(tmpdir(), `a2c-${secureRandomHex(4)}`)
  yield* makePrivateFolder(folder)
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
  const workers = yield* superviseWorkers({
    count,
    host,
    port,
    hasTls: tls !== undefined,
    folder,
    args: yield* CommandLine,
    audit: Context.get(yield* Layer.build(auditLayer(audit)), AuditLog),
    stopTimeout: Duration.sum(drainTimeout, stopGrace)
  }).pipe(
    Effect.catchTag("WorkerStartFailed", ({ exitCode }) =>
      Effect.fail(new CommandFailed({ message: "The Server does not start: its first worker has ended", exitCode }))
    )
  )
  yield* announce(options, workers.url)
  yield* Effect.forkScoped(Stream.runForEach(reloadRequests, () => workers.reload))
  const signal = yield* stopRequested
  yield* Effect.logInfo("shutdown requested", { signal })
  yield* workers.stop(signal)
}, Effect.scoped)

/** The options of one worker. */
const workerOptions = (
  { audit, layer, ...others }: PreparedOptions,
  { count, index }: WorkerIdentity
): PreparedOptions => {
  const { redis } = layer
  const { address } = redis ?? {}
  return {
    ...others,
    layer: {
      ...layer,
      // Each has its share of the memory.
      limits: { ...Record.map(makeMemoryLimits(), (bytes) => Math.floor(bytes / count)), ...layer.limits },
      // Each is a node at another port.
      ...(redis &&
        address && { redis: { ...redis, address: { ...address, port: address.port && address.port + index } } })
    },
    audit: audit && { ...audit, file: workerAuditFile }
  }
}

/** Serves as one of the workers, until it or the primary process gets a signal. */
export const runWorker = Effect.fnUntraced(
  function* (options: ServerCommandOptions, identity: WorkerIdentity, stopRequested: Effect.Effect<string>) {
    const channel = openPrimaryChannel(identity)
    const { listen, send } = channel
    const stopOfAll = yield* Deferred.make<string>()
    listen((message) => {
      if (message._tag === "Reload") process.emit("SIGHUP", "SIGHUP")
      if (message._tag === "Stop") Deferred.doneUnsafe(stopOfAll, Exit.succeed(message.signal))
    })
    const stopAlone = Effect.tap(stopRequested, () => Effect.sync(() => send({ _tag: "Stopping" })))
    const onListening = () => {
      send({ _tag: "Ready" })
      return Effect.raceFirst(stopAlone, Deferred.await(stopOfAll))
    }
    yield* serve(options, workerOptions(yield* toServerOptions(options), identity), onListening).pipe(
      Effect.provideService(SharedPort, makePortSharing(identity, channel)),
      Effect.provideService(LocalCluster, WorkerCluster.layer(identity, channel)),
      Effect.provideService(MetricLabels, { worker: String(identity.index) })
    )
  },
  (running, _options, { index }) => Effect.annotateLogs(running, { worker: index })
)
