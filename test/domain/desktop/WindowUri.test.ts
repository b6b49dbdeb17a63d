import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { buildWindowUri, hasWindowScheme, isWindowUri, parseWindowUri } from "../../../src/domain/desktop/WindowUri.ts"

const parse = (uri: string) => Result.getOrThrow(parseWindowUri(uri))
const build = (window: Parameters<typeof buildWindowUri>[0]) => Result.getOrThrow(buildWindowUri(window))
const unset = { priority: null, fullscreen: null }

describe("window URI", () => {
  it.prop("accepts or rejects any text without a defect", [Schema.String], ([text]) => {
    assert.isBoolean(Result.isSuccess(parseWindowUri(text)))
    assert.isBoolean(Result.isSuccess(parseWindowUri(`window://${text}`)))
  })

  it.each([
    [
      "case 219: every part",
      "com.example.browser/main/tab1?priority=80&fullscreen=true",
      {
        host: "com.example.browser",
        path: ["main", "tab1"],
        priority: 80,
        fullscreen: true
      }
    ],
    ["case 220: a host alone", "com.example.logger", { host: "com.example.logger", path: [], ...unset }],
    ["case 221: an escaped slash within its segment", "h/src%2Fmain/file%20name", { path: ["src/main", "file name"] }],
    ["case 224: the lowest priority", "h?priority=0", { priority: 0 }],
    ["case 224: the highest priority", "h?priority=100", { priority: 100 }],
    ["dot segments", "h/a/../b/.", { path: ["a", "..", "b", "."] }],
    ["a character of two surrogates", "h/\ud83d\ude00", { path: ["\u{1f600}"] }],
    [
      "the first of repeated keys, without unknown keys and fragments",
      "h?x=1&priority=7&priority=9#priority=3",
      { priority: 7 }
    ]
  ])("parses %s", (_, uri, parts) => {
    assert.deepInclude(parse(`window://${uri}`), parts)
  })

  it.each([
    ["case 222: another scheme", ["http://h/x", "dpe://h/x", "windows://h", ":::"]],
    ["case 223: a missing host", ["window:///x", "window://", "window://a b/x"]],
    [
      "case 225: any other priority",
      ["101", "-1", "abc", "1.5", "", "1e1", "+5", "٥"].map((value) => `window://h?priority=${value}`)
    ],
    ["case 228: any other literal for true and false", ["window://h?fullscreen=maybe", "window://h?fullscreen="]],
    ["a malformed escape", ["window://h/%zz"]],
    ["an unpaired surrogate", ["window://h/a\ud800", "window://\udc00"]],
    ["a control character", ["window://h/a\nb", "window://h#\0"]]
  ])("rejects %s", (_, uris) => {
    assert.deepStrictEqual(
      uris.filter((uri) => Result.isSuccess(parseWindowUri(uri))),
      []
    )
  })

  it("cases 226 and 227: accepts every literal for true and false, in any case and with white space", () => {
    const fullscreenOf = (literal: string) => parse(`window://h?fullscreen=${literal}`).fullscreen
    assert.deepStrictEqual(
      ["true", "1", "yes", "on", "TRUE", "%20yes%20", "+yes+"].map(fullscreenOf),
      Array(7).fill(true)
    )
    assert.deepStrictEqual(["false", "0", "no", "off"].map(fullscreenOf), Array(4).fill(false))
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
})
