import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import {
  buildDpeUri,
  type InvalidDpeUri,
  parseStrictDpeUri,
  parseDpeUri
} from "../../../src/domain/documents/DpeUri.ts"
import {
  parseDocumentBody,
  parseDocumentUri,
  findDocuments,
  summarizeDocument
} from "../../../src/domain/documents/findDocuments.ts"
import type { DocumentSummary } from "../../../src/domain/model/messages/requests.ts"

const parse = (uri: string) => Result.getOrThrow(parseDpeUri(uri))

describe("document URI", () => {
  it("case 279: rejects a URI without a document with a reason", () => {
    const others = ["dpe://com.ex.docs", "dpe://com.ex.docs/", "dpe:///x", "http://a/b", "dpe://", "", "junk"]
    for (const uri of [...others, "dpe://h/a\ud800"]) {
      const parsed = parseDpeUri(uri)
      assert.isTrue(Result.isFailure(parsed) && parsed.failure.reason.length > 0, uri)
    }
  })

  it("names an invalid URI with the reason", () => {
    const errorOf = (result: Result.Result<unknown, InvalidDpeUri>) => {
      const { reason, uri } = Result.getOrThrow(Result.flip(result))
      return [uri, reason]
    }
    const errors = [parseDpeUri("dpe://h"), parseStrictDpeUri("dpe://h/a?b"), buildDpeUri("h", ["a", "\udc00"])].map(
      errorOf
    )
    assert.deepStrictEqual(errors, [
      ["dpe://h", "missing doc-ref"],
      ["dpe://h/a?b", "query and fragment are not allowed"],
      ["dpe://h/a/%EF%BF%BD", "unpaired surrogate"]
    ])
  })

  it("is not built of a host that contains more than a host", () => {
    for (const host of ["h/a", "h?a", "h#a", "a b", ""]) assert.isTrue(Result.isFailure(buildDpeUri(host, ["x"])), host)
  })

  it("cases 281 and 282: keeps segments separate", () => {
    assert.strictEqual(parse("dpe://com.ex.docs/reports/2026/annual").docRef, "reports/2026/annual")
    assert.deepStrictEqual(parse("dpe://com.ex.docs/a%2Fb").path, ["a/b"])
  })

  it("cases 283 and 284: drops a query for a Computer, and rejects it for an Agent", () => {
    const uri = "dpe://com.ex.docs/rpt"
    for (const part of ["?format=md#x", "?format=md", "#x"]) {
      assert.deepInclude(parse(uri + part), { uri, isTrimmed: true })
      assert.isTrue(Result.isFailure(parseStrictDpeUri(uri + part)), part)
    }
    assert.isTrue(Result.isSuccess(parseStrictDpeUri(uri)))
  })
})

describe("finder", () => {
  const document = (docRef: string, more: Partial<DocumentSummary> = {}): DocumentSummary => ({
    docRef,
    uri: `dpe://h/${docRef}`,
    fileUri: "",
    fileType: "pdf",
    title: docRef,
    pageCount: 1,
    server: "alpha",
    ...more
  })
  const found = (
    documents: ReadonlyArray<DocumentSummary>,
    query: { keywords?: ReadonlyArray<string>; fileType?: string; offset?: number; limit?: number } = {},
    history: ReadonlyArray<string> = []
  ) => {
    const page = findDocuments(documents, { offset: 0, limit: 20, ...query }, history)
    return [page.documents.map(({ docRef }) => docRef), page.totalCount] as const
  }
  const many = (count: number) => Array.from({ length: count }, (_, index) => document(`d${index}`))

  const Pages = Schema.Struct({
    count: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 })),
    limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 }))
  })
  it.prop("returns the whole catalogue over all pages", [Pages], ([{ count, limit }]) => {
    const documents = many(count)
    const pages = Array.from({ length: Math.ceil(count / limit) }, (_, page) =>
      findDocuments(documents, { offset: page * limit, limit }, [])
    )
    const listed = pages.flatMap((page) => page.documents)
    assert.deepStrictEqual(listed, documents)
  })

  it("cases 307 and 308: summarizes a document from the listed resource", () => {
    const resource = {
      uri: "dpe://h/a%20b",
      name: "Annual",
      description: "About",
      annotations: { lastModified: "2026-01-01T00:00:00Z" },
      _meta: { page_count: 4, file_type: "pdf", keywords: ["k"], file_uri: "file:///a" }
    }
    assert.deepStrictEqual(summarizeDocument("alpha", parse(resource.uri), resource), {
      docRef: "a b",
      uri: "dpe://h/a%20b",
      fileUri: "file:///a",
      fileType: "pdf",
      title: "Annual",
      pageCount: 4,
      keywords: ["k"],
      summary: "About",
      server: "alpha",
      lastModified: "2026-01-01T00:00:00Z"
    })
  })

  it("cases 309 to 311: takes missing fields from the body, and omits documents without pages", () => {
    const uri = parse("dpe://h/d")
    const title = "T"
    assert.deepInclude(summarizeDocument("s", uri, {}, { page_count: 4, title }), { pageCount: 4, title })
    const own = summarizeDocument("s", uri, { _meta: { page_count: 1 } })
    assert.deepInclude(own, { fileUri: "", fileType: "", title: "d" })
    for (const pages of [0, -1, 1.5, "3", undefined, 2 ** 53, 1e308]) {
      assert.isUndefined(summarizeDocument("s", uri, { _meta: { page_count: pages } }))
    }
  })

  it("takes every field that the listing lacks from the body", () => {
    const body = {
      page_count: 2,
      file_uri: "file:///b",
      file_type: "docx",
      title: "T",
      keywords: ["k"],
      summary: "S",
      last_modified: "2026-01-02"
    }
    assert.deepStrictEqual(summarizeDocument("s", parse("dpe://h/d"), {}, body), {
      docRef: "d",
      uri: "dpe://h/d",
      fileUri: "file:///b",
      fileType: "docx",
      title: "T",
      pageCount: 2,
      keywords: ["k"],
      summary: "S",
      server: "s",
      lastModified: "2026-01-02"
    })
  })

  it("reads the body from the first content that is a JSON object", () => {
    const contents = [{ blob: "AA==" }, { text: "no" }, { text: '{"page_count":3}' }, { text: "{}" }]
    assert.deepStrictEqual(parseDocumentBody(contents), Option.some({ page_count: 3 }))
    assert.deepStrictEqual(parseDocumentBody([{ text: "[]" }]), Option.none())
  })

  it("case 312: excludes the catalogue, pages, elements and windows", () => {
    const others = ["dpe://h", "dpe://h/d/pages/0", "dpe://h/d/pages/10", "dpe://h/d/elements/e1", "window://h/x"]
    for (const uri of others) assert.isUndefined(parseDocumentUri(uri), uri)
    for (const path of ["d", "pages/0", "d/pages/x", "d/pages/1x", "d/pages/x1", "d/sheets/1", "d/elements/"])
      assert.isDefined(parseDocumentUri(`dpe://h/${path}`), path)
  })

  it("cases 313 to 318: filters documents", () => {
    const documents = [
      document("1", { title: "Annual report" }),
      document("2", { keywords: ["REPORTS"] }),
      document("3", { summary: "a report", fileType: "xlsx" }),
      document("4")
    ]
    assert.deepStrictEqual(found(documents, { keywords: ["REPORT"] }), [["1", "2", "3"], 3])
    assert.deepStrictEqual(found(documents, { keywords: ["zzz", "annual"] }), [["1"], 1])
    assert.deepStrictEqual(found(documents, { keywords: [] }), [["1", "2", "3", "4"], 4])
    assert.deepStrictEqual(found(documents, { fileType: "PDF" }), [[], 0])
    assert.deepStrictEqual(found(documents, { fileType: "xlsx", keywords: ["report"] }), [["3"], 1])
  })

  it("cases 319 to 322: splits documents into pages", () => {
    assert.strictEqual(found(many(25))[0]?.length, 20)
    assert.deepStrictEqual(found(many(25), { offset: 20, limit: 10 }), [["d20", "d21", "d22", "d23", "d24"], 25])
    assert.deepStrictEqual(found(many(5), { offset: 100 }), [[], 5])
    assert.strictEqual(findDocuments(many(150), { offset: 0, limit: 500 }, []).documents.length, 100)
  })

  it("cases 324 to 327: sorts by recently used server, then newest first, ties as listed", () => {
    const at = (docRef: string, lastModified: string, server = "alpha") => document(docRef, { lastModified, server })
    assert.deepStrictEqual(found([document("a"), document("b", { server: "beta" })], {}, ["beta"]), [["b", "a"], 2])
    const dated = [at("02", "2026-02-01"), at("03", "2026-03-01"), document("none")]
    assert.deepStrictEqual(found(dated)[0], ["03", "02", "none"])
    const zoned = [at("late", "2026-01-01T01:00:00+02:00"), at("later", "2026-01-01T00:00:00Z")]
    assert.deepStrictEqual(found(zoned)[0], ["later", "late"])
    const ties = [at("x", "2026-01-01"), at("y", "2026-01-01"), at("junk", "soon")]
    assert.deepStrictEqual(found(ties)[0], ["x", "y", "junk"])
  })
})
