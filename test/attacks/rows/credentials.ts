import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SignJWT } from "jose"
import type { Attack } from "../Attack.ts"
import { revocableKey, goodKey, narrowKey, staleKey, wrongKey } from "../credentials.ts"
import { sendConnect, admitted, joining, unauthenticated } from "../raw.ts"
import { Site } from "../Site.ts"

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** The reply to a connect packet with these credentials. */
const rejectionFor = (auth: unknown) => Effect.flatMap(unauthenticated, (client) => sendConnect(client, auth))

const refusal = (code: number, reason: string) => new RegExp(`^4/smcp,\\{.*"code":${code},.*"reason":"${reason}"`)

const refused = Effect.fnUntraced(function* (token: unknown, reason: string, code = 401) {
  assert.match(yield* rejectionFor({ role: "agent", token }), refusal(code, reason))
})

const claims = { sub: "mallory", a2c: { rights: ["agent"], offices: ["*"], names: ["*"] } }
const future = () => Math.floor(Date.now() / 1000) + 3600

/** Attacks without valid credentials. */
export const credentials: ReadonlyArray<Attack> = [
  {
    attack: "no credentials, wrong ones, expired ones, a key with too few rights",
    answer: "401 missing_, invalid_, expired_credentials, 403 role_not_granted",
    run: Effect.gen(function* () {
      assert.match(yield* rejectionFor({ role: "agent" }), refusal(401, "missing_credentials"))
      yield* refused("", "missing_credentials")
      yield* refused(wrongKey, "invalid_credentials")
      yield* refused(goodKey.slice(0, -1), "invalid_credentials")
      yield* refused(`${goodKey}x`, "invalid_credentials")
      yield* refused({ key: goodKey }, "invalid_credentials")
      yield* refused(staleKey, "expired_credentials")
      yield* refused(narrowKey, "role_not_granted", 403)
      assert.match(yield* rejectionFor(["agent"]), refusal(401, "missing_credentials"))
    })
  },
  {
    attack: "an office that a key does not grant",
    answer: "[false, reason]",
    run: Effect.gen(function* () {
      const client = yield* admitted("computer", { token: narrowKey })
      const [joined] = yield* joining(client, "computer", "pc", "witnesses")
      assert.isFalse(joined)
    })
  },
  {
    attack: "a token of 30 000 characters",
    answer: "401 invalid_credentials",
    run: refused("x".repeat(30_000), "invalid_credentials")
  },
  {
    attack: "tokens without a signature, signed with the public key, of another key, and expired",
    answer: "401 invalid_ and expired_credentials",
    run: Effect.gen(function* () {
      const { publicKey, signer } = yield* Site
      const body = { ...claims, exp: future() }
      for (const alg of ["none", "None", "NONE", "HS256", "RS256"]) {
        yield* refused(`${part({ alg })}.${part(body)}.`, "invalid_credentials")
        yield* refused(`${part({ alg })}.${part(body)}.AAAA`, "invalid_credentials")
      }
      const signed = (exp: number) =>
        Effect.promise(() => new SignJWT({ ...claims, exp }).setProtectedHeader({ alg: "RS256" }).sign(signer))
      const confused = yield* Effect.promise(() =>
        new SignJWT(body).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(publicKey))
      )
      yield* refused(confused, "invalid_credentials")
      const good = yield* signed(future())
      const [head = "", , signature = ""] = good.split(".")
      yield* refused(`${head}.${part({ ...body, sub: "root" })}.${signature}`, "invalid_credentials")
      yield* refused(yield* signed(1000), "expired_credentials")
      assert.match(yield* rejectionFor({ role: "agent", token: good }), /^0\/smcp,/)
    })
  },
  {
    attack: "a key that is revoked during its use",
    answer: "closed at once; 401 invalid_credentials from then on",
    run: Effect.gen(function* () {
      const client = yield* admitted("agent", { token: revocableKey })
      yield* (yield* Site).revoke
      yield* client.closed
      yield* refused(revocableKey, "invalid_credentials")
    })
  },
  {
    attack: "guessing keys, 300 at once",
    answer: "401 each, at most 20 on one connection",
    run: Effect.gen(function* () {
      yield* Effect.forEach(
        Array.from({ length: 300 }, (_, guess) => `${wrongKey}${guess}`),
        (key) => refused(key, "invalid_credentials"),
        { concurrency: 30 }
      )
      const client = yield* unauthenticated
      for (let guess = 0; guess < 20; guess += 1) {
        assert.match(yield* sendConnect(client, { role: "agent", token: `${wrongKey}${guess}` }), /"code":401/)
      }
      client.send('40/smcp,{"role":"agent"}')
      yield* client.closed
    })
  }
]
