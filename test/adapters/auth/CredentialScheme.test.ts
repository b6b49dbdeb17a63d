import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeSchemeAuthenticator, type CredentialScheme } from "../../../src/adapters/auth/CredentialScheme.ts"
import { allowAll } from "../../../src/application/ports/Authenticator.ts"
import type { Handshake } from "../../../src/application/ports/Transport.ts"
import { allGrants } from "../../../src/domain/model/Identity.ts"
import { handshake, outcome } from "./handshakes.ts"

/** Takes what begins like this, and calls it by its name. */
const beginning = (start: string): CredentialScheme => ({
  ...allowAll,
  recognizes: (credential) => credential.startsWith(start),
  authenticate: (credential) =>
    Effect.succeed({ subject: `${start}:${credential}`, grants: allGrants, expiresAt: undefined })
})

const authenticator = makeSchemeAuthenticator([beginning("x"), beginning("xy"), beginning("z")])

const subjectOf = (shown: Partial<Handshake>) =>
  Effect.match(authenticator.authenticate(handshake(shown)), {
    onFailure: ({ reason }) => reason,
    onSuccess: ({ subject }) => subject
  })

describe("a credential", () => {
  it.effect("comes from auth.token, then x-api-key, then a bearer header", () =>
    Effect.gen(function* () {
      const bearer = { authorization: "Bearer z-bearer" }
      const both = { ...bearer, "x-api-key": "z-key" }
      assert.strictEqual(yield* subjectOf({ auth: { token: "z-auth" }, headers: both }), "z:z-auth")
      assert.strictEqual(yield* subjectOf({ auth: { role: "agent" }, headers: both }), "z:z-key")
      assert.strictEqual(yield* subjectOf({ auth: null, headers: bearer }), "z:z-bearer")
    })
  )

  it.effect("has an optional Bearer prefix everywhere", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(authenticator, "Bearer z1"), "z:z1")
      assert.strictEqual(yield* outcome(authenticator, "bearer  z1"), "z:z1")
    })
  )

  it.effect("is missing without a token, and with other schemes than Bearer", () =>
    Effect.gen(function* () {
      for (const auth of [undefined, null, "z", {}, { token: "" }, { token: "Bearer " }]) {
        assert.strictEqual(yield* subjectOf({ auth }), "missing_credentials")
      }
      assert.strictEqual(yield* subjectOf({ headers: { authorization: "Basic eg==" } }), "missing_credentials")
    })
  )

  it.effect("is invalid when it is not a string, too long or of an unknown format", () =>
    Effect.gen(function* () {
      for (const token of [{ z: 1 }, 7, ["z"], "z".repeat(8193), "unknown"]) {
        assert.strictEqual(yield* outcome(authenticator, token), "401 invalid_credentials")
      }
      assert.isTrue((yield* outcome(authenticator, "z".repeat(8192))).startsWith("z:"))
    })
  )

  it.effect("is checked by the first scheme that recognizes it", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(authenticator, "xyz"), "x:xyz")
    })
  )
})
