import { createHash } from "node:crypto"
import { Deferred, Effect, Queue, type Scope, Stream } from "effect"
import type { McpChange, McpFailure, McpWatch } from "../../application/ports/McpSession.ts"
import type { JsonObject } from "../../domain/json.ts"
import { changeBacklog } from "./reading.ts"

/** How long after one round of looking the next begins: what a person still takes for "at once" on a desktop. */
const pollInterval = "5 seconds"

/** How long a look may take; a peer that hangs holds up the rest of a round for so long at most. */
const lookTimeout = "30 seconds"

/** How many looks run at once. */
const lookConcurrency = 4

/** What a session says of itself when its peer refuses the subscriptions it advertises. */
export const refused = "subscriptions are refused; windows are polled"

/** What is looked at. */
export interface PollSource {
  /** All resources that are listed now. */
  readonly listResources: Effect.Effect<ReadonlyArray<JsonObject>, McpFailure>
  /** The contents of a resource now. */
  readonly readResource: (uri: string) => Effect.Effect<ReadonlyArray<JsonObject>, McpFailure>
}

/** What a watcher wants that can be polled. */
export type Polled = Pick<McpWatch, "resources" | "uris">

/** Something to look at, and what it means when it looks different. */
interface Target {
  readonly change: McpChange
  readonly read: Effect.Effect<ReadonlyArray<JsonObject>, McpFailure>
}

const targetsOf = (
  { listResources, readResource }: PollSource,
  { resources, uris }: Polled
): ReadonlyArray<Target> => [
  ...(resources ? [{ change: { _tag: "ResourcesChanged" } as const, read: listResources }] : []),
  ...uris.map((uri) => ({ change: { _tag: "ResourceUpdated", uri } as const, read: readResource(uri) }))
]

/** A short stand-in for what was seen, so that large contents are not kept to compare them. */
const fingerprint = (seen: unknown): string =>
  createHash("sha256").update(JSON.stringify(seen)).digest("base64")

/** What something looks like now; an error of the peer is a look, too. Undefined when nobody could say. */
const look = ({ read }: Target): Effect.Effect<string | undefined> =>
  read.pipe(
    Effect.map(fingerprint),
    Effect.catch(({ code, kind, message }) =>
      Effect.succeed(kind === "protocol" ? fingerprint({ code, message }) : undefined)
    ),
    Effect.timeoutOption(lookTimeout),
    Effect.map((seen) => (seen._tag === "Some" ? seen.value : undefined))
  )

/**
 * Looks at resources again and again, as long as the scope, and tells what has changed since the effect succeeded, as
 * a peer with subscriptions would. With `missed` it begins by telling that all has changed, since nobody has looked
 * until now.
 */
const poll = Effect.fnUntraced(function* (
  source: PollSource,
  wanted: Polled,
  { missed = false }: { readonly missed?: boolean } = {}
): Effect.fn.Return<Stream.Stream<McpChange>, never, Scope.Scope> {
  const targets = targetsOf(source, wanted)
  const changes = yield* Queue.sliding<McpChange>(changeBacklog)
  const known = new Map<Target, string | undefined>()
  const round = (tells: (target: Target, seen: string) => boolean) =>
    Effect.forEach(
      targets,
      (target) =>
        Effect.map(look(target), (seen) => {
          if (seen === undefined) return
          if (tells(target, seen)) Queue.offerUnsafe(changes, target.change)
          known.set(target, seen)
        }),
      { concurrency: lookConcurrency, discard: true }
    )
  yield* round(() => missed)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(pollInterval),
        round((target, seen) => known.get(target) !== seen)
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
  wanted: Polled
): Effect.fn.Return<Stream.Stream<McpChange>, never, Scope.Scope> {
  if (!wanted.resources && wanted.uris.length === 0) return Stream.empty
  if (Deferred.isDoneUnsafe(reason)) return yield* poll(source, wanted)
  return Stream.unwrap(Effect.andThen(Deferred.await(reason), poll(source, wanted, { missed: true })))
})
