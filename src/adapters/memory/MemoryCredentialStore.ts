import { Effect, Layer, Option, type Redacted } from "effect"
import { CredentialStore } from "../../application/ports/CredentialStore.ts"

/** Keeps credentials until the process ends, for tests and for hosts without persistent storage. */
export const layer: Layer.Layer<CredentialStore> = Layer.sync(CredentialStore, () => {
  const kept = new Map<string, Redacted.Redacted<string>>()
  return CredentialStore.of({
    read: (server) => Effect.sync(() => Option.fromUndefinedOr(kept.get(server))),
    write: (server, credentials) => Effect.sync(() => void kept.set(server, credentials)),
    remove: (server) => Effect.sync(() => void kept.delete(server))
  })
})
