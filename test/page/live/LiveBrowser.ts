import { afterAll, beforeAll } from "@effect/vitest"
import type { Locator, Page } from "playwright-core"
import { browserTimeout } from "../../programs/launchChromium.ts"
import { PageBrowser } from "../scripted/PageBrowser.ts"

/** A browser and resources for the tests of a `describe`. */
export const useBrowser = <R extends AsyncDisposable>(resource: R, start: () => Promise<unknown>) => {
  const browser = new PageBrowser()
  beforeAll(start, browserTimeout)
  afterAll(async () => {
    await browser.close()
    await resource[Symbol.asyncDispose]()
  }, browserTimeout)
  return browser
}

/** The section with this heading, such as that of a member. */
export const cardOf = (page: Page, heading: string): Locator =>
  page.locator("section.card").filter({ has: page.getByRole("heading", { name: heading, exact: true }) })

/** The row of a table with this header. */
export const rowOf = (within: Locator, header: string): Locator =>
  within.locator("tr").filter({ has: within.page().getByRole("rowheader", { name: header, exact: true }) })
