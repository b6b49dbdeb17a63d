import { assert, describe, it } from "@effect/vitest"
import { isTextMimeType, mimeTypeOf } from "../../../src/domain/skills/mimeTypes.ts"

describe("MIME type of a file", () => {
  it("comes from the extensions that the protocol lists", () => {
    assert.deepStrictEqual(
      ["a.md", "a.markdown", "a.txt", "a.json", "a.xml", "a.yaml", "a.yml", "a.toml", "a.rst"].map(mimeTypeOf),
      [
        "text/markdown",
        "text/markdown",
        "text/plain",
        "application/json",
        "application/xml",
        "application/yaml",
        "application/yaml",
        "application/toml",
        "text/x-rst"
      ]
    )
  })

  it("comes from the last extension of the last segment, in any case", () => {
    assert.deepStrictEqual(["a/b.min.JS", "a.md/b.Png", "x.tar.gz"].map(mimeTypeOf), [
      "text/javascript",
      "image/png",
      "application/gzip"
    ])
  })

  it("is that of binary data without a known extension", () => {
    assert.deepStrictEqual(
      ["LICENSE", "a.unknown", ".md", "a/.md", "a.md/b", "a."].map(mimeTypeOf),
      Array.from({ length: 6 }, () => "application/octet-stream")
    )
  })
})

describe("text", () => {
  it("has a type of text, of structured data, or with a suffix of structured data", () => {
    const types = [
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
    ]
    assert.deepStrictEqual(
      types.filter((type) => !isTextMimeType(type)),
      []
    )
  })

  it("has no other type", () => {
    const types = [
      "image/png",
      "application/octet-stream",
      "application/zip",
      "application/jsonp",
      "",
      "x/text",
      "json"
    ]
    assert.deepStrictEqual(types.filter(isTextMimeType), [])
  })
})
