import { Effect, Layer, Option, Ref, type Redacted } from "effect"
import { CredentialStore } from "../../application/ports/CredentialStore.ts"

/** Keeps credentials until the process ends, for tests and for hosts without persistent storage. */
export const layer: Layer.Layer<CredentialStore> = Layer.effect(
  CredentialStore,
  Effect.gen(function* () {
    const kept = yield* Ref.make<ReadonlyMap<string, Redacted.Redacted<string>>>(new Map())
    return CredentialStore.of({
      read: (server) => Effect.map(Ref.get(kept), (all) => Option.fromUndefinedOr(all.get(server))),
      write: (server, credentials) => Ref.update(kept, (all) => new Map(all).set(server, credentials)),
      remove: (server) => Ref.update(kept, (all) => new Map([...all].filter(([name]) => name !== server)))
    })
  })
)
