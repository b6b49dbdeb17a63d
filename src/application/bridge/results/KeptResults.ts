import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Clock, Duration, Effect, Result, type Scope } from "effect"
import type { ResultContent } from "../../../domain/results/resultContent.ts"
import { formatBytes, formatDuration } from "../../../domain/text/format.ts"
import { singleLine } from "../../../domain/tools/singleLine.ts"
import { encodeUtf8 } from "../../../domain/utf8.ts"
import { secureRandomBytes } from "../../shared/secureRandom.ts"

/** How long a result is kept: a model reads on within its task, and a person may decide in between. */
const keepTime = Duration.minutes(30)

/** Maximum number of kept results: more than a model reads at the same time. */
const maxCount = 100

/** Total size of kept results in bytes, which an office without large results does not use. */
const maxBytes = 64 * 1024 * 1024

/** How often expired results are dropped: their memory is free soon after. */
const sweepInterval = Duration.minutes(1)

/** Length of the tag of an id in bytes: enough that it cannot be guessed. */
const tagLength = 16

interface Kept {
  readonly content: ResultContent
  readonly size: number
  readonly expires: number
}

export interface KeptResults {
  /** A new id, which cannot be guessed. */
  readonly newId: () => string
  /** Keeps a content, and drops the oldest ones. False when it alone is too large. */
  readonly keep: (id: string, content: ResultContent) => Effect.Effect<boolean>
  /** Finds a content, or fails with the reason for a person. */
  readonly find: (id: string) => Effect.Effect<ResultContent, string>
}

/** The memory of a content: V8 keeps text in up to two bytes per unit. */
const sizeOf = ({ binaries, text }: ResultContent): number =>
  binaries.reduce((sum, { bytes }) => sum + bytes.length, 2 * text.length)

/** Keeps large results in memory until the scope closes. */
export const makeKeptResults: Effect.Effect<KeptResults, never, Scope.Scope> = Effect.gen(function* () {
  /** By id, oldest first. */
  const kept = new Map<string, Kept>()
  let keptBytes = 0
  let created = 0
  const key = secureRandomBytes(32)

  /** The tag distinguishes a dropped result from a wrong id, without a memory of all ids. */
  const formatId = (number: string): string =>
    `${number}-${bytesToHex(hmac(sha256, key, encodeUtf8(number)).subarray(0, tagLength))}`

  const dropWhile = (isDue: (oldest: Kept) => boolean): void => {
    for (const [id, oldest] of kept) {
      if (!isDue(oldest)) return
      kept.delete(id)
      keptBytes -= oldest.size
    }
  }
  const dropExpired = Effect.map(Clock.currentTimeMillis, (now) => dropWhile(({ expires }) => expires <= now))

  yield* Effect.addFinalizer(() => Effect.sync(() => dropWhile(() => true)))
  yield* Effect.forkScoped(Effect.forever(Effect.delay(dropExpired, sweepInterval)))

  const gone =
    `The result is no longer kept. Results are kept for ${formatDuration(Duration.toMillis(keepTime))}, and at most ` +
    `${maxCount} of them or ${formatBytes(maxBytes)}: call the tool again`

  return {
    newId: () => formatId(String(created++)),
    keep: Effect.fnUntraced(function* (id, content) {
      const size = sizeOf(content)
      if (size > maxBytes) return false
      kept.set(id, { content, size, expires: (yield* Clock.currentTimeMillis) + Duration.toMillis(keepTime) })
      keptBytes += size
      dropWhile(() => kept.size > maxCount || keptBytes > maxBytes)
      return true
    }),
    find: Effect.fnUntraced(function* (id) {
      yield* dropExpired
      const found = kept.get(id)
      if (found !== undefined) return found.content
      const isOurs = formatId(id.split("-", 1)[0] ?? "") === id
      return yield* Effect.fromResult(
        Result.fail(isOurs ? gone : `There is no result '${singleLine(id, 60)}': the id is not one of this session`)
      )
    })
  }
})
