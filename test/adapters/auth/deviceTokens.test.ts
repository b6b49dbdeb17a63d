import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { authenticateByToken, authenticateByTokens } from "../../../src/adapters/auth/deviceTokens.ts"
import type { AuthenticateDevice } from "../../../src/application/devices/DeviceGatewayOptions.ts"

/** The name that a token proves, `accepted` without a name, or the reason of the rejection. */
const verdict = (authenticate: AuthenticateDevice, token: string) =>
  Effect.match(authenticate({ token, options: new Map(), remoteAddress: "test" }), {
    onFailure: ({ _tag }) => _tag,
    onSuccess: ({ name = "accepted" }) => name
  })

const cases = (
  authenticate: AuthenticateDevice,
  expected: ReadonlyArray<readonly [title: string, token: string, outcome: string]>
) =>
  it.effect.each(expected)("%s", ([, token, outcome]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* verdict(authenticate, token), outcome)
    })
  )

describe("a shared device token", () => {
  cases(authenticateByToken(Redacted.make("s3cret")), [
    ["admits a device with any name", "s3cret", "accepted"],
    ["rejects another token", "guess", "DeviceRejected"],
    ["rejects a part of the token", "s3cre", "DeviceRejected"],
    ["rejects an empty token", "", "DeviceRejected"]
  ])
})

describe("an individual device token", () => {
  const tokens = new Map([
    ["lamp", Redacted.make("of the lamp")],
    ["door", Redacted.make("of the door")]
  ])
  cases(authenticateByTokens(tokens), [
    ["determines the name of the first device", "of the lamp", "lamp"],
    ["determines the name of the last device", "of the door", "door"],
    ["rejects the name instead of the token", "lamp", "DeviceRejected"],
    ["rejects an unknown token", "of the window", "DeviceRejected"]
  ])
})

describe("an empty configured token", () => {
  const empty = Redacted.make("")
  it.effect("admits no device", () =>
    Effect.gen(function* () {
      for (const authenticate of [authenticateByToken(empty), authenticateByTokens(new Map([["lamp", empty]]))]) {
        assert.strictEqual(yield* verdict(authenticate, ""), "DeviceRejected")
      }
    })
  )
})
