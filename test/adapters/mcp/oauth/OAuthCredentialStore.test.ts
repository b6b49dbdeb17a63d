import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { makeOAuthCredentialStore, noCredentials } from "../../../../src/adapters/mcp/oauth/oauthFlow.ts"
import * as MemoryCredentialStore from "../../../fixtures/MemoryCredentialStore.ts"
import { CredentialStore } from "../../../../src/application/ports/CredentialStore.ts"

const client = { client_id: "c" }
const tokens = { access_token: "a", token_type: "Bearer" }
const url = new URL("https://mcp.example/mcp")

describe("OAuth credentials", () => {
  layer(Layer.fresh(MemoryCredentialStore.layer))((it) => {
    for (const [title, credentials] of [
      ["client and tokens", { client, tokens }],
      ["only the client", { client, tokens: undefined }],
      ["only the tokens", { client: undefined, tokens }]
    ] as const) {
      it.effect(`stores ${title}`, () =>
        Effect.gen(function* () {
          const { read, write } = makeOAuthCredentialStore(yield* CredentialStore, title, url)
          yield* write(credentials)
          assert.deepStrictEqual(yield* read, credentials)
        })
      )
    }

    it.effect("removes the entry when neither client nor tokens remain", () =>
      Effect.gen(function* () {
        const store = yield* CredentialStore
        const { read, write } = makeOAuthCredentialStore(store, "emptied", url)
        yield* write({ client, tokens })
        yield* write(noCredentials)
        assert.isTrue(Option.isNone(yield* store.read("emptied")))
        assert.deepStrictEqual(yield* read, noCredentials)
      })
    )

    it.effect("gives no credentials to another URL", () =>
      Effect.gen(function* () {
        const store = yield* CredentialStore
        yield* makeOAuthCredentialStore(store, "moved", url).write({ client, tokens })
        const moved = makeOAuthCredentialStore(store, "moved", new URL("https://mcp.example/other"))
        assert.deepStrictEqual(yield* moved.read, noCredentials)
      })
    )
  })
})
