import { it } from "@effect/vitest"
import { officeHash, type OfficeViewName } from "../../../src/domain/page/route.ts"
import { type Answers, joinOffice } from "../../main/nodes.ts"
import { describePages } from "../scripted/usePages.ts"
import { cardOf, useLivePages } from "./useLivePages.ts"
import { LiveParts } from "./LiveParts.ts"

const address = { line: "0.2", office: "team" }

const contents: { readonly [event: string]: object } = {
  "client:get_tools": {
    tools: [{ name: "plain_tool", description: "A plain tool", params_schema: { type: "object" }, return_schema: null }]
  },
  "client:get_desktop": { desktops: ["window://plain/board\n\nplain words"] },
  "client:tool_call": { content: [{ type: "text", text: "plain result" }], isError: false }
}

/** Replies as a Computer that knows the oldest requests of the protocol only. */
const answers: Answers = ({ req_id }, answer, event) =>
  answer(event in contents ? { ...contents[event], req_id } : { code: 400, message: `Unknown event ${event}` })

describePages("office page with members of other implementations", () => {
  const parts = new LiveParts()
  let url = ""
  const { openUrl } = useLivePages(parts, async () => {
    ;({ url } = (await parts.server()).service)
    await parts.run(joinOffice({ url }, "computer", "plain", address.office, { answers }))
  })
  const open = (view: OfficeViewName, parameters?: { readonly [name: string]: string }) =>
    openUrl(`${url}/office/${officeHash(address, view, parameters)}`)

  it("shows that the states are not available", async () => {
    const { page } = await open("overview", { computer: "plain" })
    const card = cardOf(page, "Computer plain")
    await card.getByText("This information is not available from the implementation of this Computer.").waitFor()
  })

  it("shows the version and the name of the member, and disconnects it", async () => {
    await parts.run(joinOffice({ url }, "computer", "second", address.office, { answers }))
    const { page } = await open("overview", { computer: "second" })
    await cardOf(page, "Computer second").getByText("0.2.0").waitFor()
    await page.getByRole("button", { name: "Disconnect second" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click()
    await cardOf(page, "Computer second").waitFor({ state: "detached" })
  })

  it("shows tools without rules of consent", async () => {
    const { page } = await open("tools", { tool: "plain_tool", computer: "plain" })
    await page.getByText("not known: the Computer does not report its rules").waitFor()
  })

  it("shows windows", async () => {
    const { page } = await open("windows")
    await page.getByText("plain words").waitFor()
  })

  it("shows the error of a Computer without documents", async () => {
    const { page } = await open("documents")
    await page.getByText(/Unknown event client:get_finder/).waitFor()
  })

  it("calls tools as the Agent, but not beside an Agent", async () => {
    const { page } = await open("tools", { tool: "plain_tool", computer: "plain" })
    await page.getByRole("button", { name: "Run" }).click()
    await page.getByText("plain result", { exact: true }).waitFor()
    await page.getByText("no Agent, 1 Computer").waitFor()
    const agent = await parts.run(joinOffice({ url }, "agent", "plain-agent", address.office))
    await page.getByText("This Computer does not run calls of operators while the office has an Agent.").waitFor()
    await page.getByRole("button", { name: "Run" }).click()
    await page.getByText(/The office has the Agent 'plain-agent'/).waitFor()
    await parts.run(agent.close)
  })
})
