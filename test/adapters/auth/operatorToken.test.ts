import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { authenticateOperatorByToken } from "../../../src/adapters/auth/CredentialScheme.ts"
import { defaultLine } from "../../../src/domain/wire/lines.ts"

const { authenticate, requiresCredentials } = authenticateOperatorByToken(Redacted.make("the-token"))

const outcome = (auth: object, headers: Record<string, string> = {}) =>
  authenticate({ version: defaultLine.version, auth, headers, remoteAddress: "10.0.0.1" }).pipe(
    Effect.match({ onSuccess: ({ subject }) => subject, onFailure: ({ reason }) => reason })
  )

describe("the token of operators", () => {
  it("is required", () => assert.isTrue(requiresCredentials))

  it.effect("admits an operator, as auth or as a header", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        [yield* outcome({ token: "the-token" }), yield* outcome({}, { authorization: "Bearer the-token" })],
        ["operator", "operator"]
      )
    })
  )

  it.effect("rejects another token, and none", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        [yield* outcome({ token: "the-token-" }), yield* outcome({})],
        ["invalid_credentials", "missing_credentials"]
      )
    })
  )
})
