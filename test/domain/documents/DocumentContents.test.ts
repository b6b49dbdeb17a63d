import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import { type DocumentContents, parseDocumentContents } from "../../../src/domain/documents/DocumentContents.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const external = "application/vnd.a2c.dpe-uri+json"
const inline = "application/vnd.a2c.dpe-inline+json"

const read = (contents: ReadonlyArray<JsonObject>, listed?: string): DocumentContents =>
  Result.getOrThrow(parseDocumentContents(contents, listed))

const reasonOf = (...contents: ReadonlyArray<JsonObject>): string =>
  Option.getOrUndefined(Result.getFailure(parseDocumentContents(contents)))?.reason ?? "usable"

const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64")

const elsewhere = (body: unknown) => ({ mimeType: external, text: JSON.stringify(body) })

describe("parseDocumentContents", () => {
  const Member = Schema.Union([
    Schema.Json,
    Schema.Literals([external, inline, "text/plain", "aGk=", '{"uri":"s3://b/k"}', "{}"])
  ])
  const Content = Schema.Struct({
    mimeType: Schema.optionalKey(Member),
    text: Schema.optionalKey(Member),
    blob: Schema.optionalKey(Member)
  })
  it.prop("accepts or rejects any contents with a reason", [Schema.Array(Content)], ([given]) => {
    assert.notStrictEqual(reasonOf(...given), "")
  })

  it.prop("keeps a text unchanged", [Schema.String], ([text]) => {
    const mimeType = "text/markdown"
    assert.deepStrictEqual(read([{ text, mimeType }]), { kind: "text", mimeType, text })
  })

  it.prop("decodes a blob", [Schema.Array(Schema.Int)], ([numbers]) => {
    const bytes = Uint8Array.from(numbers)
    const mimeType = "application/pdf"
    assert.deepStrictEqual(read([{ blob: base64(bytes), mimeType }]), { kind: "bytes", mimeType, bytes })
  })

  const Several = Schema.Array(Schema.Struct({ uri: Schema.String, text: Schema.String })).check(Schema.isMinLength(2))
  it.prop("combines several contents as a JSON array", [Several], ([given]) => {
    const found = read(given)
    assert.deepStrictEqual(found, { kind: "text", mimeType: "application/json", text: JSON.stringify(given) })
  })

  const Place = Schema.Struct({
    path: Schema.String.check(Schema.isMaxLength(100)),
    mime_type: Schema.optionalKey(Schema.NullOr(Schema.String)),
    size: Schema.optionalKey(Schema.NullOr(Schema.Natural))
  })
  it.prop("keeps the URI and fields of an external location; null means absent", [Place], ([place]) => {
    const { mime_type, path, size } = place
    const uri = `https://files.example/${encodeURIComponent(path.toWellFormed())}?sig=1`
    assert.deepStrictEqual(read([elsewhere({ uri, mime_type, size })]), {
      kind: "external",
      uri,
      ...(typeof mime_type === "string" && { mimeType: mime_type }),
      ...(typeof size === "number" && { size })
    })
  })

  it("accepts a location as a blob", () => {
    const blob = base64('{"uri":"s3://b/k"}')
    assert.deepStrictEqual(read([{ mimeType: external, blob }]), { kind: "external", uri: "s3://b/k" })
  })

  it("keeps the JSON text of an inline document", () => {
    const text = '{ "doc_ref": "r",  "pages": [] }'
    for (const body of [{ text }, { blob: base64(text) }]) {
      const found = read([{ mimeType: inline, ...body }])
      assert.deepStrictEqual(found, { kind: "text", mimeType: "application/json", text })
    }
  })

  it("prefers the MIME type of the content, then of the listing, then the default", () => {
    const mimeTypeOf = (content: JsonObject, listed?: string) => read([content], listed).mimeType
    assert.strictEqual(mimeTypeOf({ text: "", mimeType: "text/csv" }, "text/html"), "text/csv")
    assert.strictEqual(mimeTypeOf({ text: "" }, "text/html"), "text/html")
    assert.strictEqual(mimeTypeOf({ text: "" }), "text/plain")
    assert.strictEqual(mimeTypeOf({ blob: "" }), "application/octet-stream")
  })

  it("reads the kind of a document from the listing, independent of case and parameters", () => {
    const body = { text: '{"uri":"s3://b/k"}' }
    assert.strictEqual(read([body], external).kind, "external")
    assert.strictEqual(read([{ ...body, mimeType: `${external.toUpperCase()}; v=1` }]).kind, "external")
    assert.strictEqual(read([{ ...body, mimeType: `${external} ; v=1` }]).kind, "external")
  })

  it("ignores a MIME type that is unsafe in a header", () => {
    const unsafe = ["text/html\r\nX-Evil: 1", "text/html;\u0000", "text", "text/ü", "", 5, "a/b; ü=1", ["text/html"]]
    for (const mimeType of unsafe) {
      assert.strictEqual(read([{ text: "", mimeType }]).mimeType, "text/plain", String(mimeType))
    }
  })

  it("keeps the charset of a blob", () => {
    const mimeType = 'text/plain; format=flowed; charset="iso-8859-1"; delsp=yes'
    assert.strictEqual(read([{ blob: "", mimeType }]).mimeType, mimeType)
  })

  it.each([
    ['text/plain; format=flowed; charset="iso-8859-1"; delsp=yes', "text/plain; format=flowed; delsp=yes"],
    ["text/plain;charset=utf-8", "text/plain"],
    ["text/plain ; CHARSET = utf-8", "text/plain"],
    ['text/plain; charset="a;b"; x=1', "text/plain; x=1"],
    ["text/plain; charset=utf-8; x=1", "text/plain; x=1"],
    ["text/plain; x=1; charset=", "text/plain; x=1"],
    ["text/plain; charset-x=1", "text/plain; charset-x=1"]
  ])("removes the charset of %s", (mimeType, expected) =>
    assert.strictEqual(read([{ text: "", mimeType }]).mimeType, expected)
  )

  it.each([
    [[], "no contents"],
    [[{ uri: "dpe://h/a" }], "text or blob is required"],
    [[{ text: "a" }, { text: 5 }], "content 2 of 2: text or blob is required"],
    [[{ mimeType: inline, text: "{" }], "the body is not JSON"],
    [[{ mimeType: inline, text: "[]" }], "the body is not a JSON object"],
    [[{ text: "a" }, { text: "b", extra: 1n }], "the contents cannot be encoded as JSON"]
  ])("rejects unusable contents with the reason: %o", (contents, reason) => {
    assert.strictEqual(reasonOf(...contents), reason)
  })

  it("rejects invalid base64", () => {
    for (const blob of ["A", "====", "a b=", "é==="]) {
      assert.strictEqual(reasonOf({ blob }), "the blob is not base64", blob)
      assert.strictEqual(reasonOf({ blob, mimeType: inline }), "the blob is not base64", blob)
    }
  })

  it.each([
    [[{ mimeType: external, text: "nowhere" }], /external location: the body is not JSON/],
    [[elsewhere({})], /external location: uri: Missing key/],
    [[elsewhere({ uri: "s3://b/k", size: -1 })], /external location: size/],
    [[elsewhere({ uri: "s3://b/k", mime_type: 5 })], /external location: mime_type/],
    [[elsewhere({ uri: `s3://${"k".repeat(9000)}` })], /external location: uri/],
    [[elsewhere({ uri: "DPE://h/other" })], /Agents cannot fetch the scheme/],
    [[elsewhere({ uri: "data:text/plain,secret" })], /Agents cannot fetch the scheme/],
    [[{ text: "a" }, elsewhere({ uri: "s3://b/k" })], /content 2 of 2: .* the only content/]
  ])("rejects an invalid location with the reason: %j", (contents, reason) => {
    assert.match(reasonOf(...contents), reason)
  })

  it("rejects a location that is not a URI", () => {
    for (const uri of ["", "/etc/passwd", "https:", "https://a b", "https://a\nb", "1://x", "1x://y"]) {
      assert.match(reasonOf(elsewhere({ uri })), /an invalid URI/, uri)
    }
  })

  it("hides the contents of a document in reasons", () => {
    const secret = "hunter2"
    const contents = [
      { mimeType: inline, text: secret },
      { mimeType: external, text: secret },
      { blob: `${secret}!` },
      elsewhere({ uri: `/${secret}` }),
      elsewhere({ uri: "s3://b/k", size: secret })
    ]
    for (const content of contents) assert.notInclude(reasonOf(content), secret)
  })
})
