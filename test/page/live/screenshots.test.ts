import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { describePages } from "../scripted/usePages.ts"
import { waitUntil } from "../scripted/expectations.ts"
import type { OpenUrl } from "../scripted/usePages.ts"
import { DemoOffice } from "./DemoOffice.ts"
import { useLivePages } from "./useLivePages.ts"

/** With `A2C_SCREENSHOTS=1` the tests write the pictures of docs/office-page.md. */
const isWriting = process.env["A2C_SCREENSHOTS"] === "1"

const folder = join(import.meta.dirname, "../../../docs/office-page")

const sizes = [
  { width: 1280, height: 760 },
  { width: 390, height: 760 }
]
const themes = ["dark", "light"] as const

/** Opens the details of the latest call of a tool. */
const chooseCall = async (page: Page, tool: string): Promise<void> => {
  await page.getByRole("option").filter({ hasText: tool }).first().click()
  await page.getByRole("region", { name: "Call", exact: true }).getByRole("heading", { name: tool }).waitFor()
}

/** Calls that end, one that fails, one that waits for consent, and one that runs on. */
const makeCalls = async (office: DemoOffice): Promise<void> => {
  void office.startCall({
    computer: "lab",
    tool: "trigger-long-running-operation",
    params: { duration: 90, steps: 45 }
  })
  await office.call({ computer: "lab", tool: "add", params: { a: 40, b: 2 } })
  await office.call({ computer: "lab", tool: "trigger-long-running-operation", params: { duration: 3, steps: 3 } })
  await office.call({ computer: "desk", tool: "lamp__switch", params: { on: true } })
  await office.call({ computer: "desk", tool: "make_coffee" })
  await office.call({ computer: "desk", tool: "text_counter", params: { text: "Everything is text" } })
  for (const text of ["Water the plants", "Call the dentist"]) {
    await office.call({ computer: "desk", tool: "add_note", params: { text } })
  }
  void office.startCall({ computer: "desk", tool: "clear_notes" })
}

describePages("office page of the demo", () => {
  const office = new DemoOffice()
  const opened: Array<OpenUrl> = []
  const { openShared } = useLivePages(office, async () => {
    await office.start()
    if (isWriting) await mkdir(folder, { recursive: true })
    // Pages that are open during the calls show their phases and the activity of the office.
    for (const size of sizes) {
      const one = await openShared(office.view("activity"))
      await one.page.setViewportSize(size)
      await one.page.getByText("Connected", { exact: true }).waitFor()
      opened.push(one)
    }
    await makeCalls(office)
    for (const { page } of opened) {
      for (const phase of ["consent", "running", "failed"]) {
        await page.getByRole("option").filter({ hasText: phase }).first().waitFor()
      }
    }
  })

  /** The views with what they show, and how to wait for it. */
  const views: {
    readonly [name: string]: { readonly url: () => string; readonly prepare: (page: Page) => Promise<unknown> }
  } = {
    offices: {
      url: () => `${office.offices}#/offices`,
      prepare: (page) => page.getByText("1 Agent, 2 Computers", { exact: true }).waitFor()
    },
    overview: {
      url: () => office.view("overview"),
      prepare: async (page) => {
        const computers = page.getByRole("list", { name: "Computers" })
        await computers.getByRole("link", { name: /^memory ready/ }).waitFor()
        await computers.getByRole("link", { name: /^calendar failing/ }).waitFor()
      }
    },
    tools: {
      url: () => office.view("tools", { tool: "add_note", computer: "desk" }),
      prepare: async (page) => {
        await page.getByLabel("text *").fill("Buy milk")
        await page.getByRole("button", { name: "Run" }).click()
        await page.getByText("The tool succeeded").waitFor()
        await page.getByRole("button", { name: "Which rule decides?" }).click()
        await page.getByText(/^Decided by .*: the call runs\./).waitFor()
      }
    },
    prompts: {
      url: () => office.view("prompts", { prompt: "args-prompt", server: "everything", computer: "lab" }),
      prepare: async (page) => {
        await page.getByLabel("city *").fill("Oslo")
        await page.getByRole("button", { name: "Get the messages" }).click()
        await page.getByText(/Oslo/).first().waitFor()
      }
    },
    desktop: {
      url: () => office.view("windows"),
      prepare: (page) => page.getByRole("listitem").getByText("Water the plants").first().waitFor()
    },
    calls: { url: () => office.view("activity"), prepare: (page) => chooseCall(page, "add_note") },
    inbox: {
      url: () => office.view("inbox"),
      prepare: (page) => page.getByRole("button", { name: "Allow once: clear_notes", disabled: false }).waitFor()
    },
    documents: {
      url: () => office.view("documents", { computer: "desk", uri: "dpe://a2c.demo.notes/manual.md" }),
      prepare: (page) => page.getByText("The tools of this MCP server change two").waitFor()
    },
    settings: {
      url: () => office.view("settings"),
      prepare: (page) => page.getByRole("button", { name: "Disconnect lab" }).waitFor()
    }
  }

  for (const [name, { prepare, url }] of Object.entries(views)) {
    it(`shows the view ${name} at both widths, and axe finds nothing in both themes`, async () => {
      for (const [index, { width }] of sizes.entries()) {
        const { accessibilityFindings, faults, page } = opened[index] ?? (await openShared(url()))
        await page.goto(url())
        await prepare(page)
        await waitUntil(async () => (await page.getByText("loading", { exact: true }).count()) === 0)
        for (const colorScheme of themes) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
          assert.deepStrictEqual(await accessibilityFindings(), [], `${colorScheme} ${width}`)
        }
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert.isAtMost(Number(overflow), 0, `overflow at ${width}`)
        await page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
        if (isWriting) await page.screenshot({ path: join(folder, `${name}-${width}.png`), animations: "disabled" })
        assert.deepStrictEqual(await faults(), [])
      }
    })
  }
})
