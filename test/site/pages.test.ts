import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { listFiles } from "../listFiles.ts"
import { chineseNavigation, frontPage, navigation, pages, resolveLink, slugify } from "../../site/pages.ts"

/** The text of a document without its code blocks. */
const proseOf = (file: string): string => readFileSync(file, "utf8").replaceAll(/^\s*```.*?^\s*```$/gms, "")

/** The anchors of the headings as GitHub makes them: repeated ones have a number. */
const anchorsOf = (document: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const [, heading = ""] of document.matchAll(/^#+ (.*)$/gm)) {
    const slug = slugify(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"))
    const repeated = Array.from({ length: 100 }, (_, number) => (number === 0 ? slug : `${slug}-${number}`))
    anchors.add(repeated.find((anchor) => !anchors.has(anchor)) ?? slug)
  }
  return anchors
}

const anchors = new Map([...pages].map(([file, path]) => [path, anchorsOf(proseOf(file))]))

/** The error of a link in a document. */
const check = (file: string, href: string): string | undefined => {
  const own = href.startsWith("#") ? `/${pages.get(file)}${href}` : undefined
  let target: string | undefined
  try {
    target = own ?? resolveLink(file, href)
  } catch (error) {
    return String(error)
  }
  const [, path = "", anchor] = /^\/([^#]+)(?:#(.+))?$/.exec(target ?? "") ?? []
  if (anchor === undefined || anchors.get(path)?.has(decodeURIComponent(anchor)) === true) return undefined
  return `no heading ${href}`
}

describe("a link of a document", () => {
  for (const file of [frontPage.file, ...pages.keys()]) {
    it(`resolves to a file, and to a heading in it, in ${file}`, () => {
      const links = [...proseOf(file).matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].map(([, href = ""]) => href)
      assert.deepStrictEqual(
        links.flatMap((href) => check(file, href) ?? []),
        []
      )
    })
  }

  it("fails for a missing file and for a missing heading", () => {
    assert.include(check("docs/cli.md", "missing.md"), "does not exist")
    assert.include(check("docs/cli.md", "../README.md#missing"), "no heading")
    assert.isUndefined(check("docs/cli.md", "../README.md#five-minutes"))
  })
})

/** Documents for people who change the project. */
const forMaintainers = /^(?:ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md$/

/** What a reader of the documents cannot look up: documents of origin, and sections of a specification without a link. */
const unknownSources = /\bseed (?:0\d\d|document)|\bthe seed's?\b|\bspec §|(?<!\[)§ ?\d(?![^[\]]*\]\()/

describe("a document for users", () => {
  it("names no source without a link", () => {
    const files = [frontPage.file, ...pages.keys()].filter((file) => !forMaintainers.test(file))
    assert.deepStrictEqual(
      files.filter((file) => unknownSources.test(readFileSync(file, "utf8"))),
      []
    )
    for (const planted of ["as in seed 002", "see spec §4.2", "(§ 7)"]) assert.match(planted, unknownSources)
    assert.notMatch("[§ 7 of MCP](https://x.org) and seed 42", unknownSources)
  })
})

describe("recording of the demo", () => {
  it("has the steps that the demo has; npm run site:record makes a new one", () => {
    const recorded = readFileSync("site/home/demo.svg", "utf8")
    const steps = [...recorded.matchAll(/class="step"[^>]*>\d  (.*?)(?:  \([\d.]+ s\))?<\/text>/g)].map(
      ([, step = ""]) => step
    )
    assert.isAbove(steps.length, 5)
    const demo = listFiles("src/main/demo")
      .map((file) => readFileSync(file, "utf8"))
      .join("\n")
    assert.deepStrictEqual(
      steps.filter((step) => !demo.includes(step)),
      []
    )
  })
})

describe("navigation of the site", () => {
  const files = [...navigation, ...chineseNavigation].flatMap(({ items }) => items.map(({ file }) => file))

  it("has every document once, except the records of decisions", () => {
    const expected = [...pages.keys()].filter((file) => !/^docs\/decisions\/\d/.test(file))
    assert.deepStrictEqual(files.toSorted(), expected.toSorted())
  })

  it("gives every page another address", () => {
    assert.strictEqual(new Set(pages.values()).size, pages.size)
  })
})
