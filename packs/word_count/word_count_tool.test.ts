import assert from "node:assert/strict"
import { test } from "node:test"
import { WordCountTool } from "./word_count_tool.ts"

test("counts what it is given", () => {
  const tool = new WordCountTool()
  assert.equal(tool.callTool("word_count", { text: "hello there" }), "11 characters, 2 words")
})
