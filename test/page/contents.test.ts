import { assert, describe, it } from "@effect/vitest"
import type { DocumentSummary } from "../../src/domain/model/messages/requests.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { withReplies } from "./scripted/preparations.ts"
import { makeBatch, startTime, team } from "./scripted/pageFixtures.ts"
import { RejectedCommand, type ScriptedServer } from "./scripted/ScriptedServer.ts"

const desktop = "#/office/0.2/team/windows"
const documents = "#/office/0.2/team/documents"

const withWindows = (...windows: ReadonlyArray<string>) => withReplies({ GetDesktop: () => ({ desktops: windows }) })

const updated = (part: "desktop" | "finder") =>
  makeBatch([{ _tag: "Updated", ...team, computer: "desk", part, at: startTime }])

const makeDocument = (title: string): DocumentSummary => ({
  docRef: title,
  uri: `dpe://notes/${title}`,
  fileUri: `file:///${title}`,
  fileType: "pdf",
  title,
  pageCount: 1,
  server: "notes"
})

const catalogue = Array.from({ length: 45 }, (_, index) => makeDocument(`report ${index + 1}`))

const withDocuments = (server: ScriptedServer): void => {
  server.replies.FindDocuments = ({ keywords = [], offset = 0 }) => {
    const found = catalogue.filter(({ title }) => keywords.every((word) => title.includes(word)))
    return { documents: found.slice(offset, offset + 20), totalCount: found.length }
  }
  server.replies.GetDocument = ({ uri }) => ({ mimeType: "text/markdown", text: `# Text of ${uri}`, isTruncated: true })
}

describePages("office page", () => {
  const { open } = usePages()

  describe("desktop", () => {
    it("shows windows in their order, and marks those of the full screen", async () => {
      const windows = ["window://notes/b?fullscreen=true\n\nfirst", "window://files/a\n\nsecond"]
      const { page } = await open(desktop, withWindows(...windows))
      const items = page.getByRole("listitem")
      await items.getByText("second").waitFor()
      assert.match(
        (await items.nth(0).textContent()) ?? "",
        /window:\/\/notes\/b\?fullscreen=true.*full screen.*first/s
      )
      assert.notInclude((await items.nth(1).textContent()) ?? "", "full screen")
    })

    it("renders Markdown, and shows its text on demand", async () => {
      const text = "| key | value |\n|---|---|\n| one | **two** |"
      const { page } = await open(desktop, withWindows(`window://notes/a\n\n${text}`))
      await page.getByRole("cell", { name: "two" }).waitFor()
      await page.getByLabel("Show windows as").selectOption("text")
      await page.getByText("| one | **two** |").waitFor()
      assert.strictEqual(await page.getByRole("table").count(), 0)
      await page.getByLabel("Show windows as").selectOption("markdown")
      await page.getByRole("table").waitFor()
    })

    it("fetches the windows again after an update, and highlights the changed ones", async () => {
      const { page, server } = await open(desktop, withWindows("window://a/1\n\nsame", "window://a/2\n\nold"))
      await page.getByText("old").waitFor()
      assert.strictEqual(await page.locator(".window.changed").count(), 0)
      withWindows("window://a/1\n\nsame", "window://a/2\n\nnew")(server)
      server.send(updated("desktop"))
      await page.getByText("new").waitFor()
      await page.locator(".window.changed", { hasText: "window://a/2" }).waitFor()
      assert.strictEqual(await page.locator(".window.changed", { hasText: "window://a/1" }).count(), 0)
    })

    it("states that a desktop is empty", async () => {
      const { page } = await open(desktop)
      await page.getByText("The desktop of this Computer is empty.").waitFor()
    })

    it("shows the error of a Computer", async () => {
      const { page } = await open(desktop, ({ replies }) => {
        replies.GetDesktop = () => new RejectedCommand(408, "the Computer does not reply")
      })
      await page.getByText("the Computer does not reply (408)").waitFor()
    })
  })

  describe("documents", () => {
    it("searches by keywords", async () => {
      const { page } = await open(documents, withDocuments)
      await page.getByText("1 to 20 of 45").waitFor()
      await page.getByLabel("Keywords").fill("report 45")
      await page.getByLabel("Keywords").press("Enter")
      await page.getByRole("button", { name: "report 45" }).waitFor()
      assert.strictEqual(await page.getByRole("button", { name: "report 1", exact: true }).count(), 0)
    })

    it("keeps typed keywords while the page changes", async () => {
      const { page, server } = await open(documents, withDocuments)
      await page.getByText("1 to 20 of 45").waitFor()
      await page.getByLabel("Keywords").pressSequentially("report 4")
      server.replies.FindDocuments = ({ keywords = [] }) => ({
        documents: [makeDocument(keywords.join("+"))],
        totalCount: 1
      })
      server.send(updated("finder"))
      await page.getByText("1 to 20 of 45").waitFor({ state: "detached" })
      await page.getByLabel("Keywords").pressSequentially("5")
      await page.getByLabel("Keywords").press("Enter")
      await page.getByRole("button", { name: "report+45" }).waitFor()
    })

    it("shows further documents page by page", async () => {
      const { page } = await open(documents, withDocuments)
      await page.getByRole("button", { name: "Next" }).click()
      await page.getByText("21 to 40 of 45").waitFor()
      await page.getByRole("button", { name: "Next" }).click()
      await page.getByRole("button", { name: "report 45" }).waitFor()
      assert.isTrue(await page.getByRole("button", { name: "Next" }).isDisabled())
      await page.getByRole("button", { name: "Previous" }).click()
      await page.getByText("21 to 40 of 45").waitFor()
    })

    it("shows the text of the chosen document, which the address names", async () => {
      const { page } = await open(documents, withDocuments)
      await page.getByRole("button", { name: "report 2", exact: true }).click()
      await page.getByText("Text of dpe://notes/report 2").waitFor()
      await page.getByText("text/markdown, only the first part").waitFor()
      await page.reload()
      await page.getByText("Text of dpe://notes/report 2").waitFor()
    })

    it("fetches the list again after an update", async () => {
      const { page, server } = await open(documents, withDocuments)
      await page.getByText("1 to 20 of 45").waitFor()
      server.replies.FindDocuments = () => ({ documents: [makeDocument("minutes")], totalCount: 1 })
      server.send(updated("finder"))
      await page.getByRole("button", { name: "minutes" }).waitFor()
    })

    it("states that nothing matches", async () => {
      const { page } = await open(`${documents}?q=other`, withDocuments)
      await page.getByText("This Computer has no such documents.").waitFor()
    })
  })
})
