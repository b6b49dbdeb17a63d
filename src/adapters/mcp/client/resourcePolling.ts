import { createHash } from "node:crypto"
import { Deferred, Effect, Queue, type Scope, Stream } from "effect"
import type { McpChange, McpSessionError, McpWatchOptions } from "../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { maxPendingChanges } from "./mcpMessages.ts"

const pollInterval = "5 seconds"

/** Timeout of one read, so a hanging server delays a round only this long. */
const pollTimeout = "30 seconds"

const pollConcurrency = 4

export const subscriptionsRejected = "server rejects subscriptions; resources are polled"

export interface PollSource {
  readonly listResources: Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  readonly readResource: (uri: string) => Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
}

export type PollableWatch = Pick<McpWatchOptions, "resources" | "uris">

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

const fingerprint = (seen: unknown): string => createHash("sha256").update(JSON.stringify(seen)).digest("base64")

/** Hashes the current state, or the error of the server. Undefined when the state is unknown. */
const takeFingerprint = ({ read }: PollTarget): Effect.Effect<string | undefined> =>
  read.pipe(
    Effect.map(fingerprint),
    Effect.catch(({ code, reason, message }) =>
      Effect.succeed(reason === "protocol" ? fingerprint({ code, message }) : undefined)
    ),
    Effect.timeoutOption(pollTimeout),
    Effect.map((seen) => (seen._tag === "Some" ? seen.value : undefined))
  )

/** Polls until the scope closes. With `reportAllFirst` everything is reported once at the start. */
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
 * Polls after `reason` is done, which may be never. If it is done already, changes after the effect succeeds
 * are reported. Otherwise everything counts as changed when polling starts.
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
