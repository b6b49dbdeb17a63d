import { Clock, Deferred, Effect, Exit, Queue, Result, type Scope, Stream } from "effect"
import { isWatched, type McpChange, McpFailure, type McpWatch } from "../../application/ports/McpSession.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ModernPeer } from "./ModernPeer.ts"
import { type Polled, pollWhen, type PollSource, refused } from "./polling.ts"
import { changeBacklog, everything, methodNotFound } from "./reading.ts"

/**
 * How a subscription that ended is renewed: the pauses double from the first to the longest and begin anew after one
 * that has lasted; after so many that the server did not even accept, it is taken for gone.
 */
const renewal = { first: 1000, longest: 30_000, lasting: 60_000, failures: 5 }

const endedAtOnce = new McpFailure({
  kind: "protocol",
  message: "the MCP server ended the subscription before it began"
})

const noSubscriptions = new McpFailure({
  kind: "unsupported",
  message: "the MCP server does not tell when contents change"
})

/** The names under which changes are asked for. */
const filterOf = ({ resources, tools, uris }: McpWatch): JsonObject => ({
  ...(tools && { toolsListChanged: true }),
  ...(resources && { resourcesListChanged: true }),
  ...(uris.length > 0 && { resourceSubscriptions: uris })
})

/** What of this the server will not tell, though it could be looked at. */
const missing = ({ resources, uris }: McpWatch, honoured: JsonObject): Polled => {
  const told = honoured["resourceSubscriptions"]
  return {
    resources: resources && honoured["resourcesListChanged"] !== true,
    uris: uris.filter((uri) => !Array.isArray(told) || !told.includes(uri))
  }
}

const tellsAnything = ({
  resourceSubscriptions,
  resourcesListChanged,
  toolsListChanged
}: JsonObject): boolean =>
  toolsListChanged === true ||
  resourcesListChanged === true ||
  (Array.isArray(resourceSubscriptions) && resourceSubscriptions.length > 0)

/** Does it tell less of its listings than it did before? What is subscribed to may have gone with good reason. */
const tellsLess = (before: JsonObject, now: JsonObject): boolean =>
  ["toolsListChanged", "resourcesListChanged"].some((kind) => before[kind] === true && now[kind] !== true)

/** What a watch stands on. */
export interface ModernWatchOptions {
  readonly peer: ModernPeer
  readonly source: PollSource
  /** What the server has said it tells of resources. */
  readonly promised: { readonly contents: boolean; readonly listing: boolean }
  /** Done when the server does not keep that. */
  readonly degraded: Deferred.Deferred<string>
}

/**
 * Hears of changes as long as the scope. A subscription that ends is renewed, and all counts as changed then, since
 * nobody heard what happened in between; what the server does not tell though it promised to is polled.
 */
export const watchModern = Effect.fnUntraced(function* (
  wanted: McpWatch,
  { degraded, peer, promised, source }: ModernWatchOptions
): Effect.fn.Return<Stream.Stream<McpChange>, McpFailure, Scope.Scope> {
  const changes = yield* Queue.sliding<McpChange>(changeBacklog)
  const first = yield* Deferred.make<JsonObject, McpFailure>()
  const filter = filterOf(wanted)

  const subscribing = Effect.gen(function* () {
    let pause = renewal.first
    let failures = 0
    let before: JsonObject | undefined
    while (failures < renewal.failures) {
      const began = yield* Clock.currentTimeMillis
      let accepted = false
      const end = yield* Effect.result(
        peer.listen(filter, {
          accepted: (honoured) => {
            accepted = true
            if (before !== undefined && tellsLess(before, honoured)) {
              // Another session finds out what is to be polled.
              return peer.lose("the MCP server tells less of its changes than before")
            }
            before ??= honoured
            if (Deferred.doneUnsafe(first, Exit.succeed(honoured))) return
            Queue.offerAllUnsafe(changes, everything(wanted))
          },
          changed: (change) => void Queue.offerUnsafe(changes, change)
        })
      )
      if (yield* Deferred.fail(first, Result.isFailure(end) ? end.failure : endedAtOnce)) return
      if (!tellsAnything(yield* Deferred.await(first))) return
      failures = accepted ? 0 : failures + 1
      if (accepted && (yield* Clock.currentTimeMillis) - began >= renewal.lasting) pause = renewal.first
      yield* Effect.sleep(pause)
      pause = Math.min(2 * pause, renewal.longest)
    }
    peer.lose("the MCP server does not take up its subscriptions again")
  })

  const ended = Deferred.await(peer.lost)
  if (Object.keys(filter).length === 0) return Stream.interruptWhen(Stream.never, ended)
  yield* Effect.forkScoped(Effect.ignore(subscribing))
  const honoured = yield* Effect.catchIf(
    Deferred.await(first),
    ({ code }) => code === methodNotFound,
    () => Effect.succeed({})
  )
  const { resources, uris } = missing(wanted, honoured)
  const left = { resources: resources && promised.listing, uris }
  if (left.uris.length > 0 && !promised.contents) return yield* noSubscriptions
  if (left.resources || left.uris.length > 0) yield* Deferred.succeed(degraded, refused)
  const polled = yield* pollWhen(degraded, source, left)
  return Stream.fromQueue(changes).pipe(
    Stream.filter((change) => isWatched(wanted, change)),
    Stream.merge(polled),
    Stream.interruptWhen(ended)
  )
})
