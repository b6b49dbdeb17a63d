import { Clock, Duration, Effect } from "effect"
import { InFlightCalls } from "../routing/InFlightCalls.ts"
import { Connections } from "../connections/Connections.ts"
import { ClusterNodes } from "../cluster/ClusterNodes.ts"
import { ServerSettings } from "./ServerSettings.ts"

/** How often it is looked whether the last call has ended and its answer has gone. */
const pollInterval = Duration.millis(20)

/**
 * How a Server goes down while its transport still serves: calls under way may end within the time that the settings
 * give, then every connection is closed. `begin` must make sure that nothing new begins.
 */
export const makeGracefulShutdown = Effect.gen(function* () {
  const connections = yield* Connections
  const inFlightCalls = yield* InFlightCalls
  const nodes = yield* ClusterNodes
  const { drainTimeout } = yield* ServerSettings
  const clock = yield* Clock.Clock
  const drainMillis = Duration.toMillis(drainTimeout)
  const seconds = drainMillis / 1000
  // Who gives no time does not want to hear of every step either.
  const logProgress = drainMillis > 0 ? Effect.logInfo : Effect.logDebug

  /** Calls of members of this node, and calls of others to them. */
  const inFlightCount = () => inFlightCalls.size() + nodes.load().inboundRequests

  const isBusy = (): boolean =>
    inFlightCount() > 0 ||
    nodes.load().hasUnsent ||
    [...connections.all()].some(({ link }) => link.backlog() > 0)

  const awaitIdle = Effect.suspend(() => {
    const end = clock.currentTimeMillisUnsafe() + drainMillis
    return Effect.repeat(Effect.sleep(pollInterval), {
      until: () => !isBusy() || clock.currentTimeMillisUnsafe() >= end
    })
  })

  return Effect.fnUntraced(function* (stopAccepting: () => void) {
    stopAccepting()
    nodes.rejectRequests()
    const load = { connections: connections.size(), calls: inFlightCount() }
    yield* logProgress("going down: joins and new calls are refused", { ...load, seconds })
    if (drainMillis > 0 && load.connections > 0) yield* awaitIdle
    const calls = inFlightCount()
    yield* calls === 0
      ? logProgress("going down: no call is under way")
      : Effect.logWarning("going down: calls are cut off", { calls, seconds })
    yield* logProgress("going down: closing connections", { connections: connections.size() })
    yield* Effect.forEach([...connections.all()], ({ link }) => link.close("The Server is going down"), {
      discard: true,
      concurrency: "unbounded"
    })
  })
})
