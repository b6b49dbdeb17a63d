import { setTimeout as sleep } from "node:timers/promises"
import type { Page } from "playwright-core"

/** The name of the element that has the focus, as screen readers know it. */
export const focusedName = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const element = document.activeElement
    const label = element.labels?.[0]?.textContent ?? element.textContent
    return (element.getAttribute("aria-label") ?? label).trim()
  })()`)

/** Waits until a condition holds; the timeout of the test ends it. */
export const waitUntil = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await sleep(20)
}

/** Elements that Tab may pass before the wanted one. */
const maxTabs = 60

/** Presses Tab until the element with this name has the focus. */
export const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let count = 0; count < maxTabs; count++) {
    await page.keyboard.press("Tab")
    if ((await focusedName(page)) === name) return
  }
  throw new Error(`Tab does not reach ${name}`)
}
