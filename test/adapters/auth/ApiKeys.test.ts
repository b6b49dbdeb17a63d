import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, PubSub, Queue, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ApiKeys from "../../../src/adapters/auth/ApiKeys.ts"
import {
  hashApiKey,
  type ApiKeyEntry,
  generateApiKey,
  decodeApiKeyEntries,
  parseSimpleKeys
} from "../../../src/adapters/auth/apiKeyEntries.ts"
import { allGrants } from "../../../src/domain/model/Identity.ts"

const entry = (subject: string, key: string, more: Partial<ApiKeyEntry> = {}): ApiKeyEntry => ({
  subject,
  hash: hashApiKey(key),
  grants: allGrants,
  expiresAt: undefined,
  ...more
})

const written = {
  subject: "desk",
  hash: `sha256:${hashApiKey("k")}`,
  rights: ["computer"],
  offices: ["team*"],
  names: ["*"]
}

const issuesOf = (...keys: ReadonlyArray<unknown>) =>
  Result.match(decodeApiKeyEntries({ keys }), {
    onSuccess: () => [],
    onFailure: (issues) => issues.map(({ path }) => path.join("."))
  })

describe("an API key", () => {
  it.effect("authenticates its owner only", () =>
    Effect.gen(function* () {
      const scheme = yield* ApiKeys.make([entry("one", "k1"), entry("two", "k2")])
      assert.strictEqual((yield* scheme.authenticate("k2")).subject, "two")
      const refused = yield* Effect.flip(scheme.authenticate("k3"))
      assert.deepInclude<object>(refused, { code: 401, reason: "invalid_credentials" })
      assert.strictEqual((yield* Effect.flip(scheme.authenticate(hashApiKey("k1")))).code, 401)
    })
  )

  it.effect("authenticates only as a whole", () =>
    Effect.gen(function* () {
      const { key } = yield* generateApiKey("one", allGrants, undefined)
      const scheme = yield* ApiKeys.make([entry("one", key)])
      assert.strictEqual((yield* scheme.authenticate(key)).subject, "one")
      for (const other of [`${key}x`, `${key}${key}`, `${key}\0`, `x${key}`, key.slice(0, -1), key.toUpperCase()]) {
        assert.strictEqual((yield* Effect.flip(scheme.authenticate(other))).reason, "invalid_credentials")
      }
    })
  )

  it.effect("expires at its time", () =>
    Effect.gen(function* () {
      const scheme = yield* ApiKeys.make([entry("one", "k1", { expiresAt: 60_000 })])
      assert.strictEqual((yield* scheme.authenticate("k1")).expiresAt, 60_000)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Effect.flip(scheme.authenticate("k1"))).reason, "expired_credentials")
    })
  )

  it.effect("is revoked when its entry is removed or changed", () =>
    Effect.gen(function* () {
      const updates = yield* Queue.unbounded<ReadonlyArray<ApiKeyEntry>>()
      const scheme = yield* ApiKeys.make(
        [entry("stays", "k1"), entry("goes", "k2"), entry("changes", "k3")],
        Stream.fromQueue(updates)
      )
      const [stays, goes, changes] = yield* Effect.forEach(["k1", "k2", "k3"], scheme.authenticate)
      const changed = yield* Effect.forkChild(Stream.runHead(scheme.changes), { startImmediately: true })
      const fewer = { ...allGrants, offices: ["team"] }
      yield* Queue.offer(updates, [entry("changes", "k3", { grants: fewer }), entry("stays", "k1"), entry("new", "k4")])
      yield* Fiber.join(changed)
      const areStillValid = [stays, goes, changes].map((one) => one !== undefined && scheme.isStillValid(one))
      assert.deepStrictEqual(areStillValid, [true, false, false])
      assert.strictEqual((yield* scheme.authenticate("k4")).subject, "new")
      assert.deepStrictEqual((yield* scheme.authenticate("k3")).grants, fewer)
      assert.strictEqual((yield* Effect.flip(scheme.authenticate("k2"))).code, 401)
    })
  )

  it.effect("follows updates from the moment of its start", () =>
    Effect.gen(function* () {
      const updates = yield* PubSub.unbounded<ReadonlyArray<ApiKeyEntry>>()
      const scheme = yield* ApiKeys.make([entry("old", "k1")], Stream.fromPubSub(updates))
      const changed = yield* Effect.forkChild(Stream.runHead(scheme.changes), { startImmediately: true })
      yield* PubSub.publish(updates, [entry("new", "k2")])
      // A missed update fails the test instead of blocking it.
      yield* Effect.raceFirst(Fiber.join(changed), Effect.yieldNow.pipe(Effect.repeat({ times: 100 })))
      assert.strictEqual((yield* Effect.flip(scheme.authenticate("k1"))).reason, "invalid_credentials")
    })
  )

  it.effect("has no format: every credential is recognized", () =>
    Effect.gen(function* () {
      const { recognizes } = yield* ApiKeys.make([])
      for (const credential of ["a2c_abc", "k", "a.b.c"]) assert.isTrue(recognizes(credential))
    })
  )

  it.effect("is valid as an identity of another scheme", () =>
    Effect.gen(function* () {
      const scheme = yield* ApiKeys.make([entry("one", "k1")])
      assert.isTrue(scheme.isStillValid({ subject: "one", grants: allGrants, expiresAt: undefined }))
    })
  )
})

describe("a key file", () => {
  it("sets the subject, the grants and the expiry of each key", () => {
    const keys = [written, { ...written, hash: `sha256:${hashApiKey("l")}`, expires: "2030-01-31" }]
    assert.deepStrictEqual(Result.getOrThrow(decodeApiKeyEntries({ keys })), [
      {
        subject: "desk",
        hash: hashApiKey("k"),
        grants: { rights: ["computer"], offices: ["team*"], names: ["*"] },
        expiresAt: undefined
      },
      {
        subject: "desk",
        hash: hashApiKey("l"),
        grants: { rights: ["computer"], offices: ["team*"], names: ["*"] },
        expiresAt: Date.UTC(2030, 0, 31)
      }
    ])
  })

  it("is rejected when grants are missing", () => {
    for (const member of ["subject", "hash", "rights", "offices", "names"]) {
      assert.deepStrictEqual(issuesOf({ ...written, [member]: undefined }), [`keys.0.${member}`])
    }
  })

  it("is rejected with the unknown members", () => {
    assert.deepStrictEqual(issuesOf({ ...written, expire: "2030-01-31" }), ["keys.0.expire"])
    assert.deepStrictEqual(issuesOf({ ...written, rights: ["boss"] }), ["keys.0.rights.0"])
    assert.deepStrictEqual(issuesOf({ ...written, subject: "a\nb" }), ["keys.0.subject"])
    for (const expires of ["tomorrow", "2030-01-31T12:00", "2030-13-01", "2030-02-31", 7]) {
      assert.deepStrictEqual(issuesOf({ ...written, expires }), ["keys.0.expires"])
    }
    for (const hash of ["k", hashApiKey("k"), `sha256:${hashApiKey("k").toUpperCase()}`]) {
      assert.deepStrictEqual(issuesOf({ ...written, hash }), ["keys.0.hash"])
    }
  })

  it.each([
    ["a date, in UTC", "2030-01-31", Date.UTC(2030, 0, 31)],
    ["the leap day", "2028-02-29", Date.UTC(2028, 1, 29)],
    ["a time in UTC", "2030-01-31T12:34Z", Date.UTC(2030, 0, 31, 12, 34)],
    ["a time with seconds", "2030-01-31T12:34:56Z", Date.UTC(2030, 0, 31, 12, 34, 56)],
    ["a time with tenths of a second", "2030-01-31T12:34:56.5Z", Date.UTC(2030, 0, 31, 12, 34, 56, 500)],
    ["a time with milliseconds", "2030-01-31T12:34:56.789Z", Date.UTC(2030, 0, 31, 12, 34, 56, 789)],
    ["a time of a zone east of UTC", "2030-01-31T12:34+05:30", Date.UTC(2030, 0, 31, 7, 4)],
    ["a time of a zone west of UTC", "2030-01-31T22:34:56-03:45", Date.UTC(2030, 1, 1, 2, 19, 56)]
  ])("accepts %s as expiry", (_kind, expires, expected) => {
    const [found] = Result.getOrThrow(decodeApiKeyEntries({ keys: [{ ...written, expires }] }))
    assert.strictEqual(found?.expiresAt, expected)
  })

  it.each([
    ["text before the date", "until 2030-01-31"],
    ["two dates", "2030-01-31 (2030-01-31"],
    ["text after the date", "2030-01-31 12:00"],
    ["a time without a zone", "2030-01-31T12:00:00"],
    ["a zone without a colon", "2030-01-31T12:00+0100"],
    ["a fraction without digits", "2030-01-31T12:00:00.Z"],
    ["an hour that does not exist", "2030-01-31T25:00Z"],
    ["a minute that does not exist", "2030-01-31T12:60Z"],
    ["a day that the month does not have", "2030-02-29T12:00Z"]
  ])("rejects %s as expiry", (_kind, expires) => {
    assert.deepStrictEqual(issuesOf({ ...written, expires }), ["keys.0.expires"])
  })

  it("is rejected with a duplicate key", () =>
    assert.deepStrictEqual(issuesOf(written, { ...written, subject: "other" }), ["keys.1.hash"]))
})

describe("a list of simple keys", () => {
  const key = "k".repeat(32)

  it("holds names and keys, plain or hashed, for all offices", () => {
    const read = Result.getOrThrow(parseSimpleKeys(`one=${key}, two=sha256:${hashApiKey("x=y")},`))
    assert.deepStrictEqual(
      read.map(({ grants, hash, subject }) => [subject, hash, grants.rights, grants.offices]),
      [
        ["one", hashApiKey(key), ["agent", "computer"], ["*"]],
        ["two", hashApiKey("x=y"), ["agent", "computer"], ["*"]]
      ]
    )
  })

  it("ignores white space around names and keys, and empty items", () => {
    const found = Result.getOrThrow(parseSimpleKeys(` one = ${key} , ,two=${key}2`))
    assert.deepStrictEqual(
      found.map(({ hash, subject }) => [subject, hash]),
      [
        ["one", hashApiKey(key)],
        ["two", hashApiKey(`${key}2`)]
      ]
    )
  })

  it("holds keys of 32 characters, and none of 31", () => {
    assert.isTrue(Result.isSuccess(parseSimpleKeys(`one=${key}`)))
    assert.isTrue(Result.isFailure(parseSimpleKeys(`one=${key.slice(1)}`)))
  })

  it.each([
    ["upper-case digits", hashApiKey("x").toUpperCase()],
    ["too few digits", hashApiKey("x").slice(1)],
    ["too many digits", `${hashApiKey("x")}0`],
    ["other characters", `${hashApiKey("x").slice(1)}g`]
  ])("rejects a hash with %s, without quoting it", (_kind, digits) => {
    const message = Result.match(parseSimpleKeys(`one=sha256:${digits}`), {
      onSuccess: () => "accepted",
      onFailure: (reason) => reason
    })
    assert.match(message, /hash of 'one'/)
    assert.notInclude(message, digits)
  })

  it("hashes a key that contains a colon and sha256 elsewhere than at its start", () => {
    const plain = `${key}sha256:`
    assert.strictEqual(Result.getOrThrow(parseSimpleKeys(`one=${plain}`))[0]?.hash, hashApiKey(plain))
  })

  it("names the reason for the rejection of a duplicate key", () => {
    const reason = Result.flip(parseSimpleKeys(`a=${key},b=${key}`))
    assert.match(Result.getOrThrow(reason), /same key/)
  })

  it("is rejected with a short or ambiguous key, without quoting it", () => {
    for (const text of [
      "one=short-s3cret",
      `${key}-s3cret`,
      `=${key}-s3cret`,
      "one=sha256:s3cret",
      `a=${key},b=${key}`
    ]) {
      const refused = parseSimpleKeys(text)
      assert.isTrue(Result.isFailure(refused))
      if (Result.isFailure(refused)) assert.notMatch(refused.failure, /s3cret|kkkk/)
    }
  })
})

describe("a new key", () => {
  it.effect("matches its entry, has 256 bits and is unique", () =>
    Effect.gen(function* () {
      const grants = { rights: ["agent"], offices: ["team"], names: ["*"] } as const
      const { entry: made, key } = yield* generateApiKey("me", grants, undefined)
      assert.match(key, /^a2c_[\w-]{43}$/)
      const scheme = yield* ApiKeys.make(Result.getOrThrow(decodeApiKeyEntries({ keys: [made] })))
      assert.deepStrictEqual(yield* scheme.authenticate(key), { subject: "me", grants, expiresAt: undefined })
      assert.notStrictEqual((yield* generateApiKey("me", grants, undefined)).key, key)
      assert.notInclude(JSON.stringify(made), key)
    })
  )

  it.effect("keeps the expiry of its entry", () =>
    Effect.gen(function* () {
      const { entry: made } = yield* generateApiKey("me", allGrants, "2030-01-31")
      const [found] = Result.getOrThrow(decodeApiKeyEntries({ keys: [made] }))
      assert.strictEqual(found?.expiresAt, Date.UTC(2030, 0, 31))
    })
  )
})
