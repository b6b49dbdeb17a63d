import { assert, describe, it } from "@effect/vitest"
import { isTextMimeType, mimeTypeOf } from "../../../src/domain/skills/mimeTypes.ts"

describe("MIME type of a file", () => {
  it.each([
    ["a.md", "text/markdown"],
    ["a.markdown", "text/markdown"],
    ["a.txt", "text/plain"],
    ["a.json", "application/json"],
    ["a.xml", "application/xml"],
    ["a.yaml", "application/yaml"],
    ["a.yml", "application/yaml"],
    ["a.toml", "application/toml"],
    ["a.rst", "text/x-rst"],
    ["a/b.min.JS", "text/javascript"],
    ["a.md/b.Png", "image/png"],
    ["x.tar.gz", "application/gzip"]
  ])("comes from the last extension of the last segment, in any case: %s", (path, type) => {
    assert.strictEqual(mimeTypeOf(path), type)
  })

  it.each(["LICENSE", "a.unknown", ".md", "a/.md", "a.md/b", "a."])("is that of binary data for %s", (path) => {
    assert.strictEqual(mimeTypeOf(path), "application/octet-stream")
  })
})

describe("text", () => {
  it.each([
    "text/plain",
    "text/x-anything",
    "TEXT/Markdown; charset=utf-8",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/toml",
    "application/javascript",
    "image/svg+xml",
    "application/ld+json",
    "application/openapi+yaml; version=3"
  ])("has a type of text or of structured data: %s", (type) => assert.isTrue(isTextMimeType(type)))

  it.each(["image/png", "application/octet-stream", "application/zip", "application/jsonp", "", "x/text", "json"])(
    "has no other type: %s",
    (type) => assert.isFalse(isTextMimeType(type))
  )
})
