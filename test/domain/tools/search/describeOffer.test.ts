import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Tool } from "../../../../src/domain/model/Tool.ts"
import { type ComputerOffer, describeOffer } from "../../../../src/domain/tools/search/describeOffer.ts"

const tool = (name: string, bundleId?: string, tags?: ReadonlyArray<string>): Tool => ({
  name: bundleId === undefined ? name : `${bundleId}__${name}`,
  description: "",
  paramsSchema: {},
  returnSchema: null,
  ...(bundleId !== undefined && { bundleId }),
  ...(tags && { meta: { a2c_tool_meta: JSON.stringify({ tags }) } })
})

const offerOf = (...tools: ReadonlyArray<Tool>): ComputerOffer => ({ tools, servers: [] })

const Name = Schema.String.check(Schema.isMaxLength(200))
const Offer = Schema.Array(
  Schema.Struct({
    computer: Name,
    tools: Schema.Array(Schema.Struct({ name: Name, server: Name, tag: Name })).check(Schema.isMaxLength(20))
  })
).check(Schema.isMaxLength(30))

describe("describeOffer", () => {
  it("names Computers, their MCP servers, and the kinds of tools", () => {
    const offer = new Map([
      ["lab", { ...offerOf(tool("add_note"), tool("clear_notes")), servers: ["notes"] }],
      ["ops", offerOf()],
      [
        "desk",
        offerOf(tool("send_message", "slack"), tool("create_issue", "github", ["code"]), tool("list_issues", "github"))
      ]
    ])
    assert.strictEqual(
      describeOffer(offer),
      "Tools: 5. Computers with their MCP servers: desk (github, slack); lab (notes); ops (tools: 0). " +
        "Kinds of tools: code, issue, note, message."
    )
  })

  it("depends on the offer alone, not on the order of joins", () => {
    const desk: readonly [string, ComputerOffer] = [
      "desk",
      offerOf(tool("send_mail", "mail"), tool("read_file", "files"))
    ]
    const lab: readonly [string, ComputerOffer] = ["lab", offerOf(tool("weather"))]
    assert.strictEqual(describeOffer(new Map([desk, lab])), describeOffer(new Map([lab, desk])))
  })

  it("states that an office has no tools", () => {
    assert.strictEqual(describeOffer(new Map([["desk", offerOf()]])), "The office has no tools now.")
  })

  it("counts the MCP servers that have no room", () => {
    const tools = Array.from({ length: 13 }, (_, at) => tool("read", `s${10 + at}`))
    assert.include(
      describeOffer(new Map([["desk", offerOf(...tools)]])),
      "desk (s10, s11, s12, s13, s14, s15, s16, s17, s18, s19, s20, s21, 1 more)."
    )
  })

  it("omits actions, short words and numbers from the kinds", () => {
    const tools = [tool("get_db_v2_2025_list"), tool("create_table9")]
    assert.match(describeOffer(new Map([["desk", offerOf(...tools)]])), /Kinds of tools: table9\.$/)
  })

  it("fills the text with kinds", () => {
    const tools = Array.from({ length: 300 }, (_, at) => tool(`kind${1000 + at}`))
    const text = describeOffer(new Map([["desk", offerOf(...tools)]]))
    assert.isTrue(text.length <= 900 && text.length > 885)
    assert.include(text, "kind1000, kind1001, ")
  })

  it("counts the Computers that have no room", () => {
    const offer = new Map(
      Array.from({ length: 100 }, (_, at) => [`computer-${100 + at}`, offerOf(tool("read", `server-${at}`))] as const)
    )
    assert.match(describeOffer(offer), /computer-100 \(server-0\); .*; \d\d more\.$/)
  })

  it.prop("is one bounded line of visible characters", [Offer], ([offer]) => {
    const text = describeOffer(
      new Map(
        offer.map(({ computer, tools }) => [
          computer,
          offerOf(...tools.map((one) => tool(one.name, one.server, [one.tag])))
        ])
      )
    )
    assert.isAtMost(text.length, 900)
    assert.notMatch(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })
})
