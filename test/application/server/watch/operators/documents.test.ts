import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { DocumentReader, DocumentUnreadable } from "../../../../../src/application/ports/files/DocumentReader.ts"
import { maxDocumentBytes, maxPreviewLength } from "../../../../../src/application/shared/page/documentPreview.ts"
import { encodeUtf8 } from "../../../../../src/domain/utf8.ts"
import { line, olga, startWatched } from "../watchedServer.ts"

type Read = DocumentReader["Service"]["read"]

const location = { uri: "https://docs.example/a.md", mime_type: "text/markdown" }

/** Fetches a document whose location a Computer replies: the preview or the error. */
const preview = Effect.fnUntraced(function* (read: Read | undefined, found: object = location) {
  const server = yield* startWatched({ ...(read && { documents: DocumentReader.of({ read }) }) })
  yield* server.computer("pc", {
    answer: (_, value) => Effect.succeed({ req_id: Object(value)["req_id"], ...found })
  })
  const uri = "dpe://files/a.md"
  const command = { _tag: "GetDocument", line, office: "O", computer: "pc", uri } as const
  return yield* Effect.match(server.watch.execute(command, olga), {
    onSuccess: (reply): unknown => reply,
    onFailure: ({ code, message }) => ({ code, message })
  })
})

const reads =
  (text: string, mimeType?: string): Read =>
  () =>
    Effect.succeed({ bytes: encodeUtf8(text), mimeType })

const unreadable: Read = () => Effect.fail(new DocumentUnreadable({ message: "HTTP 404" }))

const unavailable = (message: string) => ({ code: 503, message })

describe("the preview of a document", () => {
  it.effect.each([
    [
      "truncates a long text",
      reads("x".repeat(maxPreviewLength + 1)),
      location,
      { mimeType: "text/markdown", text: "x".repeat(maxPreviewLength), isTruncated: true }
    ],
    [
      "has no text of a document in another format",
      reads("%PDF"),
      { ...location, mime_type: "application/pdf" },
      { mimeType: "application/pdf", text: "", isTruncated: false }
    ],
    [
      "rejects a document that is too large, without reading it",
      () => Effect.die("read"),
      { ...location, size: maxDocumentBytes + 1 },
      { code: 413, message: `Message larger than ${maxDocumentBytes} bytes` }
    ],
    ["tells why the document cannot be read", unreadable, location, unavailable("HTTP 404")],
    ["fails in a Server without a reader", undefined, location, unavailable("This Server does not fetch documents")]
  ] as ReadonlyArray<readonly [string, Read | undefined, object, object]>)("%s", ([, read, found, outcome]) =>
    Effect.map(preview(read, found), (given) => assert.deepStrictEqual(given, outcome))
  )

  it.effect("gives up after 10 s", () =>
    Effect.gen(function* () {
      const fetching = yield* Effect.forkChild(
        preview(() => Effect.never),
        { startImmediately: true }
      )
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fetching), unavailable("The document was not transferred in time"))
    })
  )
})
