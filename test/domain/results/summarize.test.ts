import { assert, describe, it } from "@effect/vitest"
import { summarize } from "../../../src/domain/results/resultContent.ts"

const ofText = (text: string) => summarize({ content: [{ type: "text", text }] }, { text, binaries: [] }, 2048)

/** What the summary states about the JSON of a text. */
const jsonOf = (text: string): string | undefined => /lines\. (.*)\.$/.exec(ofText(text))?.[1]

describe("summarize", () => {
  it("states size, blocks, characters and lines", () => {
    assert.strictEqual(ofText("one\ntwo\n"), "Whole result: 2 KiB; blocks: 1 text. Text: 8 characters in 3 lines.")
  })

  it("counts the blocks of each kind, structured content, and binary parts", () => {
    const image = { mimeType: "image/png", bytes: new Uint8Array(1024) }
    const content = [{ type: "text" }, { type: "image" }, { type: "image" }, "odd"]
    assert.strictEqual(
      summarize({ content, structuredContent: {} }, { text: "x", binaries: [image, image, image, image] }, 10),
      "Whole result: 10 B; blocks: 1 text, 2 image, 1 unknown, 1 structured content. Text: 1 characters in 1 lines. " +
        "Binary: image/png, 1 KiB, image/png, 1 KiB, image/png, 1 KiB, 1 more."
    )
  })

  it("lists at most five kinds of blocks", () => {
    const content = Array.from({ length: 7 }, (_, at) => ({ type: `kind${at}` }))
    assert.include(summarize({ content }, { text: "", binaries: [] }, 1), "1 kind3, 1 kind4, 2 more.")
  })

  it.each([
    [
      '{"a":1,"b":null,"c":[1,2],"d":"x","e":{},"f":true}',
      "JSON object with a (number), b (null), c (array of 2), d (string), e (object), f (boolean)"
    ],
    [' [ {"id":1} , 2]', "JSON array of 2; the first item is an object with id (number)"],
    ["[[1],2]", "JSON array of 2; the first item is array of 1"],
    ["[null]", "JSON array of 1; the first item is null"],
    ["[]", "JSON array of 0"],
    ["{broken", undefined],
    ["[broken", undefined],
    ["12", undefined],
    ["text {}", undefined]
  ])("describes the top level of %s", (text, expected) => {
    assert.strictEqual(jsonOf(text), expected)
  })

  it("lists at most eight members, with short names", () => {
    const members = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`${at}${"x".repeat(40)}`, at]))
    const found = jsonOf(JSON.stringify(members)) ?? ""
    assert.include(found, `7${"x".repeat(28)}… (number), 1 more`)
    assert.notInclude(found, "8x")
  })
})
