import { assert, describe, it } from "@effect/vitest"
import { withValidMembers } from "../../../src/domain/tools/mcpListings.ts"

const icon = { src: "https://a/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }
const argument = { name: "city", description: "where", required: true }

describe("withValidMembers", () => {
  for (const [member, valid, invalid] of [
    ["title", ["a"], [7, null]],
    ["description", ["a"], [{}]],
    ["mimeType", ["text/plain"], [7]],
    ["annotations", [{}], ["x", []]],
    ["execution", [{ taskSupport: "required" }], [true]],
    ["_meta", [{ a: 1 }], ["x"]],
    [
      "icons",
      [[], [icon], [{ src: "a", theme: "light" }], [icon, icon]],
      [
        "x",
        [7],
        [{}],
        [{ ...icon, src: 7 }],
        [{ ...icon, mimeType: 7 }],
        [{ ...icon, sizes: "48x48" }],
        [{ ...icon, sizes: ["48x48", 48] }],
        [{ ...icon, theme: "red" }],
        [icon, 7]
      ]
    ],
    [
      "arguments",
      [[], [argument], [{ name: "a" }]],
      [
        {},
        ["a"],
        [{}],
        [{ ...argument, name: 7 }],
        [{ ...argument, description: 7 }],
        [{ ...argument, required: "yes" }],
        [argument, {}]
      ]
    ]
  ] as const) {
    it(`keeps valid and drops invalid ${member}`, () => {
      for (const value of valid) {
        assert.deepStrictEqual(withValidMembers({ name: "a", [member]: value }), { name: "a", [member]: value })
      }
      for (const value of invalid) {
        assert.deepStrictEqual(withValidMembers({ name: "a", [member]: value }), { name: "a" }, JSON.stringify(value))
      }
    })
  }

  it("keeps what MCP does not know", () => {
    const listed = { name: 7, constructor: 1, later: [null] }
    assert.deepStrictEqual(withValidMembers(listed), listed)
  })
})
