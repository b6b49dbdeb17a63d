import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as HttpDocuments from "../../src/adapters/dpe/HttpDocumentReader.ts"
import * as NodeDocuments from "../../src/adapters/dpe/NodeDocumentReader.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { makeVictim } from "./http/victim.ts"
import { DocumentReader } from "../../src/application/ports/files/DocumentReader.ts"

const read = (reader: Layer.Layer<DocumentReader>, uri: string, maxBytes = 1000) =>
  DocumentReader.use((documents) => documents.read(uri, maxBytes)).pipe(Effect.provide(Layer.fresh(reader)))

const serverUrl = "http://127.0.0.1:7070"
const inFolders = (folders: ReadonlyArray<string>) => NodeDocuments.layer({ serverUrl, folders })

/** A web server: `/whole` has seven bytes, `/endless` never ends, other paths answer 404. */
const web = Effect.map(
  makeVictim(({ url }, response) => {
    if (url === "/whole") return void response.writeHead(200, { "content-type": "text/x" }).end("content")
    if (url !== "/endless") return void response.writeHead(404).end()
    const more = () => {
      while (response.write("x".repeat(100)));
    }
    response.on("drain", more)
    more()
  }),
  ({ url }) => url
)

const folder = Effect.tap(temporaryFolder, (root) =>
  Effect.sync(() => {
    mkdirSync(join(root, "open"))
    writeFileSync(join(root, "open", "a b.txt"), "content")
    writeFileSync(join(root, "secret.txt"), "secret")
    symlinkSync(join(root, "secret.txt"), join(root, "open", "way out"))
  })
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
      const { bytes } = yield* read(inFolders([join(root, "open")]), fileUri(root, "open", "a b.txt"))
      assert.strictEqual(new TextDecoder().decode(bytes), "content")
    })
  )

  it.live("is not readable outside, nor through a symbolic link", () =>
    Effect.gen(function* () {
      const root = yield* folder
      const outside = "The document is a file outside the allowed folders of this Agent"
      for (const uri of [fileUri(root, "secret.txt"), fileUri(root, "open", "way out")]) {
        const error = yield* Effect.flip(read(inFolders([join(root, "open")]), uri))
        assert.strictEqual(error.message, outside)
      }
      const error = yield* Effect.flip(read(inFolders([]), fileUri(root, "secret.txt")))
      assert.strictEqual(error.message, outside)
    })
  )

  it.live("is not readable above the size limit", () =>
    Effect.gen(function* () {
      const root = yield* folder
      const error = yield* Effect.flip(read(inFolders([root]), fileUri(root, "secret.txt"), 3))
      assert.include(error.message, "more than the 3 allowed")
    })
  )

  it.live("has an alternative over HTTP", () =>
    Effect.gen(function* () {
      const { bytes } = yield* read(inFolders([]), `${yield* web}/whole`)
      assert.lengthOf(bytes, 7)
    })
  )
})

describe("an Agent on Node", () => {
  const publicServer = "https://1.1.1.1"
  const fetching = (sources: NodeDocuments.DocumentSources, uri: string) => read(NodeDocuments.layer(sources), uri)
  const message = (sources: NodeDocuments.DocumentSources, uri: string) =>
    Effect.map(Effect.flip(fetching(sources, uri)), (failure) => failure.message)

  it.live("fetches no document of its machine or network for a Server in the internet", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* makeVictim()
      for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0"]) {
        const found = yield* message({ serverUrl: publicServer }, `http://${host}:${port}/?signature=s3cret`)
        assert.match(found, /^Cannot fetch from http:.* not allowed here$/, host)
        assert.notInclude(found, "s3cret")
      }
      for (const uri of ["http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://[fd00::1]/"]) {
        assert.include(yield* message({ serverUrl: publicServer }, uri), "is not allowed here")
      }
      assert.deepStrictEqual(requests, [])
    })
  )

  it.live("fetches documents of its machine for a Server on it", () =>
    Effect.gen(function* () {
      const { port } = yield* makeVictim()
      for (const server of [serverUrl, "http://localhost:7070", "ws://[::1]:7070"]) {
        const { bytes } = yield* fetching({ serverUrl: server }, `http://127.0.0.1:${port}/`)
        assert.strictEqual(new TextDecoder().decode(bytes), "inside")
      }
      assert.include(yield* message({ serverUrl }, "http://169.254.169.254/"), "a link-local address is not allowed")
    })
  )

  it.live("fetches documents of a listed host from any network", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeVictim()
      for (const hosts of [["127.0.0.1"], ["127.*"]]) yield* fetching({ serverUrl: publicServer, hosts }, url)
      assert.strictEqual(requests.length, 2)
      for (const hosts of [["0.0.1"], ["27.0.0.1"], ["127.0.0"], [url], [""], []]) {
        assert.include(yield* message({ serverUrl: publicServer, hosts }, url), "not allowed here", hosts.join())
      }
      assert.strictEqual(requests.length, 2)
    })
  )

  it.live("checks every redirect", () =>
    Effect.gen(function* () {
      const to = (location: string) =>
        makeVictim((_, response) => void response.writeHead(302, { Location: location }).end())
      const inside = yield* makeVictim()
      assert.lengthOf((yield* fetching({ serverUrl }, (yield* to(`${inside.url}/x`)).url)).bytes, 6)
      for (const [location, reason] of [
        ["http://169.254.169.254/latest/meta-data", "http://169.254.169.254: a link-local address is not allowed here"],
        ["file:///etc/hostname", "http or https is required"],
        ["/again", "more than 5 redirects"]
      ] as const) {
        assert.include(yield* message({ serverUrl }, (yield* to(location)).url), reason)
      }
    })
  )
})
