import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { formatBytes, formatCount, formatDuration, formatNumberOf } from "../../../src/domain/text/format.ts"
import { stripAnsi } from "../../../src/domain/text/escapeForTerminal.ts"
import { changedWindows, isFullscreenUri, parseDesktop } from "../../../src/domain/page/windows.ts"
import { splitText, truncate, visibleLine, visibleText } from "../../../src/main/page/parts/visibleText.ts"

describe("formatDuration", () => {
  it.each([
    [0, "0 ms"],
    [0.44, "0.4 ms"],
    [12.4, "12 ms"],
    [999.4, "999 ms"],
    [999.6, "1 s"],
    [1_234, "1.2 s"],
    [59_960, "1 min"],
    [200_000, "3 min 20 s"],
    [7_500_000, "2 h 5 min"],
    [7_200_000, "2 h"],
    [273_600_000, "3 d 4 h"]
  ])("formats %d", (milliseconds, text) => {
    assert.strictEqual(formatDuration(milliseconds), text)
  })
})

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [1_023, "1023 B"],
    [1_536, "1.5 KiB"],
    [100_663_296, "96 MiB"]
  ])("formats %d", (bytes, text) => {
    assert.strictEqual(formatBytes(bytes), text)
  })
})

describe("formatCount", () => {
  it("separates thousands", () => {
    assert.deepStrictEqual([999, 1_000, 1_234_567].map(formatCount), ["999", "1,000", "1,234,567"])
  })
})

describe("formatNumberOf", () => {
  it("has the plural from two on", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 1_500].map((count) => formatNumberOf(count, "call")),
      ["no call", "1 call", "2 calls", "1,500 calls"]
    )
  })
})

describe("stripAnsi", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "red"],
    ["\u001b[2J\u001b[1;1Hhome", "home"],
    ["\u001b]0;title\u0007text", "text"],
    ["\u001b]8;;https://x\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u009b31mred", "red"],
    ["\u001bPdata\u001b\\text", "text"],
    ["\u001bcreset", "reset"],
    ["plain [31m", "plain [31m"]
  ])("removes the sequences of %j", (text, plain) => {
    assert.strictEqual(stripAnsi(text), plain)
  })
})

describe("visibleText", () => {
  it("shows characters that hide or reorder text as escapes", () => {
    assert.strictEqual(visibleText("a\u202eb\u200bc\u0000\u001b"), "a\\u202eb\\u200bc\\u0000\\u001b")
  })

  it("keeps line breaks, which a line shows as escapes", () => {
    assert.deepStrictEqual([visibleText("a\nb\tc"), visibleLine("a\nb\tc")], ["a\nb\tc", "a\\nb\\tc"])
  })

  it.prop("leaves no control character in any text", [Schema.String], ([text]) => {
    assert.notMatch(visibleLine(text), /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u)
  })
})

describe("truncate", () => {
  it("does not cut a surrogate pair", () => {
    assert.strictEqual(truncate("ab🙂c", 3), "ab…")
  })
})

describe("splitText", () => {
  it.prop("splits any text into parts that are short enough", [Schema.String, Schema.Natural], ([text, given]) => {
    const length = given + 1
    const parts = splitText(text, length)
    assert.strictEqual(parts.join(""), text)
    assert.isTrue(parts.every((part) => part.length <= length && part.length > 0))
  })

  it("splits at line breaks", () => {
    assert.deepStrictEqual(splitText("ab\ncd\nef", 7), ["ab\ncd\n", "ef"])
  })
})

describe("parseDesktop", () => {
  it("splits windows, and numbers those of one URI", () => {
    assert.deepStrictEqual(parseDesktop(["window://a\n\none", "window://a\n\ntwo", "window://b"]), [
      { key: "window://a", uri: "window://a", text: "one" },
      { key: "window://a (2)", uri: "window://a", text: "two" },
      { key: "window://b", uri: "window://b", text: "" }
    ])
  })
})

describe("isFullscreenUri", () => {
  it.each([
    ["window://a?fullscreen=true", true],
    ["window://a?priority=1&fullscreen=1", true],
    ["window://a?fullscreen=false", false],
    ["window://fullscreen=true", false]
  ])("decides about %s", (uri, expected) => {
    assert.strictEqual(isFullscreenUri(uri), expected)
  })
})

describe("changedWindows", () => {
  it("gives new windows and those with another text", () => {
    const before = parseDesktop(["window://a\n\n1", "window://b\n\n1", "window://gone\n\n1"])
    const after = parseDesktop(["window://b\n\n2", "window://a\n\n1", "window://new\n\n1"])
    assert.deepStrictEqual([...changedWindows(before, after)], ["window://b", "window://new"])
  })
})
