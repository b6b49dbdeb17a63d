import { createHash, timingSafeEqual } from "node:crypto"
import { Clock, Effect, PubSub, type Scope, Stream } from "effect"
import { refusedFor } from "../../application/ports/Authenticator.ts"
import type { Identity } from "../../domain/office/identity.ts"
import type { KeyEntry } from "./keyEntries.ts"
import type { Scheme } from "./schemes.ts"

/** An entry, its hash in the form that is compared, and who shows its key: the same object as long as the entry stays. */
interface Held {
  readonly written: string
  readonly hash: Buffer
  readonly identity: Identity
}

const hold = (entry: KeyEntry): Held => {
  const { expiresAt, grants, hash, subject } = entry
  return {
    written: JSON.stringify([hash, subject, grants.rights, grants.offices, grants.names, expiresAt]),
    hash: Buffer.from(hash, "hex"),
    identity: { subject, grants, expiresAt }
  }
}

const invalid = refusedFor("invalid_credentials", "The API key is not valid")
const expired = refusedFor("expired_credentials", "The API key has expired")

/**
 * Lets in whoever shows one of these keys. `updates` are the entries from then on; whose entry is not among them any
 * more, or says something else, is not welcome any more.
 */
export const make = Effect.fnUntraced(function* (
  entries: ReadonlyArray<KeyEntry>,
  updates: Stream.Stream<ReadonlyArray<KeyEntry>> = Stream.never
): Effect.fn.Return<Scheme, never, Scope.Scope> {
  let held: ReadonlyArray<Held> = entries.map(hold)
  let present = new Set(held.map(({ identity }) => identity))
  const issued = new WeakSet<Identity>()
  // One change says as much as many: everybody is looked at anew.
  const changes = yield* PubSub.sliding<void>(1)

  const take = (next: ReadonlyArray<KeyEntry>) =>
    Effect.suspend(() => {
      const before = new Map(held.map((one) => [one.written, one]))
      held = next.map(hold).map((one) => before.get(one.written) ?? one)
      present = new Set(held.map(({ identity }) => identity))
      return PubSub.publish(changes, undefined)
    })
  yield* Effect.forkScoped(Stream.runForEach(updates, take), { startImmediately: true })

  /** Compares with every entry, so that the time it takes does not tell whose key it was or how much of it fits. */
  const find = (key: string): Identity | undefined => {
    const hash = createHash("sha256").update(key).digest()
    let found: Identity | undefined
    for (const one of held) if (timingSafeEqual(one.hash, hash)) found = one.identity
    return found
  }

  return {
    recognises: () => true,
    authenticate: Effect.fnUntraced(function* (key) {
      const identity = find(key)
      if (identity === undefined) return yield* invalid
      const { expiresAt } = identity
      if (expiresAt !== undefined && expiresAt <= (yield* Clock.currentTimeMillis)) return yield* expired
      issued.add(identity)
      return identity
    }),
    welcome: (identity) => !issued.has(identity) || present.has(identity),
    changes: Stream.fromPubSub(changes)
  }
})
