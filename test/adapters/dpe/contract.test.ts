import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeFileCache } from "../../../src/adapters/dpe/FileCache.ts"
import { makeDocumentServer } from "../../../src/adapters/dpe/DocumentServer.ts"
import type { ResolveDpe } from "../../../src/application/computer/ComputerSettings.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { bytesAt, requestOf, textRequest } from "./requests.ts"
import { effectWith } from "../../testWith.ts"

const room = { maxBytes: 1000, lifetime: Duration.hours(1), maxAge: Duration.hours(1) }

const resolvers: ReadonlyArray<readonly [string, Effect.Effect<ResolveDpe, unknown, Scope.Scope>]> = [
  ["file cache", Effect.flatMap(temporaryFolder, (folder) => makeFileCache({ folder, ...room }))],
  ["document server", Effect.map(makeDocumentServer(room), ({ resolve }) => resolve)]
]

describe.each(resolvers)("%s", (_, make) => {
  const effect = effectWith(make)

  effect("stores text as UTF-8", function* (resolve) {
    const text = "Grüße, 電!"
    const found = yield* resolve(requestOf([{ uri: "dpe://com.ex/report", text, mimeType: "text/markdown" }]))
    assert.deepInclude(found, { mimeType: "text/markdown", size: Buffer.byteLength(text) })
    assert.strictEqual((yield* bytesAt(found.uri)).toString("utf8"), text)
  })

  effect("decodes a blob", function* (resolve) {
    const bytes = Buffer.from([0, 255, 10, 13, 0])
    const found = yield* resolve(requestOf([{ blob: bytes.toString("base64"), mimeType: "application/pdf" }]))
    assert.deepInclude(found, { mimeType: "application/pdf", size: 5 })
    assert.isTrue(bytes.equals(yield* bytesAt(found.uri)))
  })

  effect("accepts an empty document", function* (resolve) {
    const found = yield* resolve(textRequest(""))
    assert.strictEqual(found.size, 0)
    assert.strictEqual((yield* bytesAt(found.uri)).byteLength, 0)
  })

  effect("falls back to the MIME type of the listing", function* (resolve) {
    const { mimeType } = yield* resolve(requestOf([{ text: "a,b" }], { mimeType: "text/csv" }))
    assert.strictEqual(mimeType, "text/csv")
  })

  effect("stores an inline document as JSON", function* (resolve) {
    const text = '{"doc_ref":"r","pages":[]}'
    const found = yield* resolve(requestOf([{ text, mimeType: "application/vnd.a2c.dpe-inline+json" }]))
    assert.strictEqual(found.mimeType, "application/json")
    assert.strictEqual((yield* bytesAt(found.uri)).toString(), text)
  })

  effect("stores several contents as one JSON array", function* (resolve) {
    const contents = [{ text: "one", mimeType: "text/plain" }, { blob: "aGk=" }]
    const found = yield* resolve(requestOf(contents, { mimeType: "text/plain" }))
    assert.strictEqual(found.mimeType, "application/json")
    assert.deepStrictEqual(JSON.parse((yield* bytesAt(found.uri)).toString()), contents)
  })

  effect("keeps the URI of an external document", function* (resolve) {
    const text = '{"uri":"https://x/1?sig=a","mime_type":"application/json","size":3}'
    const found = yield* resolve(requestOf([{ text, mimeType: "application/vnd.a2c.dpe-uri+json" }]))
    assert.deepStrictEqual(found, { uri: "https://x/1?sig=a", mimeType: "application/json", size: 3 })
  })

  it.effect("returns the expiry", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-01-02T03:04:05.678Z"))
      const resolve = yield* make
      const { metadata } = yield* resolve(textRequest("a"))
      assert.deepStrictEqual(metadata, { expires_at: "2026-01-02T04:04:05.678Z" })
    })
  )

  effect("fails with a message for missing and malformed contents", function* (resolve) {
    assert.match(String(yield* Effect.flip(resolve(requestOf([])))), /no contents/)
    assert.match(String(yield* Effect.flip(resolve(requestOf([{ blob: "!" }])))), /not base64/)
  })

  effect("rejects a document beyond the total limit without evicting others", function* (resolve) {
    const { uri } = yield* resolve(textRequest("small"))
    const failure = yield* Effect.flip(resolve(textRequest("x".repeat(1001))))
    assert.match(String(failure), /has 1001 bytes, more than the 1000 /)
    assert.strictEqual((yield* bytesAt(uri)).toString(), "small")
  })

  effect("maps equal documents to one URI and others to different ones", function* (resolve) {
    const place = (text: string, uri: string) =>
      Effect.map(resolve(textRequest(text, uri)), (found) => new URL(found.uri).pathname)
    const first = yield* place("a", "dpe://h/a")
    assert.strictEqual(yield* place("a", "dpe://h/a"), first)
    assert.notStrictEqual(yield* place("a", "dpe://h/b"), first)
    assert.notStrictEqual(yield* place("b", "dpe://h/a"), first)
  })

  const tricks = [
    "dpe://h/../../etc/passwd",
    "dpe://h/..%2F..%2Fetc%2Fpasswd",
    String.raw`dpe://h/..\..\windows`,
    "dpe://h/a\u0000b",
    `dpe://h/${"x".repeat(100_000)}`,
    "dpe://h/ü電\u202e🜁\ud800",
    "dpe://h/a?b#c&d='\"\r\n"
  ]
  effect("never lets a URI escape its place", function* (resolve) {
    for (const uri of tricks) {
      const found = yield* resolve(textRequest("held", uri))
      assert.match(new URL(found.uri).pathname, /\/([\w-]{43}|[0-9a-f]{64}\.txt)$/, uri)
      assert.strictEqual((yield* bytesAt(found.uri)).toString(), "held", uri)
    }
  })

  effect("resolves concurrent documents", function* (resolve) {
    const texts = Array.from({ length: 50 }, (_item, index) => `text ${index}`)
    const found = yield* Effect.forEach(texts, (text) => resolve(textRequest(text)), {
      concurrency: "unbounded"
    })
    const read = yield* Effect.forEach(found, ({ uri }) => bytesAt(uri), { concurrency: 10 })
    assert.deepStrictEqual(read.map(String), texts)
  })
})
