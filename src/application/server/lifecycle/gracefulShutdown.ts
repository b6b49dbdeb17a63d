import { Clock, Duration, Effect } from "effect"
import { NodeLink } from "../nodes/NodeLink.ts"
import type { Connections } from "../connections/Connections.ts"
import type { InFlightCalls } from "../connections/InFlightCalls.ts"
import { Readiness } from "../observability/Readiness.ts"
import { ServerSettings } from "../Limits.ts"

/** Interval at which the drain checks for calls in flight and unsent replies. */
const pollInterval = Duration.millis(20)

/**
 * Shuts a Server down while its transport still serves: rejects joins and new calls, waits for calls in flight until
 * the drain timeout, then closes every connection.
 */
export const shutDownGracefully = Effect.fnUntraced(function* (connections: Connections, inFlightCalls: InFlightCalls) {
  const clock = yield* Clock.Clock
  const nodeLink = yield* NodeLink
  const readiness = yield* Readiness
  const { drainTimeout } = yield* ServerSettings
  const drainMillis = Duration.toMillis(drainTimeout)
  const seconds = drainMillis / 1000
  const logProgress = drainMillis > 0 ? Effect.logInfo : Effect.logDebug

  /** Calls of members of this node, and calls of other nodes to them. */
  const inFlightCount = () => inFlightCalls.size() + nodeLink.load().inboundRequests

  const isIdle = (): boolean =>
    inFlightCount() === 0 && nodeLink.load().queuedBytes === 0 && connections.totalBacklogBytes() === 0

  readiness.setState({ _tag: "Draining", reason: "the Server is shutting down" })
  const calls = inFlightCount()
  yield* logProgress("graceful shutdown started", { connections: connections.size(), calls, seconds })
  if (drainMillis > 0 && connections.size() > 0) {
    const end = clock.currentTimeMillisUnsafe() + drainMillis
    yield* Effect.repeat(Effect.sleep(pollInterval), {
      until: () => isIdle() || clock.currentTimeMillisUnsafe() >= end
    })
  }
  const remaining = inFlightCount()
  if (remaining === 0) yield* logProgress("graceful shutdown: no calls in flight")
  // Without a drain timeout, ended calls are no surprise.
  else if (drainMillis === 0) yield* Effect.logDebug("graceful shutdown: calls end", { calls: remaining })
  else yield* Effect.logWarning("graceful shutdown: drain timeout exceeded", { calls: remaining, seconds })
  yield* logProgress("graceful shutdown: closing connections", { connections: connections.size() })
  yield* connections.closeAll("the Server is shutting down")
})
