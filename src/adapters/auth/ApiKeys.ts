import { timingSafeEqual } from "node:crypto"
import { Clock, Effect, PubSub, type Scope, Stream } from "effect"
import { admissionRejected } from "../../application/ports/Authenticator.ts"
import type { Identity } from "../../domain/model/Identity.ts"
import type { ApiKeyEntry } from "./apiKeyEntries.ts"
import { type CredentialScheme, lasting } from "./CredentialScheme.ts"
import { sha256 } from "./secrets.ts"

/** An entry with its binary hash, and one identity object that lasts as long as the entry. */
const indexEntry = ({ expiresAt, grants, hash, subject }: ApiKeyEntry) => ({
  fingerprint: JSON.stringify([hash, subject, grants.rights, grants.offices, grants.names, expiresAt]),
  hash: Buffer.from(hash, "hex"),
  identity: { subject, grants, expiresAt }
})

const invalid = admissionRejected("invalid_credentials", "The API key is not valid")
const expired = admissionRejected("expired_credentials", "The API key has expired")

/** Authenticates by API key. Each update replaces all entries, and revokes identities of removed or changed ones. */
export const make = Effect.fnUntraced(function* (
  entries: ReadonlyArray<ApiKeyEntry>,
  updates: Stream.Stream<ReadonlyArray<ApiKeyEntry>> = Stream.never
): Effect.fn.Return<CredentialScheme, never, Scope.Scope> {
  let keys: ReadonlyArray<ReturnType<typeof indexEntry>> = []
  let currentIdentities: ReadonlySet<Identity> = new Set()
  const issued = new WeakSet<Identity>()
  // One pending change suffices: each one triggers a check of every identity.
  const changes = yield* PubSub.sliding<void>(1)

  const replaceKeys = (next: ReadonlyArray<ApiKeyEntry>) =>
    Effect.suspend(() => {
      const before = new Map(keys.map((one) => [one.fingerprint, one]))
      keys = next.map(indexEntry).map((one) => before.get(one.fingerprint) ?? one)
      currentIdentities = new Set(keys.map(({ identity }) => identity))
      return PubSub.publish(changes, undefined)
    })
  yield* replaceKeys(entries)
  yield* Effect.forkScoped(Stream.runForEach(updates, replaceKeys), { startImmediately: true })

  /** Compares with every entry: the duration must not reveal which entry matched. */
  const findIdentity = (key: string): Identity | undefined => {
    const hash = sha256(key)
    let found: Identity | undefined
    for (const one of keys) if (timingSafeEqual(one.hash, hash)) found = one.identity
    return found
  }

  return {
    recognizes: lasting.recognizes,
    authenticate: Effect.fnUntraced(function* (key) {
      const identity = findIdentity(key)
      if (identity === undefined) return yield* invalid
      const { expiresAt } = identity
      if (expiresAt !== undefined && expiresAt <= (yield* Clock.currentTimeMillis)) return yield* expired
      issued.add(identity)
      return identity
    }),
    isStillValid: (identity) => !issued.has(identity) || currentIdentities.has(identity),
    changes: Stream.fromPubSub(changes)
  }
})
