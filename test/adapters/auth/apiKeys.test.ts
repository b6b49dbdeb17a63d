import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ApiKeys from "../../../src/adapters/auth/ApiKeys.ts"
import {
  hashOf,
  type KeyEntry,
  newKey,
  readKeyEntries,
  readSimpleKeys
} from "../../../src/adapters/auth/keyEntries.ts"
import { everything } from "../../../src/domain/office/identity.ts"

const entry = (subject: string, key: string, more: Partial<KeyEntry> = {}): KeyEntry => ({
  subject,
  hash: hashOf(key),
  grants: everything,
  expiresAt: undefined,
  ...more
})

const written = {
  subject: "desk",
  hash: `sha256:${hashOf("k")}`,
  rights: ["computer"],
  offices: ["team*"],
  names: ["*"]
}

const issuesOf = (...keys: ReadonlyArray<unknown>) =>
  Result.match(readKeyEntries({ keys }), {
    onSuccess: () => [],
    onFailure: (faults) => faults.map(({ path }) => path.join("."))
  })

describe("API keys", () => {
  it.effect("let in their owners, and nobody else", () =>
    Effect.gen(function* () {
      const scheme = yield* ApiKeys.make([entry("one", "k1"), entry("two", "k2")])
      assert.strictEqual((yield* scheme.authenticate("k2")).subject, "two")
      const refused = yield* Effect.flip(scheme.authenticate("k3"))
      assert.deepInclude<object>(refused, { code: 401, reason: "invalid_credentials" })
      assert.strictEqual((yield* Effect.flip(scheme.authenticate(hashOf("k1")))).code, 401)
    })
  )

  it.effect("end when they say", () =>
    Effect.gen(function* () {
      const scheme = yield* ApiKeys.make([entry("one", "k1", { expiresAt: 60_000 })])
      assert.strictEqual((yield* scheme.authenticate("k1")).expiresAt, 60_000)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Effect.flip(scheme.authenticate("k1"))).reason, "expired_credentials")
    })
  )

  it.effect("that are removed or say something else are not welcome any more, the others are", () =>
    Effect.gen(function* () {
      const updates = yield* Queue.unbounded<ReadonlyArray<KeyEntry>>()
      const scheme = yield* ApiKeys.make(
        [entry("stays", "k1"), entry("goes", "k2"), entry("changes", "k3")],
        Stream.fromQueue(updates)
      )
      const [stays, goes, changes] = yield* Effect.forEach(["k1", "k2", "k3"], scheme.authenticate)
      const changed = yield* Effect.forkChild(Stream.runHead(scheme.changes), { startImmediately: true })
      const fewer = { ...everything, offices: ["team"] }
      yield* Queue.offer(updates, [
        entry("changes", "k3", { grants: fewer }),
        entry("stays", "k1"),
        entry("new", "k4")
      ])
      yield* Fiber.join(changed)
      const welcome = [stays, goes, changes].map((one) => one !== undefined && scheme.welcome(one))
      assert.deepStrictEqual(welcome, [true, false, false])
      assert.strictEqual((yield* scheme.authenticate("k4")).subject, "new")
      assert.deepStrictEqual((yield* scheme.authenticate("k3")).grants, fewer)
      assert.strictEqual((yield* Effect.flip(scheme.authenticate("k2"))).code, 401)
    })
  )
})

describe("a file of keys", () => {
  it("says whose they are, what they grant and when they end", () => {
    const keys = [written, { ...written, hash: `sha256:${hashOf("l")}`, expires: "2030-01-31" }]
    assert.deepStrictEqual(Result.getOrThrow(readKeyEntries({ keys })), [
      {
        subject: "desk",
        hash: hashOf("k"),
        grants: { rights: ["computer"], offices: ["team*"], names: ["*"] },
        expiresAt: undefined
      },
      {
        subject: "desk",
        hash: hashOf("l"),
        grants: { rights: ["computer"], offices: ["team*"], names: ["*"] },
        expiresAt: Date.UTC(2030, 0, 31)
      }
    ])
  })

  it("may grant nothing by leaving something out", () => {
    for (const member of ["subject", "hash", "rights", "offices", "names"]) {
      assert.deepStrictEqual(issuesOf({ ...written, [member]: undefined }), [`keys.0.${member}`])
    }
  })

  it("is refused with what it misspells", () => {
    assert.deepStrictEqual(issuesOf({ ...written, expire: "2030-01-31" }), ["keys.0.expire"])
    assert.deepStrictEqual(issuesOf({ ...written, rights: ["boss"] }), ["keys.0.rights.0"])
    assert.deepStrictEqual(issuesOf({ ...written, subject: "a\nb" }), ["keys.0.subject"])
    for (const expires of ["tomorrow", "2030-01-31T12:00", "2030-13-01", "2030-02-31", 7]) {
      assert.deepStrictEqual(issuesOf({ ...written, expires }), ["keys.0.expires"])
    }
    for (const hash of ["k", hashOf("k"), `sha256:${hashOf("k").toUpperCase()}`]) {
      assert.deepStrictEqual(issuesOf({ ...written, hash }), ["keys.0.hash"])
    }
  })

  it("holds each key once", () =>
    assert.deepStrictEqual(issuesOf(written, { ...written, subject: "other" }), ["keys.1.hash"]))
})

describe("keys in their simple form", () => {
  const key = "k".repeat(32)

  it("are names and keys, in plain or hashed, for every office", () => {
    const read = Result.getOrThrow(readSimpleKeys(`one=${key}, two=sha256:${hashOf("x=y")},`))
    assert.deepStrictEqual(
      read.map(({ grants, hash, subject }) => [subject, hash, grants.rights, grants.offices]),
      [
        ["one", hashOf(key), ["agent", "computer"], ["*"]],
        ["two", hashOf("x=y"), ["agent", "computer"], ["*"]]
      ]
    )
  })

  it("are refused when they can be guessed or read wrongly, and never said", () => {
    for (const text of [
      "one=short-s3cret",
      `${key}-s3cret`,
      `=${key}-s3cret`,
      "one=sha256:s3cret",
      `a=${key},b=${key}`
    ]) {
      const refused = readSimpleKeys(text)
      assert.isTrue(Result.isFailure(refused))
      if (Result.isFailure(refused)) assert.notMatch(refused.failure, /s3cret|kkkk/)
    }
  })
})

describe("a new key", () => {
  it.effect("opens what its entry says, has 256 bits, and is another one each time", () =>
    Effect.gen(function* () {
      const grants = { rights: ["agent"], offices: ["team"], names: ["*"] } as const
      const { entry: made, key } = yield* newKey("me", grants, undefined)
      assert.match(key, /^a2c_[\w-]{43}$/)
      const scheme = yield* ApiKeys.make(Result.getOrThrow(readKeyEntries({ keys: [made] })))
      assert.deepStrictEqual(yield* scheme.authenticate(key), { subject: "me", grants, expiresAt: undefined })
      assert.notStrictEqual((yield* newKey("me", grants, undefined)).key, key)
      assert.notInclude(JSON.stringify(made), key)
    })
  )
})
