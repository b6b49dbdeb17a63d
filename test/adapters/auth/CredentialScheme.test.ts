import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeSchemeAuthenticator, type CredentialScheme } from "../../../src/adapters/auth/CredentialScheme.ts"
import { allowAll } from "../../../src/application/ports/Authenticator.ts"
import type { Handshake } from "../../../src/application/ports/Transport.ts"
import { allGrants, type Identity } from "../../../src/domain/model/Identity.ts"
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

  it.effect.each([
    ["a null token", { auth: { token: null }, headers: { "x-api-key": "z1" } }],
    ["an empty token", { auth: { token: "" }, headers: { "x-api-key": "z1" } }],
    ["an empty key", { headers: { "x-api-key": "", authorization: "Bearer z1" } }]
  ] as const)("is searched in the next place after %s", ([, shown]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* subjectOf(shown), "z:z1")
    })
  )

  it.effect("has no white space around it", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(authenticator, " z1\n"), "z:z1")
      assert.strictEqual(yield* outcome(authenticator, " \n"), "401 missing_credentials")
    })
  )

  it.effect("is invalid when a header is repeated", () =>
    Effect.gen(function* () {
      for (const name of ["authorization", "x-api-key"]) {
        assert.strictEqual(yield* subjectOf({ headers: { [name]: ["Bearer z1"] } }), "invalid_credentials")
      }
    })
  )

  it.effect("is a bearer token only as the whole text", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(authenticator, "xBearer z1"), "x:xBearer z1")
      assert.strictEqual(yield* outcome(authenticator, "Bearer z1 z2"), "401 invalid_credentials")
      for (const authorization of ["xBearer z1", "Bearer z1 z2"]) {
        assert.strictEqual(yield* subjectOf({ headers: { authorization } }), "missing_credentials")
      }
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

describe("an identity", () => {
  const known: Identity = { subject: "known", grants: allGrants, expiresAt: undefined }
  const revoked: Identity = { ...known, subject: "revoked" }
  const revoking: CredentialScheme = { ...beginning("x"), isStillValid: (identity) => identity !== revoked }

  for (const [place, schemes] of [
    ["first", [revoking, beginning("z")]],
    ["last", [beginning("z"), revoking]]
  ] as const) {
    it(`is invalid when the ${place} scheme revokes it`, () =>
      assert.isFalse(makeSchemeAuthenticator(schemes).isStillValid(revoked)))
  }

  it("is valid while no scheme revokes it", () =>
    assert.isTrue(makeSchemeAuthenticator([revoking, beginning("z")]).isStillValid(known)))
})
