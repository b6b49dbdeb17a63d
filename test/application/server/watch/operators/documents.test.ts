import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { DocumentReader, DocumentUnreadable } from "../../../../../src/application/ports/files/DocumentReader.ts"
import { maxDocumentBytes, maxPreviewLength } from "../../../../../src/application/shared/page/documentPreview.ts"
import { encodeUtf8 } from "../../../../../src/domain/utf8.ts"
import { line, olga, startWatched } from "../watchedServer.ts"

type Read = DocumentReader["Service"]["read"]

const location = { uri: "https://docs.example/a.md", mime_type: "text/markdown" }

/** Fetches a document whose location a Computer replies. */
const preview = Effect.fnUntraced(function* (read: Read | undefined, found: object = location) {
  const server = yield* startWatched({ ...(read !== undefined && { documents: DocumentReader.of({ read }) }) })
  yield* server.computer("pc", {
    answer: (_, value) => Effect.succeed({ req_id: Object(value)["req_id"], ...found })
  })
  const uri = "dpe://files/a.md"
  return yield* Effect.result(
    server.watch.execute({ _tag: "GetDocument", line, office: "O", computer: "pc", uri }, olga)
  )
})

const reads =
  (text: string, mimeType?: string): Read =>
  () =>
    Effect.succeed({ bytes: encodeUtf8(text), mimeType })

const failureOf = (result: Effect.Success<ReturnType<typeof preview>>) =>
  result._tag === "Failure" ? { code: result.failure.code, message: result.failure.message } : undefined

const successOf = (result: Effect.Success<ReturnType<typeof preview>>) =>
  result._tag === "Success" ? result.success : undefined

describe("the preview of a document", () => {
  it.effect("gives its text and its type", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(successOf(yield* preview(reads("# A"))), {
        mimeType: "text/markdown",
        text: "# A",
        isTruncated: false
      })
    })
  )

  it.effect("reads at the location that the Computer replies", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      yield* preview((uri, maxBytes) => {
        seen.push([uri, maxBytes])
        return Effect.succeed({ bytes: new Uint8Array(), mimeType: undefined })
      })
      assert.deepStrictEqual(seen, [[location.uri, maxDocumentBytes]])
    })
  )

  it.effect("truncates a long text", () =>
    Effect.gen(function* () {
      const result = successOf(yield* preview(reads("x".repeat(maxPreviewLength + 1))))
      assert.deepStrictEqual(result, {
        mimeType: "text/markdown",
        text: "x".repeat(maxPreviewLength),
        isTruncated: true
      })
    })
  )

  it.effect("has no text of a document in another format", () =>
    Effect.gen(function* () {
      const result = successOf(yield* preview(reads("%PDF"), { ...location, mime_type: "application/pdf" }))
      assert.deepStrictEqual(result, { mimeType: "application/pdf", text: "", isTruncated: false })
    })
  )

  it.effect("rejects a document that is too large, without reading it", () =>
    Effect.gen(function* () {
      const result = yield* preview(() => Effect.die("read"), { ...location, size: maxDocumentBytes + 1 })
      assert.strictEqual(failureOf(result)?.code, 413)
    })
  )

  it.effect("tells why the document cannot be read", () =>
    Effect.gen(function* () {
      const result = yield* preview(() => Effect.fail(new DocumentUnreadable({ message: "HTTP 404" })))
      assert.deepStrictEqual(failureOf(result), { code: 503, message: "HTTP 404" })
    })
  )

  it.effect("gives up after 10 s", () =>
    Effect.gen(function* () {
      const fetching = yield* Effect.forkChild(
        preview(() => Effect.never),
        { startImmediately: true }
      )
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(failureOf(yield* Fiber.join(fetching)), {
        code: 503,
        message: "The document was not transferred in time"
      })
    })
  )

  it.effect("fails in a Server without a reader", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(failureOf(yield* preview(undefined)), {
        code: 503,
        message: "This Server does not fetch documents"
      })
    })
  )
})
