import { assert, describe, it } from "@effect/vitest"
import { completionsIn, messagesIn, promptsIn } from "../../../src/domain/page/prompts.ts"

describe("promptsIn", () => {
  it("gives the prompts of all MCP servers with a schema of their arguments", () => {
    const review = {
      name: "review",
      title: "Review",
      description: "Reviews code",
      arguments: [{ name: "code", title: "Code", description: "the code", required: true }, { name: "focus" }]
    }
    const servers = [
      { id: "code", completions: true, prompts: [review] },
      { id: "none", prompts: [] },
      { id: "plain", completions: false, prompts: [{ name: "hello" }] }
    ]
    assert.deepStrictEqual(promptsIn({ servers }), [
      {
        server: "code",
        name: "review",
        title: "Review",
        description: "Reviews code",
        argumentsSchema: {
          type: "object",
          properties: {
            code: { type: "string", title: "Code", description: "the code" },
            focus: { type: "string" }
          },
          required: ["code"]
        },
        hasCompletions: true
      },
      {
        server: "plain",
        name: "hello",
        title: "",
        description: "",
        argumentsSchema: { type: "object", properties: {}, required: [] },
        hasCompletions: false
      }
    ])
  })

  it("leaves out malformed entries", () => {
    const servers = [7, {}, { prompts: "x" }, { id: 3, prompts: [null, {}, { name: 7 }, { name: "a", arguments: 7 }] }]
    assert.deepStrictEqual(
      promptsIn({ servers }).map(({ name, server }) => [server, name]),
      [["", "a"]]
    )
    assert.deepStrictEqual(promptsIn({}), [])
  })
})

describe("messagesIn", () => {
  it("gives roles and contents, and drops entries that are not messages", () => {
    const text = { type: "text", text: "hi" }
    assert.deepStrictEqual(messagesIn({ messages: [{ role: "user", content: text }, 7, { role: 1, content: [] }] }), [
      { role: "user", content: text },
      { role: "", content: {} }
    ])
    assert.deepStrictEqual(messagesIn({ messages: "x" }), [])
  })
})

describe("completionsIn", () => {
  it("gives the texts, at most a hundred", () => {
    const values = Array.from({ length: 150 }, (_, index) => `v${index}`)
    assert.deepStrictEqual(completionsIn({ completion: { values: ["a", 7, "b"] } }), ["a", "b"])
    assert.lengthOf(completionsIn({ completion: { values } }), 100)
    for (const malformed of [{}, { completion: 7 }, { completion: { values: "a" } }]) {
      assert.deepStrictEqual(completionsIn(malformed), [])
    }
  })
})
