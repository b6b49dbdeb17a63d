import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { chineseNavigation, navigation, pages } from "../../site/pages.ts"
import { describePages, usePages } from "../page/scripted/usePages.ts"
import { base, buildSite, existsOnSite, filesOfSite, serveSite } from "./BuiltSite.ts"

/** On a busy machine. */
const buildTimeout = 600_000

beforeAll(buildSite, buildTimeout)

/** The values of an attribute in a page. */
const valuesOf = (html: string, attribute: string): ReadonlyArray<string> =>
  [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) =>
    value.replaceAll("&amp;", "&")
  )

/** The links of the pages without a target on the site: each with its page. */
const brokenLinks = (html: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const anchors = new Map([...html].map(([path, text]) => [path, new Set(valuesOf(text, "id"))]))
  return [...html].flatMap(([path, text]) =>
    [...valuesOf(text, "href"), ...valuesOf(text, "src")].flatMap((link) => {
      const { hash, host, pathname } = new URL(link, `http://site${path}`)
      if (host !== "site") return []
      const target = decodeURIComponent(pathname.replace(/\/$/, "/index.html"))
      const isFound =
        existsOnSite(target) && (hash === "" || anchors.get(target)?.has(decodeURIComponent(hash.slice(1))))
      return isFound === true ? [] : [`${path}: ${link}`]
    })
  )
}

describe("site", () => {
  it("has a page for every document, with its Markdown beside it", () => {
    const [html, markdown] = [filesOfSite(".html"), filesOfSite(".md")]
    for (const path of pages.values()) {
      assert.isTrue(html.has(`${base}${path.replace(/\.md$/, ".html")}`), path)
      assert.isTrue(markdown.has(`${base}${path}`), path)
    }
  })

  it("has a target for every link and every anchor", () => {
    const html = filesOfSite(".html")
    assert.isAbove(html.size, 70)
    assert.deepStrictEqual(brokenLinks(html), [])
    assert.lengthOf(
      brokenLinks(new Map([[`${base}a.html`, '<a href="b.html"><a href="cli.html#none"><a href="#none">']])),
      3
    )
  })

  it("lists its pages in llms.txt, as Markdown", () => {
    const text = filesOfSite("llms.txt").get(`${base}llms.txt`) ?? ""
    const listed = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, path = ""]) => path)
    const files = navigation.flatMap(({ items }) => items.map(({ file }) => `${base}${pages.get(file)}`))
    assert.deepStrictEqual(listed, files)
    assert.deepStrictEqual(
      [...filesOfSite(".md")].flatMap(([path, document]) =>
        [...document.matchAll(/\]\((\/[^)#]+)/g)].flatMap(([, link = ""]) =>
          existsOnSite(link) ? [] : `${path}: ${link}`
        )
      ),
      []
    )
  })
})

describePages("site in a browser", () => {
  const closing = new AsyncDisposableStack()
  afterAll(() => closing.disposeAsync())
  const { openUrl } = usePages()
  let served: ReturnType<typeof serveSite> | undefined

  const openPage = async (path: string) => {
    served ??= serveSite().then((site) => closing.use(site))
    const { origin } = await served
    const requested: Array<string> = []
    const opened = await openUrl(`${origin}${base}${path}`, "main h1", async (page: Page) => {
      await page.route("**", (route) => {
        const url = route.request().url()
        if (url.startsWith(origin) || url.startsWith("data:")) return route.continue()
        requested.push(url)
        return route.abort()
      })
    })
    return { ...opened, requested }
  }

  const kinds = [
    ["the first page", "index.html"],
    ["a page with diagrams", "architecture.html"],
    ["a page with pictures", "office-page.html"],
    ["a page with tables", "reference/commands.html"],
    ["a page with foldable parts", "reliability.html"],
    ["a list of records", "decisions/index.html"],
    ...(chineseNavigation.length > 0 ? [["a page in Chinese", "zh/index.html"] as const] : [])
  ] as const

  for (const [kind, path] of kinds) {
    it(`has no violation of axe, and requests nothing from other hosts, on ${kind} in both themes`, async () => {
      const { accessibilityFindings, page, requested } = await openPage(path)
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme })
        await page.locator(colorScheme === "dark" ? "html.dark" : "html:not(.dark)").waitFor({ state: "attached" })
        const isDrawn = `[data-theme="${colorScheme === "dark" ? "dark" : "default"}"]`
        await page.locator(`.diagram:not(${isDrawn})`).first().waitFor({ state: "detached" })
        assert.deepStrictEqual(await accessibilityFindings(), [], colorScheme)
      }
      assert.deepStrictEqual(requested, [])
    })
  }

  const drawn = [...pages].filter(([file]) => readFileSync(file, "utf8").includes("```mermaid"))

  for (const [file, path] of drawn) {
    it(`draws every diagram of ${file}`, async () => {
      const { page } = await openPage(path.replace(/\.md$/, ".html"))
      await page.locator(".diagram:not(:has(svg))").first().waitFor({ state: "detached" })
      assert.isAbove(await page.getByRole("img", { name: "Diagram: " }).count(), 0)
    })
  }

  const searches = [
    ["index.html", "A2C_NODE_ADDRESS", "Environment variables"],
    ...(chineseNavigation.length > 0 ? [["zh/index.html", "服务器", "概念"] as const] : [])
  ] as const

  for (const [path, words, title] of searches) {
    it(`finds a page by ${words}, without other hosts`, async () => {
      const { page, requested } = await openPage(path)
      await page.keyboard.press("Control+k")
      await page.locator("#localsearch-input").fill(words)
      await page.locator(".VPLocalSearchBox .result", { hasText: title }).first().click()
      await page.locator("main h1", { hasText: title }).waitFor()
      assert.deepStrictEqual(requested, [])
    })
  }

  it("finds a planted violation and a planted request", async () => {
    const { accessibilityFindings, page, requested } = await openPage("cli.html")
    await page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    assert.include((await accessibilityFindings()).join(), "label: <input>")
    await page.evaluate("fetch('http://127.0.0.1:9/font').catch(() => undefined)")
    assert.deepStrictEqual(requested, ["http://127.0.0.1:9/font"])
  })
})
