import { Clock, Duration, Effect } from "effect"
import { Cancellation } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { Nodes } from "./Nodes.ts"
import { ServerSettings } from "./ServerSettings.ts"

/** How often it is looked whether the last call has ended and its answer has gone. */
const pause = Duration.millis(20)

/**
 * How a Server goes down while its transport still serves: calls under way may end within the time that the settings
 * give, then every connection is closed. `begin` must make sure that nothing new begins.
 */
export const makeGoDown = Effect.gen(function* () {
  const connections = yield* Connections
  const cancellation = yield* Cancellation
  const nodes = yield* Nodes
  const { drainTime } = yield* ServerSettings
  const clock = yield* Clock.Clock
  const patience = Duration.toMillis(drainTime)
  const seconds = patience / 1000
  // Who gives no time does not want to hear of every step either.
  const say = patience > 0 ? Effect.logInfo : Effect.logDebug

  /** Calls of members of this node, and calls of others to them. */
  const underWay = () => cancellation.size() + nodes.load().serving

  const isBusy = (): boolean =>
    underWay() > 0 || nodes.load().unsent || [...connections.all()].some(({ link }) => link.backlog() > 0)

  const untilQuiet = Effect.suspend(() => {
    const end = clock.currentTimeMillisUnsafe() + patience
    return Effect.repeat(Effect.sleep(pause), {
      until: () => !isBusy() || clock.currentTimeMillisUnsafe() >= end
    })
  })

  return Effect.fnUntraced(function* (begin: () => void) {
    begin()
    nodes.refuse()
    const load = { connections: connections.size(), calls: underWay() }
    yield* say("going down: joins and new calls are refused", { ...load, seconds })
    if (patience > 0 && load.connections > 0) yield* untilQuiet
    const calls = underWay()
    yield* calls === 0
      ? say("going down: no call is under way")
      : Effect.logWarning("going down: calls are cut off", { calls, seconds })
    yield* say("going down: closing connections", { connections: connections.size() })
    yield* Effect.forEach([...connections.all()], ({ link }) => link.close("The Server is going down"), {
      discard: true,
      concurrency: "unbounded"
    })
  })
})
