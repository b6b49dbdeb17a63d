import { assert, describe, it } from "@effect/vitest"
import { describePages, usePages } from "./scripted/usePages.ts"
import { withSnapshot, withSession, withInspection } from "./scripted/preparations.ts"
import {
  agent,
  makeBatch,
  makeCall,
  makeInspection,
  makeMember,
  makeWaitingCall,
  startTime,
  team
} from "./scripted/pageFixtures.ts"

const members = "#/office/0.2/team/overview?computer=desk"

const withoutFeatures = withSnapshot({
  members: [agent, makeMember({ features: { inspection: false, operatorCalls: false, approvals: false } })]
})

describePages("office page", () => {
  const { open } = usePages()

  describe("overview", () => {
    it("draws Agents, the Server, Computers and what they drive, with their calls and states", async () => {
      const { page } = await open("#/office/0.2/team", (server) => {
        withInspection()(server)
        withSnapshot({ calls: [makeCall(), makeWaitingCall({ id: "2" })] })(server)
      })
      await page
        .getByRole("list", { name: "Agents" })
        .getByRole("link", { name: "brain 1 waiting, 1 running" })
        .waitFor()
      await page.getByRole("link", { name: "Server 0 calls/s" }).waitFor()
      const computers = page.getByRole("list", { name: "Computers" })
      await computers.getByRole("link", { name: "desk 1 waiting, 1 running" }).waitFor()
      for (const name of ["notes ready", "files failing", "lamp connected"]) {
        await computers.getByRole("link", { name, exact: true }).waitFor()
      }
    })

    it("moves running calls, except for users that prefer reduced motion", async () => {
      const { page } = await open("#/office/0.2/team", withSnapshot({ calls: [makeCall()] }))
      await page.getByRole("link", { name: "desk 1 running" }).waitFor()
      const animation = () =>
        page.evaluate("getComputedStyle(document.querySelector('.flow'), '::before').animationName")
      assert.strictEqual(await animation(), "move")
      await page.emulateMedia({ reducedMotion: "reduce" })
      assert.strictEqual(await animation(), "none")
      await page.emulateMedia({ reducedMotion: null })
    })

    it("opens the details of a member that is chosen in the picture", async () => {
      const { page } = await open("#/office/0.2/team", withInspection())
      await page.getByRole("link", { name: /^brain/ }).click()
      await page.getByRole("heading", { name: "Agent brain" }).waitFor()
      await page.getByRole("link", { name: /^files failing/ }).click()
      await page.getByRole("heading", { name: "Computer desk" }).waitFor()
    })

    it("draws few of 200 Computers, and lists the others on demand", async () => {
      const members = Array.from({ length: 200 }, (_, index) => makeMember({ sid: `${index}`, name: `c${index}` }))
      const { page } = await open("#/office/0.2/team", withSnapshot({ members }))
      await page.getByText("188 more Computers").click()
      await page.getByRole("link", { name: "c199", exact: true }).click()
      await page.getByRole("heading", { name: "Computer c199" }).waitFor()
    })

    it("lists the latest calls, which open their details", async () => {
      const { page } = await open("#/office/0.2/team", withSnapshot({ calls: [makeCall({ tool: "read_file" })] }))
      await page.getByRole("link", { name: /^running read_file desk/ }).click()
      await page.getByRole("region", { name: "Call", exact: true }).getByText("read_file").first().waitFor()
    })

    it("shows each member with its version, subject and node", async () => {
      const { page } = await open(members)
      const section = page.locator("section").filter({ hasText: "Computer desk" })
      for (const text of ["0.2.0", "desk-key", "n1"]) await section.getByText(text, { exact: true }).waitFor()
      await page.getByText("1 Agent, 1 Computer, 0 calls/s").waitFor()
    })

    it("offers on the page of an Agent no command of the Server", async () => {
      const { page } = await open("", withSession({ office: team }), withInspection())
      await page.getByRole("link", { name: /^desk/ }).click()
      await page.getByRole("heading", { name: "Computer desk" }).waitFor()
      await page.getByText("to the page of their Server only").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /Disconnect/ }).count(), 0)
    })

    it("shows members as they enter and leave", async () => {
      const { page, server } = await open(members)
      server.send(makeBatch([{ _tag: "Entered", member: makeMember({ sid: "sid-2", name: "printer" }) }]))
      await page.getByRole("link", { name: /^printer/ }).waitFor()
      server.send(makeBatch([{ _tag: "Left", sid: "sid-2", at: startTime }]))
      await page.getByRole("link", { name: /^printer/ }).waitFor({ state: "detached" })
    })

    it("shows the MCP servers of a Computer with state, counts and restarts", async () => {
      const { page } = await open(members, withInspection())
      await page.getByRole("row", { name: /^notes ready 3 d 5 h 2 1 0/ }).waitFor()
      await page.getByRole("row", { name: /^files failing exit code 1 2 d 7 h 0 0 4/ }).waitFor()
    })

    it("shows the error output of an MCP server on demand", async () => {
      const { page } = await open(members, withInspection())
      const output = page.getByText("cannot open /data")
      assert.isFalse(await output.isVisible())
      await page.getByText("2 lines").click()
      await output.waitFor()
    })

    it("replaces the states when the Computer reports other ones", async () => {
      const { page, server } = await open(members, withInspection())
      await page.getByRole("cell", { name: /failing/ }).waitFor()
      const servers = [{ name: "files", state: "ready", since: startTime, restarts: 5, tools: 9, windows: 0 }] as const
      const inspection = makeInspection({ servers })
      server.send(makeBatch([{ _tag: "Inspected", ...team, computer: "desk", inspection }]))
      await page.getByRole("row", { name: /^files ready .* 9 0 5/ }).waitFor()
      assert.strictEqual(await page.getByText("failing").count(), 0)
    })

    it("states that other implementations report neither MCP servers nor devices", async () => {
      const { page } = await open(members, withoutFeatures)
      await page.getByText("not available from the implementation of this Computer").waitFor()
    })

    it("states that a Computer has not reported yet", async () => {
      const { page } = await open(members)
      await page.getByText("The Computer has not reported its state yet.").waitFor()
    })

    it("names the command that starts an Agent for an office without one", async () => {
      const { page, server } = await open(members, withSnapshot({ members: [makeMember()] }))
      await page.getByText(`a2c agent ${server.connectionFlags} --office team watch`).waitFor()
    })

    it("names the command that starts a Computer for an empty office", async () => {
      const { page, server } = await open("#/office/0.2/two%20words/overview")
      await page.getByText(`a2c computer ${server.connectionFlags} --office 'two words' --config mcp.json`).waitFor()
    })
  })

  describe("devices and packs", () => {
    it("lists devices and packs with their states and services", async () => {
      const { page } = await open(members, (server) => {
        const inspection = makeInspection({
          parts: [
            { kind: "device", name: "lamp", state: "faulty", reason: "no frame", offers: ["switch", "dim"] },
            { kind: "pack", name: "shell-tools", state: "active", offers: ["run"] }
          ]
        })
        server.firstEvents = [{ _tag: "Inspected", ...team, computer: "desk", inspection }]
      })
      await page.getByRole("row", { name: "lamp Device faulty no frame switch, dim" }).waitFor()
      await page.getByRole("row", { name: "shell-tools Pack active run" }).waitFor()
    })

    it("states that a Computer has neither", async () => {
      const { page } = await open(members, withInspection({ parts: [] }))
      await page.getByText("This Computer has neither devices nor tool packs.").waitFor()
    })
  })
})
