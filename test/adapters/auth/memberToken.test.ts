import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Jwt from "../../../src/adapters/auth/Jwt.ts"
import type { JwtKeySource } from "../../../src/adapters/auth/jwtKeys.ts"

const secret = "a secret of thirty-two characters or more"
const shared: JwtKeySource = { _tag: "Secret", secret: Redacted.make(secret) }

const sign = ({ key = secret, ...options }: Partial<Omit<Jwt.MemberTokenOptions, "key">> & { key?: string } = {}) =>
  Jwt.signMemberToken({ office: "team", name: "page", ...options, key: Redacted.make(key) })

const identityOf = Effect.fnUntraced(function* (token: string, options: Jwt.JwtOptions = { source: shared }) {
  return yield* (yield* Jwt.make(options)).authenticate(token)
})

const pem = (key: KeyObject, type: "pkcs8" | "spki") => key.export({ type, format: "pem" }).toString()
const jwk = (key: KeyObject) => JSON.stringify(key.export({ format: "jwk" }))

describe("a signed token", () => {
  it.effect("grants one role in one office under one name for ten minutes", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 second")
      const { expiresAt, token } = yield* sign()
      assert.strictEqual(expiresAt, 601_000)
      assert.deepStrictEqual(yield* identityOf(token), {
        subject: "page",
        grants: { rights: ["computer"], offices: ["team"], names: ["page"] },
        // Ten seconds later, for clock skew.
        expiresAt: 611_000
      })
    })
  )

  it.effect("grants the role, and has the subject and the validity, of its options", () =>
    Effect.gen(function* () {
      const { token } = yield* sign({ role: "agent", subject: "ann", ttl: Duration.seconds(90) })
      const { expiresAt, grants, subject } = yield* identityOf(token)
      assert.deepStrictEqual([grants.rights, subject, expiresAt], [["agent"], "ann", 100_000])
    })
  )

  it.effect("has the issuer and the audience that a Server requires", () =>
    Effect.gen(function* () {
      const required = { issuer: "https://app.example", audience: "a2c" }
      const options = { source: shared, ...required }
      assert.strictEqual((yield* identityOf((yield* sign(required)).token, options)).subject, "page")
      assert.match((yield* Effect.flip(identityOf((yield* sign()).token, options))).message, /"iss"/)
    })
  )

  const pairs: ReadonlyArray<readonly [kind: string, pair: { privateKey: KeyObject; publicKey: KeyObject }]> = [
    ["RSA", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["P-256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["P-384", generateKeyPairSync("ec", { namedCurve: "P-384" })],
    ["P-521", generateKeyPairSync("ec", { namedCurve: "P-521" })],
    ["Ed25519", generateKeyPairSync("ed25519")]
  ]
  it.effect.each(pairs)("is accepted with the public key of a private key of %s, as PEM or JWK", ([, pair]) =>
    Effect.gen(function* () {
      const source: JwtKeySource = { _tag: "PublicKey", text: pem(pair.publicKey, "spki") }
      for (const key of [pem(pair.privateKey, "pkcs8"), jwk(pair.privateKey)]) {
        assert.strictEqual((yield* identityOf((yield* sign({ key })).token, { source })).subject, "page")
      }
    })
  )
})

describe("a token that cannot be signed", () => {
  const rows: ReadonlyArray<readonly [string, Parameters<typeof sign>[0], RegExp]> = [
    ["a pattern as office", { office: "te*" }, /^office must not be empty, nor contain '\*'/],
    ["a pattern as name", { name: "*" }, /^name must not be empty, nor contain '\*'/],
    ["no office", { office: "" }, /^office must not be empty/],
    ["an office that no Server accepts", { office: "a\u0000b" }, /^office must not contain control characters/],
    ["a name that no Server accepts", { name: " page" }, /^name must not begin or end with white space/],
    ["a name that is too long", { name: "x".repeat(257) }, /^name must not be longer than 256/],
    ["a subject that no Server accepts", { subject: "a\nb" }, /^sub: Expected/],
    ["no validity", { ttl: Duration.zero }, /^ttl must be from 1 second to 1 day/],
    ["a validity of more than a day", { ttl: Duration.millis(86_400_001) }, /^ttl must be/],
    ["an endless validity", { ttl: Duration.infinity }, /^ttl must be/]
  ]
  it.effect.each(rows)("has %s", ([, options, message]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(sign(options))
      assert.strictEqual(error._tag, "InvalidMemberToken")
      assert.match(error.message, message)
    })
  )

  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const encrypted = { type: "pkcs8", format: "pem", cipher: "aes-128-cbc", passphrase: "p" } as const
  const keys: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["a secret of 31 bytes", "s3cret".padEnd(31), /at least 32 bytes/],
    ["a public key as PEM", pem(ec.publicKey, "spki"), /must be a private key/],
    ["a public key as JWK", jwk(ec.publicKey), /must be a private key/],
    ["an encrypted private key", ec.privateKey.export(encrypted).toString(), /without a passphrase/],
    ["RSA of 1024 bits", pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey, "pkcs8"), /2048/]
  ]
  it.effect.each(keys)("would have %s as its key", ([, key, message]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(sign({ key }))
      assert.strictEqual(error._tag, "InvalidJwtKey")
      assert.match(error.message, message)
      assert.notInclude(error.message, "s3cret")
    })
  )
})
