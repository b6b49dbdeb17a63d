import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { exportJWK, exportPKCS8, exportSPKI, generateKeyPair, SignJWT } from "jose"
import * as Jwt from "../../../src/adapters/auth/Jwt.ts"
import type { JwtKeySource } from "../../../src/adapters/auth/jwtKeys.ts"
import { unusedUrl } from "../../loopbackAddress.ts"
import { makeVictim } from "../http/victim.ts"
import { allGrants } from "../../../src/domain/model/Identity.ts"

const secret = "a secret of thirty-two characters or more"
const shared: JwtKeySource = { _tag: "Secret", secret: Redacted.make(secret) }
const bytes = (text: string) => new TextEncoder().encode(text)

type Signing = Parameters<SignJWT["sign"]>[0]

/** A signed token that is valid for a minute of the test clock, unless its claims differ. */
const token = (
  claims: { readonly [claim: string]: unknown },
  { alg = "HS256", key = bytes(secret), kid }: { alg?: string; key?: Signing; kid?: string } = {}
) =>
  Effect.promise(() =>
    new SignJWT({ sub: "desk", exp: 60, ...claims })
      .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
      .sign(key)
  )

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

const verdict = (options: Jwt.JwtOptions, given: Effect.Effect<string>) =>
  Effect.gen(function* () {
    const { authenticate, recognizes } = yield* Jwt.make(options)
    const credential = yield* given
    assert.isTrue(recognizes(credential))
    return yield* Effect.match(authenticate(credential), {
      onFailure: ({ code, reason }) => `${code} ${reason}`,
      onSuccess: ({ subject }) => subject
    })
  })

const bad = "401 invalid_credentials"

describe("a token", () => {
  it.effect("sets the subject, the grants and the expiry", () =>
    Effect.gen(function* () {
      const { authenticate } = yield* Jwt.make({ source: shared })
      const a2c = { rights: ["computer"], offices: ["team*"] }
      assert.deepStrictEqual(yield* authenticate(yield* token({ a2c })), {
        subject: "desk",
        grants: { rights: ["computer"], offices: ["team*"], names: [] },
        expiresAt: 70_000
      })
    })
  )

  it.effect("grants the defaults of the operator without a claim, or nothing", () =>
    Effect.gen(function* () {
      const given = yield* token({})
      const strict = yield* Jwt.make({ source: shared })
      assert.deepStrictEqual((yield* strict.authenticate(given)).grants.rights, [])
      const generous = yield* Jwt.make({ source: shared, defaultGrants: allGrants })
      assert.deepStrictEqual((yield* generous.authenticate(given)).grants, allGrants)
      const less = yield* token({ a2c: { rights: [] } })
      assert.deepStrictEqual((yield* generous.authenticate(less)).grants.offices, [])
    })
  )

  it.effect("is rejected with an invalid claim", () =>
    Effect.gen(function* () {
      const claims = [{ a2c: { rights: ["boss"] } }, { a2c: {} }, { a2c: "all" }, { sub: "" }, { sub: "a\nb" }]
      for (const claim of claims) {
        assert.strictEqual(yield* verdict({ source: shared }, token(claim)), bad)
      }
    })
  )

  it.effect("requires a subject and an expiry", () =>
    Effect.gen(function* () {
      for (const claims of [{ sub: undefined }, { exp: undefined }]) {
        assert.strictEqual(yield* verdict({ source: shared }, token(claims)), bad)
      }
    })
  )

  it.effect("is accepted until ten seconds after its expiry, for clock skew", () =>
    Effect.gen(function* () {
      const given = token({})
      yield* TestClock.adjust("69 seconds")
      assert.strictEqual(yield* verdict({ source: shared }, given), "desk")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* verdict({ source: shared }, given), "401 expired_credentials")
    })
  )

  it.effect("is rejected before its start", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* verdict({ source: shared }, token({ nbf: 20 })), bad)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* verdict({ source: shared }, token({ nbf: 20 })), "desk")
    })
  )

  it.effect("requires the configured issuer and audience", () =>
    Effect.gen(function* () {
      const options = { source: shared, issuer: "https://id.example", audience: "a2c" }
      const right = { iss: options.issuer, aud: ["other", "a2c"] }
      assert.strictEqual(yield* verdict(options, token(right)), "desk")
      for (const claims of [{}, { ...right, iss: "https://evil.example" }, { ...right, aud: "other" }]) {
        assert.strictEqual(yield* verdict(options, token(claims)), bad)
      }
    })
  )

  it.effect("is rejected with the name of the claim, without its value", () =>
    Effect.gen(function* () {
      const { authenticate } = yield* Jwt.make({ source: shared, audience: "a2c" })
      const { message } = yield* Effect.flip(authenticate(yield* token({ aud: "s3cret" })))
      assert.match(message, /"aud"/)
      assert.notInclude(message, "s3cret")
    })
  )

  it.effect("stays valid until its expiry", () =>
    Effect.gen(function* () {
      const { authenticate, isStillValid } = yield* Jwt.make({ source: shared })
      assert.isTrue(isStillValid(yield* authenticate(yield* token({}))))
    })
  )

  it.effect("requires a signature with the secret and HS256", () =>
    Effect.gen(function* () {
      const options = { source: shared }
      assert.strictEqual(yield* verdict(options, token({}, { key: bytes(`${secret}!`) })), bad)
      assert.strictEqual(yield* verdict(options, token({}, { alg: "HS512" })), bad)
      const body = part({ sub: "desk", exp: 60 })
      assert.strictEqual(yield* verdict(options, Effect.succeed(`${part({ alg: "none" })}.${body}.AA`)), bad)
      assert.strictEqual(yield* verdict(options, Effect.succeed(`AA.${body}.AA`)), bad)
    })
  )

  it.effect("is rejected with a prefix or a suffix", () =>
    Effect.gen(function* () {
      const good = yield* token({})
      assert.strictEqual(yield* verdict({ source: shared }, Effect.succeed(good)), "desk")
      for (const other of [`${good}x`, `${good}AAAA`, `x${good}`, good.slice(0, -2)]) {
        assert.strictEqual(yield* verdict({ source: shared }, Effect.succeed(other)), bad)
      }
    })
  )

  it.effect("is recognized by its format", () =>
    Effect.gen(function* () {
      const { recognizes } = yield* Jwt.make({ source: shared })
      for (const text of ["a2c_abc", "a.b", "a.b.", "a.b.c.d", "a b.c.d", ""]) assert.isFalse(recognizes(text))
    })
  )
})

describe("a public key", () => {
  const pair = (alg: string) => Effect.promise(() => generateKeyPair(alg, { extractable: true }))

  it.effect("verifies signatures of its private key, as PEM or JWK", () =>
    Effect.gen(function* () {
      for (const alg of ["RS256", "PS256", "ES256", "ES384", "EdDSA"]) {
        const { privateKey, publicKey } = yield* pair(alg)
        const pem = yield* Effect.promise(() => exportSPKI(publicKey))
        const jwk = JSON.stringify(yield* Effect.promise(() => exportJWK(publicKey)))
        for (const text of [pem, jwk]) {
          const given = token({}, { alg, key: privateKey })
          assert.strictEqual(yield* verdict({ source: { _tag: "PublicKey", text } }, given), "desk")
        }
      }
    })
  )

  it.effect("is rejected as an HMAC secret", () =>
    Effect.gen(function* () {
      const { publicKey } = yield* pair("RS256")
      const text = yield* Effect.promise(() => exportSPKI(publicKey))
      for (const key of [text, text.trim()]) {
        const given = token({}, { alg: "HS256", key: bytes(key) })
        assert.strictEqual(yield* verdict({ source: { _tag: "PublicKey", text } }, given), bad)
      }
    })
  )

  it.effect("rejects signatures of another key pair", () =>
    Effect.gen(function* () {
      const text = yield* Effect.promise(async () => exportSPKI((await generateKeyPair("ES256")).publicKey))
      const { privateKey: key } = yield* pair("ES256")
      assert.strictEqual(yield* verdict({ source: { _tag: "PublicKey", text } }, token({}, { alg: "ES256", key })), bad)
    })
  )

  it.effect("fails the start when it is invalid or private", () =>
    Effect.gen(function* () {
      const { privateKey } = yield* pair("ES256")
      const pem = yield* Effect.promise(() => exportPKCS8(privateKey))
      const jwk = JSON.stringify(yield* Effect.promise(() => exportJWK(privateKey)))
      for (const text of [pem, jwk]) {
        const { message } = yield* Effect.flip(Jwt.make({ source: { _tag: "PublicKey", text } }))
        assert.match(message, /private/)
      }
      const oct = JSON.stringify({ kty: "oct", k: "AAAA" })
      for (const text of ["", "no key", "{}", oct]) {
        const { message } = yield* Effect.flip(Jwt.make({ source: { _tag: "PublicKey", text } }))
        assert.match(message, /must be a public key/)
      }
    })
  )
})

describe("the kind of a public key", () => {
  /** Keys that Node can make and that verify no accepted signatures. */
  const unsupported: ReadonlyArray<readonly [kind: string, make: () => KeyObject]> = [
    ["RSA with 1024 bits", () => generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey],
    ["the curve secp256k1", () => generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey],
    ["the type X25519", () => generateKeyPairSync("x25519").publicKey],
    ["the type Ed448", () => generateKeyPairSync("ed448").publicKey]
  ]
  const startError = (text: string) => Effect.flip(Jwt.make({ source: { _tag: "PublicKey", text } }))

  it.effect.each(unsupported)("fails the start with %s", ([, makeKey]) =>
    Effect.gen(function* () {
      const error = yield* startError(makeKey().export({ type: "spki", format: "pem" }).toString())
      assert.strictEqual(error._tag, "InvalidJwtKey")
      assert.match(error.message, /2048/)
    })
  )

  const ec = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
  const encrypted = { cipher: "aes-128-cbc", passphrase: "p" } as const
  const privateKeys: ReadonlyArray<readonly [kind: string, make: () => string | Buffer]> = [
    ["PKCS #8", () => ec().export({ type: "pkcs8", format: "pem" })],
    ["SEC 1", () => ec().export({ type: "sec1", format: "pem" })],
    ["encrypted PKCS #8", () => ec().export({ type: "pkcs8", format: "pem", ...encrypted })]
  ]

  it.effect.each(privateKeys)("fails the start with a private key as %s", ([, makeKey]) =>
    Effect.gen(function* () {
      assert.match((yield* startError(makeKey().toString())).message, /private/)
    })
  )
})

describe("a secret", () => {
  it.effect.each([
    ["32 characters", "x".repeat(32), true],
    ["31 characters", "x".repeat(31), false],
    ["16 characters of two bytes", "\u00fc".repeat(16), true],
    ["15 characters of two bytes and one more byte", `${"\u00fc".repeat(15)}x`, false]
  ] as const)("requires 32 bytes: %s", ([, text, isAccepted]) =>
    Effect.gen(function* () {
      const made = Jwt.make({ source: { _tag: "Secret", secret: Redacted.make(text) } })
      assert.strictEqual(yield* Effect.match(made, { onFailure: () => false, onSuccess: () => true }), isAccepted)
    })
  )

  it.effect("fails the start when it is too short, without quoting it", () =>
    Effect.gen(function* () {
      const source: JwtKeySource = { _tag: "Secret", secret: Redacted.make("s3cret") }
      const { message } = yield* Effect.flip(Jwt.make({ source }))
      assert.match(message, /32 bytes/)
      assert.notInclude(message, "s3cret")
    })
  )
})

describe("the key set of an identity provider", () => {
  /** A provider that answers with what `respond` gives. */
  const provider = (respond: () => { readonly status?: number; readonly body: string }) =>
    makeVictim((_, response) => {
      const { body, status = 200 } = respond()
      response.writeHead(status, { "content-type": "application/json" }).end(body)
    })

  /** A provider with these keys, and a scheme that has fetched none yet. */
  const withKeys = Effect.fnUntraced(function* (keys: () => ReadonlyArray<unknown>) {
    const { requests, url } = yield* provider(() => ({ body: JSON.stringify({ keys: keys() }) }))
    return { requests, scheme: yield* Jwt.make({ source: { _tag: "KeySet", url } }) }
  })

  const signing = Effect.promise(async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256")
    return { key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" } }
  })
  const soon = () => ({ exp: Math.floor(Date.now() / 1000) + 60 })

  it.live("is fetched once for many tokens", () =>
    Effect.gen(function* () {
      const { jwk, key } = yield* signing
      const { requests, scheme } = yield* withKeys(() => [jwk])
      assert.strictEqual(requests.length, 0)
      for (const sub of ["one", "two"]) {
        const given = yield* token({ sub, ...soon() }, { alg: "ES256", key, kid: "one" })
        assert.strictEqual((yield* scheme.authenticate(given)).subject, sub)
      }
      assert.strictEqual(requests.length, 1)
    })
  )

  it.live("is fetched at a limited rate for unknown key ids", () =>
    Effect.gen(function* () {
      const { jwk, key } = yield* signing
      const { requests, scheme } = yield* withKeys(() => [jwk])
      for (const kid of ["two", "three", "four"]) {
        yield* Effect.flip(scheme.authenticate(yield* token(soon(), { alg: "ES256", key, kid })))
      }
      assert.strictEqual(requests.length, 1)
    })
  )

  type JwkPair = Effect.Success<typeof signing>
  type Rotation = readonly [
    title: string,
    published: (before: JwkPair["jwk"], after: JwkPair["jwk"]) => ReadonlyArray<object>,
    kid: string | undefined
  ]
  const withoutKid = ({ kid: _, ...jwk }: JwkPair["jwk"]) => jwk
  const rotations: ReadonlyArray<Rotation> = [
    ["has a new id", (_, after) => [{ ...after, kid: "two" }], "two"],
    ["is published beside the old key", (before, after) => [before, { ...after, kid: "two" }], "two"],
    ["has the id of the old key", (_, after) => [after], "one"],
    ["has no id", (_, after) => [withoutKid(after)], undefined],
    ["has no id beside the old key", (before, after) => [before, after].map(withoutKid), undefined]
  ]

  describe("a key set after a rotation", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }))
    afterEach(() => void vi.useRealTimers())

    /** A scheme that fetched the old key just now, and a token by the new key, which the provider has published since. */
    const rotated = Effect.fnUntraced(function* ([, published, kid]: Rotation) {
      const [before, after] = [yield* signing, yield* signing]
      let keys: ReadonlyArray<object> = [kid === undefined ? withoutKid(before.jwk) : before.jwk]
      const { requests, scheme } = yield* withKeys(() => keys)
      const alg = "ES256"
      const exp = Math.floor(Date.now() / 1000) + 600
      const ids = kid === undefined ? {} : { kid: "one" }
      yield* scheme.authenticate(yield* token({ exp }, { alg, key: before.key, ...ids }))
      keys = published(before.jwk, after.jwk)
      const given = yield* token({ exp }, { alg, key: after.key, ...(kid !== undefined && { kid }) })
      return { requests, check: scheme.authenticate(given), forget: () => void (keys = []) }
    })

    it.live.each(rotations)("causes a retryable rejection until the next fetch when the new key %s", (rotation) =>
      Effect.gen(function* () {
        const { requests, check } = yield* rotated(rotation)
        const rejection = yield* Effect.flip(check)
        assert.deepInclude<object>(rejection, { code: 503, reason: "unavailable", retryable: true })
        assert.strictEqual(requests.length, 1)
        vi.setSystemTime(Date.now() + 31_000)
        assert.strictEqual((yield* check).subject, "desk")
        assert.strictEqual(requests.length, 2)
      })
    )

    it.live("rejects a token for good when the set that was fetched for it has no key for it", () =>
      Effect.gen(function* () {
        for (const [title, , kid] of rotations) {
          const { check } = yield* rotated([title, (before) => [kid === undefined ? withoutKid(before) : before], kid])
          vi.setSystemTime(Date.now() + 31_000)
          assert.strictEqual((yield* Effect.flip(check)).reason, "invalid_credentials", title)
        }
      })
    )

    it.live("causes a retryable rejection without keys", () =>
      Effect.gen(function* () {
        for (const rotation of rotations) {
          const { check, forget } = yield* rotated(rotation)
          forget()
          vi.setSystemTime(Date.now() + 31_000)
          assert.strictEqual((yield* Effect.flip(check)).reason, "unavailable", rotation[0])
        }
      })
    )
  })

  const point = { kty: "EC", crv: "P-256", kid: "one", alg: "ES256" }
  const rsa = (modulusLength: number) =>
    generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ format: "jwk" })
  const oddKeys: ReadonlyArray<readonly [title: string, key: unknown]> = [
    ["null", null],
    ["text", "one"],
    ["a list", []],
    ["a key without a point", point],
    ["a key with an invalid point", { ...point, x: "AAAA", y: "AAAA" }],
    ["a key of an unknown type", { ...point, kty: "AKP" }],
    ["a key of an unknown curve", { ...point, crv: "P-999", x: "AAAA", y: "AAAA" }],
    ["a secret", { kty: "oct", k: "AAAA", kid: "one" }],
    ["a key for encryption", { ...rsa(2048), kid: "one", use: "enc" }]
  ]
  it.live.each(oddKeys)("verifies tokens beside %s", ([, odd]) =>
    Effect.gen(function* () {
      const { jwk, key } = yield* signing
      const { scheme } = yield* withKeys(() => [odd, jwk, odd])
      const given = yield* token(soon(), { alg: "ES256", key, kid: "one" })
      assert.strictEqual((yield* scheme.authenticate(given)).subject, "desk")
    })
  )

  it.live("verifies tokens beside a key that is too short", () =>
    Effect.gen(function* () {
      const { privateKey, publicKey } = yield* Effect.promise(() => generateKeyPair("RS256"))
      const keys = [rsa(1024), yield* Effect.promise(() => exportJWK(publicKey))].map((jwk) => ({ ...jwk, kid: "one" }))
      const { scheme } = yield* withKeys(() => keys)
      const given = yield* token(soon(), { alg: "RS256", key: privateKey, kid: "one" })
      assert.strictEqual((yield* scheme.authenticate(given)).subject, "desk")
    })
  )

  it.live("rejects a first token with an unknown key id for good", () =>
    Effect.gen(function* () {
      const { jwk, key } = yield* signing
      const { scheme } = yield* withKeys(() => [jwk])
      const given = yield* token(soon(), { alg: "ES256", key, kid: "two" })
      assert.strictEqual((yield* Effect.flip(scheme.authenticate(given))).reason, "invalid_credentials")
    })
  )

  it.live("causes a retryable rejection for an unknown key id while a fetch that began earlier is under way", () =>
    Effect.gen(function* () {
      const { jwk, key } = yield* signing
      const { scheme } = yield* withKeys(() => [jwk])
      const [first, second] = [
        yield* token(soon(), { alg: "ES256", key, kid: "one" }),
        yield* token(soon(), { alg: "ES256", key, kid: "two" })
      ]
      const [accepted, rejection] = yield* Effect.all(
        [scheme.authenticate(first), Effect.flip(scheme.authenticate(second))],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([accepted.subject, rejection.reason], ["desk", "unavailable"])
    })
  )

  it.live("causes a retryable rejection when it cannot be fetched", () =>
    Effect.gen(function* () {
      const { key } = yield* signing
      const given = yield* token(soon(), { alg: "ES256", key, kid: "one" })
      const answers = [{ status: 500, body: "{}" }, { body: "<html>" }, { body: '{"keys": 1}' }]
      for (const answer of answers) {
        const { url } = yield* provider(() => answer)
        const scheme = yield* Jwt.make({ source: { _tag: "KeySet", url } })
        const refused = yield* Effect.flip(scheme.authenticate(given))
        assert.deepInclude<object>(refused, { code: 503, reason: "unavailable", retryable: true })
      }
      const scheme = yield* Jwt.make({ source: { _tag: "KeySet", url: unusedUrl() } })
      assert.strictEqual((yield* Effect.flip(scheme.authenticate(given))).code, 503)
    })
  )

  /** The fields of the log lines while a token is checked with the key set of this URL. */
  const loggedFailures = Effect.fnUntraced(function* (url: string) {
    const { key } = yield* signing
    const scheme = yield* Jwt.make({ source: { _tag: "KeySet", url } })
    const lines: Array<unknown> = []
    const log = Logger.layer([Logger.make(({ message }) => void lines.push(message))])
    const given = yield* token(soon(), { alg: "ES256", key, kid: "one" })
    yield* Effect.flip(Effect.provide(scheme.authenticate(given), log))
    return lines
  })

  it.live("logs the network error when it cannot be fetched", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* loggedFailures(unusedUrl()), [
        ["JWT key set fetch failed", { reason: "connection refused" }]
      ])
    })
  )

  it.live("logs the reason when the provider answers with an error", () =>
    Effect.gen(function* () {
      const { url } = yield* provider(() => ({ status: 500, body: "{}" }))
      assert.match(JSON.stringify(yield* loggedFailures(url)), /"reason":"Expected 200/)
    })
  )

  it.live("requires an https URL, or http on loopback", () =>
    Effect.gen(function* () {
      for (const url of ["http://id.example/keys", "ftp://localhost/", "keys.json", ""]) {
        assert.match((yield* Effect.flip(Jwt.make({ source: { _tag: "KeySet", url } }))).message, /https/)
      }
      yield* Jwt.make({ source: { _tag: "KeySet", url: "https://id.example/keys" } })
    })
  )
})
