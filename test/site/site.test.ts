import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { chineseNavigation, navigation, pages } from "../../site/pages.ts"
import { search } from "../../site/search.ts"
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

/** The Mermaid sources of a document, and the texts of their nodes. */
const diagramsOf = (document: string) =>
  [...document.matchAll(/^```mermaid\n(.*?)^```/gms)].map(([, source = ""]) => source)

const labelsOf = (source: string): ReadonlyArray<string> =>
  source.startsWith("flowchart")
    ? [...source.matchAll(/\w(?:\(\[|\[\(|\{\{|[[{(])"?([^"[\](){}]+)"?(?:\]\)|\)\]|\}\}|[\]})])/g)].map(
        ([, label = ""]) => label
      )
    : [...source.matchAll(/ as (.+)$/gm)].map(([, label = ""]) => label)

describe("diagram of the site", () => {
  const drawn = [...pages].filter(([file]) => readFileSync(file, "utf8").includes("```mermaid"))

  it("is in documents", () => assert.isAbove(drawn.length, 10))

  it.each(drawn)("stands in the HTML of %s with the texts of its nodes", (file, path) => {
    const html = filesOfSite(".html").get(`${base}${path.replace(/\.md$/, ".html")}`) ?? ""
    const diagrams = html.split('class="diagram"').slice(1)
    const sources = diagramsOf(readFileSync(file, "utf8"))
    assert.strictEqual(diagrams.length, sources.length)
    for (const [index, source] of sources.entries()) {
      const texts = (diagrams[index]?.split("</svg>")[0] ?? "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ")
      for (const label of labelsOf(source)) {
        for (const part of label.split(/<br\/?>/)) assert.include(texts.replaceAll("&amp;", "&"), part.trim())
      }
    }
  })

  it("loads nothing: the site has no script of Mermaid, and its diagrams no style sheet", () => {
    assert.deepStrictEqual(
      [...filesOfSite(".js").keys()].filter((name) => /mermaid/i.test(name)),
      []
    )
    for (const [path, html] of filesOfSite(".html")) assert.notMatch(html, /@import|<svg[^>]*>\s*<style/, path)
  })
})

/** Questions of readers, and the pages of which one stands among the first results. */
const questions: ReadonlyArray<readonly [question: string, most: number, pages: string]> = [
  ["cancel a call", 1, "concepts.html#delivery-and-cancelling"],
  ["upload a file", 1, "configuration.html#uploads"],
  ["approve a call from a phone", 3, "configuration.html#remote-approvals office-page.html#needs-you"],
  ["find a failed call", 3, "office-page.html#find-a-failed-call"],
  ["write an MCP app", 1, "how-to/mcp-app.html#write-an-mcp-server-with-an-app"],
  ["MCP server does not start", 1, "troubleshooting.html#mcp-servers-that-do-not-start"],
  ["No Computer is in this office", 3, "troubleshooting.html#messages-of-the-command-line"],
  ["The API key is not valid", 3, "troubleshooting.html#messages-of-the-command-line"],
  ["call denied by the policy", 3, "troubleshooting.html#computer"],
  ["behind a proxy", 3, "how-to/nginx.html#behind-nginx"],
  ["connect claude desktop", 2, "how-to/claude-desktop.html#claude-desktop-with-three-machines"],
  ["device in python", 1, "devices.html#a-device-in-python"],
  ["write a tool in python", 1, "packs.html#python-packs"],
  ["why does a call fail with a timeout", 1, "troubleshooting.html#failed-tool-calls"],
  ["error 4005", 2, "troubleshooting.html#error-codes troubleshooting.html#failed-tool-calls"],
  ["limit requests per second", 3, "limits.html#server-limits"],
  ["run several servers with redis", 1, "cluster.html#several-nodes"],
  ["ask the user a question", 2, "programs.html#questions configuration.html#questions"],
  ["keep secrets out of configuration", 3, "cli.html#secrets"],
  ["see the office in a browser", 3, "office-page.html#office-page"],
  ["use the openai agents sdk", 1, "how-to/llm-sdks.html#llm-sdks"],
  ["which versions of node are supported", 1, "versions.html#node-and-other-runtimes"],
  ["protocol version mismatch", 1, "protocol-lines.html#protocol-lines"],
  ["metrics prometheus", 3, "server.html#metrics deployment.html#alerts-and-dashboard"],
  ["large results", 1, "mcp.html#large-results"],
  ["A2C_NODE_ADDRESS", 2, "reference/variables.html#environment-variables"],
  ["connectAgent", 1, "reference/exports-promise.html#connectagent"]
]

describe("search of the site", () => {
  const findPages = async (question: string): Promise<ReadonlyArray<string>> => {
    const [name = ""] = [...filesOfSite(".js").keys()].filter((path) => path.includes("localSearchIndexroot"))
    const { default: index } = (await import(resolve("node_modules/.cache/site", name.slice(base.length)))) as {
      readonly default: string
    }
    const MiniSearch = createRequire(resolve("site/package.json"))("minisearch") as {
      loadJSON(json: string, options: object): { search(query: string): ReadonlyArray<{ readonly id: string }> }
    }
    // The fields are those of VitePress.
    const fields = { fields: ["title", "titles", "text"], storeFields: ["title", "titles"] }
    const found = MiniSearch.loadJSON(index, { ...fields, ...search.options, searchOptions: search.searchOptions })
    return found.search(question).map(({ id }) => id.slice(base.length))
  }

  it.each(questions)("answers '%s' among the first %i", async (question, most, expected) => {
    const found = await findPages(question)
    assert.isTrue(
      found.slice(0, most).some((page) => expected.split(" ").includes(page)),
      found.slice(0, 10).join("\n")
    )
  })

  it("lists guides before the reference", async () => {
    const found = await findPages("office")
    const isReference = (path: string) => path.startsWith("reference/")
    assert.isAbove(found.findIndex(isReference), 10)
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
    ["the front page", "index.html"],
    ["the overview", "overview.html"],
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
        assert.deepStrictEqual(await accessibilityFindings(), [], colorScheme)
      }
      assert.deepStrictEqual(requested, [])
    })
  }

  it("shows a readable diagram in both themes, without a script", async () => {
    const { page } = await openPage("concepts.html")
    const colours = []
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme })
      await page.locator(colorScheme === "dark" ? "html.dark" : "html:not(.dark)").waitFor({ state: "attached" })
      colours.push(
        await page.evaluate(
          "['rect', 'text'].map((name) => getComputedStyle(document.querySelector('.diagram .node ' + name)).fill)"
        )
      )
    }
    assert.strictEqual(new Set(colours.flat()).size, 4)
    assert.isAbove(await page.getByRole("img", { name: "Diagram: Delivery and cancelling" }).count(), 0)
  })

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
