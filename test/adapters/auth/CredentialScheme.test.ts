import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  makeSchemeAuthenticator,
  type CredentialScheme
} from "../../../src/adapters/auth/CredentialScheme.ts"
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

describe("credentials", () => {
  it.effect("are looked for in auth.token, then in x-api-key, then in a bearer header", () =>
    Effect.gen(function* () {
      const bearer = { authorization: "Bearer z-bearer" }
      const both = { ...bearer, "x-api-key": "z-key" }
      assert.strictEqual(yield* subjectOf({ auth: { token: "z-auth" }, headers: both }), "z:z-auth")
      assert.strictEqual(yield* subjectOf({ auth: { role: "agent" }, headers: both }), "z:z-key")
      assert.strictEqual(yield* subjectOf({ auth: null, headers: bearer }), "z:z-bearer")
    })
  )

  it.effect("may stand behind the word Bearer anywhere", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(authenticator, "Bearer z1"), "z:z1")
      assert.strictEqual(yield* outcome(authenticator, "bearer  z1"), "z:z1")
    })
  )

  it.effect("are missing when nothing is shown, or other things than a bearer token", () =>
    Effect.gen(function* () {
      for (const auth of [undefined, null, "z", {}, { token: "" }, { token: "Bearer " }]) {
        assert.strictEqual(yield* subjectOf({ auth }), "missing_credentials")
      }
      assert.strictEqual(
        yield* subjectOf({ headers: { authorization: "Basic eg==" } }),
        "missing_credentials"
      )
    })
  )

  it.effect("are invalid when they are no text, too long, or of no known kind", () =>
    Effect.gen(function* () {
      for (const token of [{ z: 1 }, 7, ["z"], "z".repeat(8193), "unknown"]) {
        assert.strictEqual(yield* outcome(authenticator, token), "401 invalid_credentials")
      }
      assert.isTrue((yield* outcome(authenticator, "z".repeat(8192))).startsWith("z:"))
    })
  )

  it.effect("are judged by the first scheme that recognises them", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(authenticator, "xyz"), "x:xyz")
    })
  )
})
