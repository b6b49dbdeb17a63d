import { createHash } from "node:crypto"
import { Deferred, Effect, Queue, Schedule, type Scope, Stream } from "effect"
import type { McpChange, McpSession, McpWatchOptions } from "../../../application/ports/McpSession.ts"
import { listAllPages } from "../../../application/shared/paging.ts"
import { allChanges, maxPendingChanges } from "./mcpMessages.ts"

const pollInterval = "5 seconds"

/** Timeout of one read, so a hanging server delays a round only this long. */
const pollTimeout = "30 seconds"

const pollConcurrency = 4

export const subscriptionsRejected = "server rejects subscriptions; resources are polled"

type PollSource = Pick<McpSession, "listResources" | "readResource">

const fingerprint = (seen: unknown): string => createHash("sha256").update(JSON.stringify(seen)).digest("base64")

/** Hashes the current state, or the error of the server. Undefined when the state is unknown. */
const takeFingerprint = ({ listResources, readResource }: PollSource, target: McpChange) =>
  (target._tag === "ResourceUpdated" ? readResource(target.uri) : listAllPages(listResources)).pipe(
    Effect.map(fingerprint),
    Effect.catch(({ code, reason, message }) =>
      Effect.succeed(reason === "protocol" ? fingerprint({ code, message }) : undefined)
    ),
    Effect.timeoutOrElse({ duration: pollTimeout, orElse: () => Effect.undefined })
  )

/**
 * Polls from the time when `reason` is done, which may be never, until the scope closes. If it is done already, changes
 * after the effect succeeds are reported. Otherwise everything counts as changed when polling starts.
 */
export const pollWhen = Effect.fnUntraced(function* (
  reason: Deferred.Deferred<string>,
  source: PollSource,
  wanted: Pick<McpWatchOptions, "resources" | "uris">
): Effect.fn.Return<Stream.Stream<McpChange>, never, Scope.Scope> {
  const targets = allChanges({ ...wanted, tools: false })
  if (targets.length === 0) return Stream.empty

  const poll = Effect.fnUntraced(function* (reportAllFirst: boolean) {
    const changes = yield* Queue.sliding<McpChange>(maxPendingChanges)
    const lastFingerprints = new Map<McpChange, string>()
    const round = (isReported: (target: McpChange, seen: string) => boolean) =>
      Effect.forEach(
        targets,
        (target) =>
          Effect.map(takeFingerprint(source, target), (seen) => {
            if (seen === undefined) return
            if (isReported(target, seen)) Queue.offerUnsafe(changes, target)
            lastFingerprints.set(target, seen)
          }),
        { concurrency: pollConcurrency, discard: true }
      )
    yield* round(() => reportAllFirst)
    const nextRounds = round((target, seen) => lastFingerprints.get(target) !== seen)
    yield* Effect.forkScoped(Effect.schedule(nextRounds, Schedule.spaced(pollInterval)))
    return Stream.fromQueue(changes)
  })

  return Deferred.isDoneUnsafe(reason)
    ? yield* poll(false)
    : Stream.unwrap(Effect.andThen(Deferred.await(reason), poll(true)))
})
