import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { buildWindowUri, hasWindowScheme, isWindowUri, parseWindowUri } from "../../../src/domain/desktop/WindowUri.ts"

const parse = (uri: string) => Result.getOrThrow(parseWindowUri(uri))
const build = (window: Parameters<typeof buildWindowUri>[0]) => Result.getOrThrow(buildWindowUri(window))
const invalid = (uri: string) => assert.isTrue(Result.isFailure(parseWindowUri(uri)), uri)

const Window = Schema.Struct({
  host: Schema.Literals(["com.example.browser", "h", "電", "user@h:80"]),
  path: Schema.Array(Schema.Literals(["a", "a/b", "ü?", "%2F", "x y", "#", "..", "&=", ""])),
  priority: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))),
  fullscreen: Schema.NullOr(Schema.Boolean)
})

describe("window URI", () => {
  it.prop("parses what it built", [Window], ([window]) => {
    assert.deepStrictEqual(parse(build(window)), window)
  })

  it.prop("accepts or rejects any text without a defect", [Schema.String], ([text]) => {
    assert.isBoolean(Result.isSuccess(parseWindowUri(text)))
    assert.isBoolean(Result.isSuccess(parseWindowUri(`window://${text}`)))
  })

  it("case 219: parses every part", () => {
    assert.deepStrictEqual(parse("window://com.example.browser/main/tab1?priority=80&fullscreen=true"), {
      host: "com.example.browser",
      path: ["main", "tab1"],
      priority: 80,
      fullscreen: true
    })
  })

  it("case 220: needs only a host", () => {
    assert.deepStrictEqual(parse("window://com.example.logger"), {
      host: "com.example.logger",
      path: [],
      priority: null,
      fullscreen: null
    })
  })

  it("case 221: keeps an escaped slash within its segment", () => {
    assert.deepStrictEqual(parse("window://com.example.editor/src%2Fmain/file%20name").path, ["src/main", "file name"])
  })

  it("case 222: rejects another scheme", () => {
    for (const uri of ["http://h/x", "dpe://h/x", "windows://h", ":::"]) invalid(uri)
  })

  it("case 223: rejects a missing host", () => {
    for (const uri of ["window:///x", "window://", "window://a b/x"]) invalid(uri)
  })

  it("case 224: accepts both ends of the priority range", () => {
    assert.strictEqual(parse("window://h?priority=0").priority, 0)
    assert.strictEqual(parse("window://h?priority=100").priority, 100)
  })

  it("case 225: rejects any other priority", () => {
    for (const value of ["101", "-1", "abc", "1.5", "", "1e1", "+5", "٥"]) invalid(`window://h?priority=${value}`)
  })

  it("case 226: accepts every literal for true and false", () => {
    for (const yes of ["true", "1", "yes", "on"]) {
      assert.isTrue(parse(`window://h?fullscreen=${yes}`).fullscreen)
    }
    for (const no of ["false", "0", "no", "off"]) {
      assert.isFalse(parse(`window://h?fullscreen=${no}`).fullscreen)
    }
  })

  it("case 227: ignores case and white space of a literal", () => {
    assert.isTrue(parse("window://h?fullscreen=TRUE").fullscreen)
    assert.isTrue(parse("window://h?fullscreen=%20yes%20").fullscreen)
    assert.isTrue(parse("window://h?fullscreen=+yes+").fullscreen)
  })

  it("case 228: rejects any other literal", () => {
    for (const word of ["maybe", ""]) invalid(`window://h?fullscreen=${word}`)
  })

  it("case 229: builds every part", () => {
    assert.strictEqual(
      build({ host: "host", path: ["c/d"], priority: 5, fullscreen: false }),
      "window://host/c%2Fd?priority=5&fullscreen=false"
    )
  })

  it("builds a URI of its host alone", () => assert.strictEqual(build({ host: "h" }), "window://h"))

  it("reports the URI with the reason", () => {
    const { reason, uri } = Result.getOrThrow(Result.flip(parseWindowUri("dpe://h")))
    assert.deepStrictEqual([uri, reason], ["dpe://h", "the scheme must be window"])
  })

  it("is recognized by its scheme, and valid only as a whole", () => {
    const uris = ["window://h", "WINDOW://h", "window:", "xwindow://h", "dpe://h"]
    assert.deepStrictEqual(uris.map(hasWindowScheme), [true, true, true, false, false])
    assert.deepStrictEqual(uris.map(isWindowUri), [true, true, false, false, false])
  })

  it("keeps dot segments", () => {
    assert.deepStrictEqual(parse("window://h/a/../b/.").path, ["a", "..", "b", "."])
  })

  it("uses the first of repeated keys, and ignores unknown keys and fragments", () => {
    assert.strictEqual(parse("window://h?x=1&priority=7&priority=9#priority=3").priority, 7)
  })

  it("rejects a malformed escape", () => invalid("window://h/%zz"))

  it("rejects parts that the parser would read otherwise, with the URI and the reason", () => {
    const rejection = (window: Parameters<typeof buildWindowUri>[0]) => {
      const { reason, uri } = Result.getOrThrow(Result.flip(buildWindowUri(window)))
      return [uri, reason]
    }
    const hostReason = "the host contains a path, query or fragment"
    assert.deepStrictEqual(rejection({ host: "h/x" }), ["window://h/x", hostReason])
    assert.deepStrictEqual(rejection({ host: "h?priority=1" }), ["window://h?priority=1", hostReason])
    assert.deepStrictEqual(rejection({ host: "" }), ["window://", "missing host"])
    assert.deepStrictEqual(rejection({ host: "h", path: ["\ud800"] }), ["window://h/%EF%BF%BD", "unpaired surrogate"])
    for (const priority of [101, -1, 0.5, Number.NaN]) {
      assert.strictEqual(rejection({ host: "h", priority })[1], "priority must be an integer from 0 to 100")
    }
  })

  it("rejects an unpaired surrogate and a control character", () => {
    for (const uri of ["window://h/a\ud800", "window://\udc00", "window://h/a\nb", "window://h#\0"]) invalid(uri)
    assert.deepStrictEqual(parse("window://h/\ud83d\ude00").path, ["\u{1f600}"])
  })
})
