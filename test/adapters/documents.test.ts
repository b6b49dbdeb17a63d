import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import * as HttpDocuments from "../../src/adapters/dpe/HttpDocumentReader.ts"
import * as FileDocuments from "../../src/adapters/dpe/FileDocumentReader.ts"
import { DocumentReader } from "../../src/application/ports/DocumentReader.ts"

const read = (reader: Layer.Layer<DocumentReader>, uri: string, maxBytes = 1000) =>
  DocumentReader.use((documents) => documents.read(uri, maxBytes)).pipe(Effect.provide(Layer.fresh(reader)))

/** A web server: `/whole` has seven bytes, `/endless` never ends, other paths answer 404. */
const web: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const http = createServer(({ url }, response) => {
        if (url === "/whole") return response.writeHead(200, { "content-type": "text/x" }).end("content")
        if (url !== "/endless") return response.writeHead(404).end()
        const more = () => {
          while (response.write("x".repeat(100)));
        }
        response.on("drain", more)
        more()
        return response
      })
      http.listen(0, "127.0.0.1", () => resume(Effect.succeed(http)))
    }),
    (http) =>
      Effect.callback<void>((resume) => {
        http.close(() => resume(Effect.void))
        http.closeAllConnections()
      })
  ),
  (http) => `http://127.0.0.1:${(http.address() as AddressInfo).port}`
)

const folder = Effect.acquireRelease(
  Effect.promise(async () => {
    const root = await mkdtemp(join(tmpdir(), "documents-"))
    await mkdir(join(root, "open"))
    await writeFile(join(root, "open", "a b.txt"), "content")
    await writeFile(join(root, "secret.txt"), "secret")
    await symlink(join(root, "secret.txt"), join(root, "open", "way out"))
    return root
  }),
  (root) => Effect.promise(() => rm(root, { recursive: true, force: true }))
)
const fileUri = (...path: ReadonlyArray<string>) => pathToFileURL(join(...path)).href

describe("a document over HTTP", () => {
  it.live("has a media type", () =>
    Effect.gen(function* () {
      const { bytes, mimeType } = yield* read(HttpDocuments.layer, `${yield* web}/whole`)
      assert.deepStrictEqual([new TextDecoder().decode(bytes), mimeType], ["content", "text/x"])
    })
  )

  it.live("fails above the size limit", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read(HttpDocuments.layer, `${yield* web}/endless`))
      assert.include(error.message, "exceeds the 1000 bytes allowed")
    })
  )

  it.live("fails with a message without its signature when it is missing", () =>
    Effect.gen(function* () {
      const url = yield* web
      const error = yield* Effect.flip(read(HttpDocuments.layer, `${url}/none?signature=s3cret`))
      assert.strictEqual(error.message, `${url} answered with HTTP 404`)
    })
  )

  it.live("fails with the reason when its server is unreachable", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read(HttpDocuments.layer, "http://127.0.0.1:1/d?signature=s3cret"))
      assert.include(error.message, "Cannot fetch from http://127.0.0.1:1")
      assert.notInclude(error.message, "s3cret")
    })
  )

  it.live("is the only kind that browsers read", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read(HttpDocuments.layer, "file:///etc/hostname"))
      assert.strictEqual(error.message, "This reader does not support file: URIs")
    })
  )
})

describe("a document in a file", () => {
  it.live("is readable in an allowed folder", () =>
    Effect.gen(function* () {
      const root = yield* folder
      const { bytes } = yield* read(FileDocuments.layer([join(root, "open")]), fileUri(root, "open", "a b.txt"))
      assert.strictEqual(new TextDecoder().decode(bytes), "content")
    })
  )

  it.live("is not readable outside, nor through a symbolic link", () =>
    Effect.gen(function* () {
      const root = yield* folder
      const outside = "The document is a file outside the allowed folders of this Agent"
      for (const uri of [fileUri(root, "secret.txt"), fileUri(root, "open", "way out")]) {
        const error = yield* Effect.flip(read(FileDocuments.layer([join(root, "open")]), uri))
        assert.strictEqual(error.message, outside)
      }
      const error = yield* Effect.flip(read(FileDocuments.layer([]), fileUri(root, "secret.txt")))
      assert.strictEqual(error.message, outside)
    })
  )

  it.live("is not readable above the size limit", () =>
    Effect.gen(function* () {
      const root = yield* folder
      const error = yield* Effect.flip(read(FileDocuments.layer([root]), fileUri(root, "secret.txt"), 3))
      assert.include(error.message, "more than the 3 allowed")
    })
  )

  it.live("has an alternative over HTTP", () =>
    Effect.gen(function* () {
      const { bytes } = yield* read(FileDocuments.layer([]), `${yield* web}/whole`)
      assert.lengthOf(bytes, 7)
    })
  )
})
