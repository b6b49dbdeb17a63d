import { assert, describe, it } from "@effect/vitest"
import { type OfficeView, unknownComputer } from "../../../src/application/agent/OfficeView.ts"
import { exposeTools } from "../../../src/application/bridge/exposeTools.ts"
import type { Tool } from "../../../src/domain/model/Tool.ts"

const tool = (name: string, returnSchema: Tool["returnSchema"] = null): Tool => ({
  name,
  description: "",
  paramsSchema: {},
  returnSchema
})

const viewOf = (tools: ReadonlyArray<Tool> | undefined): OfficeView => ({
  members: [],
  computers: new Map([
    [
      "desk",
      {
        ...unknownComputer,
        tools,
        desktop: [],
        documents: [],
        skills: []
      }
    ]
  ])
})

const namesOf = (tools: ReturnType<typeof exposeTools>) => tools.listed.map(({ name }) => name)

describe("exposeTools", () => {
  it("builds the index once, at the first search", () => {
    const tools = exposeTools(viewOf([tool("send_mail")]), {})
    const index = tools.index()
    assert.deepStrictEqual(index.search("mail", 5), ["desk__send_mail"])
    assert.strictEqual(tools.index(), index)
  })

  it("lists the output schema of tools unless results are limited", () => {
    const view = viewOf([tool("rows", { type: "object" })])
    assert.deepStrictEqual(exposeTools(view, {}).listed.at(-1)?.["outputSchema"], { type: "object" })
    assert.notProperty(exposeTools(view, { maxResult: 10_000 }).listed.at(-1), "outputSchema")
  })

  it("lists a tool to read results only where results are limited", () => {
    assert.deepStrictEqual(namesOf(exposeTools(viewOf([]), {})), ["computers_list", "desktop_get"])
    assert.deepStrictEqual(namesOf(exposeTools(viewOf([]), { maxResult: 10_000 })), [
      "computers_list",
      "desktop_get",
      "result_read"
    ])
  })

  it("remembers the latest 1000 tools that left", () => {
    const names = Array.from({ length: 1001 }, (_, index) => `t${index}`)
    const before = exposeTools(viewOf(names.map((name) => tool(name))), {})
    const { departed } = exposeTools(viewOf([]), {}, before)
    assert.deepStrictEqual(
      [...departed.keys()],
      names.slice(1).map((name) => `desk__${name}`)
    )
  })

  it("remembers a tool that left through later changes, until its Computer leaves", () => {
    const views = [["a", "b"], ["b"], ["b", "c"]].map((names) => viewOf(names.map((name) => tool(name))))
    const last = views.reduce<ReturnType<typeof exposeTools> | undefined>(
      (before, view) => exposeTools(view, {}, before),
      undefined
    )
    assert.deepStrictEqual([...(last?.departed.keys() ?? [])], ["desk__a"])
    const back = exposeTools(viewOf([tool("a")]), {}, last)
    assert.deepStrictEqual([...back.departed.keys()].toSorted(), ["desk__b", "desk__c"])
    assert.isEmpty(exposeTools({ members: [], computers: new Map() }, {}, last).departed)
  })

  it("searches above sixty tools that models call", () => {
    const forApps = { ...tool("panel"), meta: { ui: { visibility: ["app"] } } }
    const many = (count: number) => Array.from({ length: count }, (_, index) => tool(`t${index}`))
    const isSearching = (tools: ReadonlyArray<Tool>) => namesOf(exposeTools(viewOf(tools), {})).includes("tools_search")
    assert.deepStrictEqual([isSearching([...many(60), forApps]), isSearching(many(61))], [false, true])
  })

  it("omits Computers whose tools are unknown from the offer", () => {
    const [search] = exposeTools(viewOf(undefined), { tools: "search" }).listed.filter(
      ({ name }) => name === "tools_search"
    )
    assert.include(search?.["description"], "The office has no tools now.")
  })
})
