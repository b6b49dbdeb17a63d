import { createHash } from "node:crypto"
import { Deferred, Effect, Queue, type Scope, Stream } from "effect"
import type { McpChange, McpSessionError, McpWatchOptions } from "../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { maxPendingChanges } from "./mcpMessages.ts"

/** How long after one round of looking the next begins: what a person still takes for "at once" on a desktop. */
const pollInterval = "5 seconds"

/** How long a look may take; a peer that hangs holds up the rest of a round for so long at most. */
const pollTimeout = "30 seconds"

/** How many looks run at once. */
const pollConcurrency = 4

/** What a session says of itself when its peer refuses the subscriptions it advertises. */
export const subscriptionsRejected = "server rejects subscriptions; resources are polled"

/** What is looked at. */
export interface PollSource {
  /** All resources that are listed now. */
  readonly listResources: Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  /** The contents of a resource now. */
  readonly readResource: (uri: string) => Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
}

/** What a watcher wants that can be polled. */
export type PollableWatch = Pick<McpWatchOptions, "resources" | "uris">

/** Something to look at, and what it means when it looks different. */
interface PollTarget {
  readonly change: McpChange
  readonly read: Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
}

const pollTargetsOf = (
  { listResources, readResource }: PollSource,
  { resources, uris }: PollableWatch
): ReadonlyArray<PollTarget> => [
  ...(resources ? [{ change: { _tag: "ResourcesChanged" } as const, read: listResources }] : []),
  ...uris.map((uri) => ({ change: { _tag: "ResourceUpdated", uri } as const, read: readResource(uri) }))
]

/** A short stand-in for what was seen, so that large contents are not kept to compare them. */
const fingerprint = (seen: unknown): string =>
  createHash("sha256").update(JSON.stringify(seen)).digest("base64")

/** What something looks like now; an error of the peer is a look, too. Undefined when nobody could say. */
const takeFingerprint = ({ read }: PollTarget): Effect.Effect<string | undefined> =>
  read.pipe(
    Effect.map(fingerprint),
    Effect.catch(({ code, reason, message }) =>
      Effect.succeed(reason === "protocol" ? fingerprint({ code, message }) : undefined)
    ),
    Effect.timeoutOption(pollTimeout),
    Effect.map((seen) => (seen._tag === "Some" ? seen.value : undefined))
  )

/**
 * Looks at resources again and again, as long as the scope, and tells what has changed since the effect succeeded, as
 * a peer with subscriptions would. With `missed` it begins by telling that all has changed, since nobody has looked
 * until now.
 */
const poll = Effect.fnUntraced(function* (
  source: PollSource,
  wanted: PollableWatch,
  { reportAllFirst = false }: { readonly reportAllFirst?: boolean } = {}
): Effect.fn.Return<Stream.Stream<McpChange>, never, Scope.Scope> {
  const targets = pollTargetsOf(source, wanted)
  const changes = yield* Queue.sliding<McpChange>(maxPendingChanges)
  const lastFingerprints = new Map<PollTarget, string | undefined>()
  const round = (isReported: (target: PollTarget, seen: string) => boolean) =>
    Effect.forEach(
      targets,
      (target) =>
        Effect.map(takeFingerprint(target), (seen) => {
          if (seen === undefined) return
          if (isReported(target, seen)) Queue.offerUnsafe(changes, target.change)
          lastFingerprints.set(target, seen)
        }),
      { concurrency: pollConcurrency, discard: true }
    )
  yield* round(() => reportAllFirst)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(pollInterval),
        round((target, seen) => lastFingerprints.get(target) !== seen)
      )
    )
  )
  return Stream.fromQueue(changes)
})

/**
 * Polls once there is a reason to, which may be never. Where there is one already, what changes after the effect has
 * succeeded is told; where one comes up later, all counts as changed at that moment.
 */
export const pollWhen = Effect.fnUntraced(function* (
  reason: Deferred.Deferred<string>,
  source: PollSource,
  wanted: PollableWatch
): Effect.fn.Return<Stream.Stream<McpChange>, never, Scope.Scope> {
  if (!wanted.resources && wanted.uris.length === 0) return Stream.empty
  if (Deferred.isDoneUnsafe(reason)) return yield* poll(source, wanted)
  return Stream.unwrap(Effect.andThen(Deferred.await(reason), poll(source, wanted, { reportAllFirst: true })))
})
