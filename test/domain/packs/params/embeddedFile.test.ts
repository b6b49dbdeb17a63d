import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { embedFileParams, parseEmbeddedFile } from "../../../../src/domain/packs/params/embeddedFile.ts"
import { cpuTime } from "../../../cpuTime.ts"

describe("embedded file", () => {
  it.each([
    ["data:text/plain;base64,aGk=", { filename: "file", contentType: "text/plain", data: "aGk=", encoding: "base64" }],
    [
      "data:text/plain;name=a%20b.txt;base64,aGk=",
      { filename: "a b.txt", contentType: "text/plain", data: "aGk=", encoding: "base64" }
    ],
    ["data:,hi%21", { filename: "file", contentType: "application/octet-stream", data: "hi%21", encoding: "percent" }],
    [
      { filename: "x.png", contentType: "image/png", data: "aGk=" },
      { filename: "x.png", contentType: "image/png", data: "aGk=", encoding: "base64" }
    ]
  ])("parses %j", (value, file) => {
    assert.deepStrictEqual(Result.getOrThrow(parseEmbeddedFile(value)), file)
  })

  it.each(["plain text", 3, null, {}, { data: "!" }, "data:;base64,<>"])("rejects %j", (value) => {
    assert.isTrue(Result.isFailure(parseEmbeddedFile(value)))
  })

  it("takes linear time for any amount of white space", () => {
    const blank = " ".repeat(1_000_000)
    const taken = cpuTime(() => {
      for (const data of [`${blank}!`, `aGk=${blank}!`, `${blank}=${blank}=`]) {
        assert.isTrue(Result.isFailure(parseEmbeddedFile({ data })))
      }
      assert.isTrue(Result.isSuccess(parseEmbeddedFile({ data: `aGk=${blank}` })))
    })
    // A backtracking pattern would take minutes.
    assert.isBelow(taken, 5000)
  })

  it("replaces a file parameter in a schema", () => {
    const file = { type: "string", format: "binary", description: "the file" }
    const schema = {
      type: "object",
      properties: { file, files: { type: "array", items: file }, level: { type: "string" } },
      required: ["file"]
    }
    const { properties } = embedFileParams(schema)
    const text = JSON.stringify(properties)
    assert.notInclude(text, "binary")
    assert.match(text, /^\{"file":\{"description":"the file","anyOf".*"files":\{"type":"array","items":\{"anyOf"/)
    assert.match(text, /"level":\{"type":"string"\}\}$/)
  })

  it("leaves other schemas unchanged", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } }
    assert.strictEqual(embedFileParams(schema), schema)
  })
})
