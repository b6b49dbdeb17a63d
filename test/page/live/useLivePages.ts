import { afterAll, beforeAll } from "vitest"
import type { Locator, Page } from "playwright-core"
import { usePages } from "../scripted/usePages.ts"

/** Opens pages for the tests of a `describe`, on resources that start before them. */
export const useLivePages = (resource: AsyncDisposable, start: () => Promise<unknown>) => {
  beforeAll(start)
  afterAll(() => resource[Symbol.asyncDispose]())
  return usePages()
}

/** The section with this heading, such as that of a member. */
export const cardOf = (page: Page, heading: string): Locator =>
  page.locator("section.card").filter({ has: page.getByRole("heading", { name: heading, exact: true }) })

/** The row of a table with this header. */
export const rowOf = (within: Locator, header: string): Locator =>
  within.locator("tr").filter({ has: within.page().getByRole("rowheader", { name: header, exact: true }) })
