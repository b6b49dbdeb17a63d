import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { posix } from "node:path"
import { assert, describe, it } from "@effect/vitest"

interface Archive {
  readonly files: ReadonlyArray<{ readonly path: string }>
}

/** The files that `npm pack` includes, without those that the build makes. */
const archivedFiles = (): ReadonlyArray<string> => {
  const json = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"]
  })
  const [archive] = JSON.parse(json) as ReadonlyArray<Archive>
  return archive?.files.map(({ path }) => path) ?? []
}

/** Targets of the relative links and pictures of a Markdown text, outside of code. */
const relativeTargets = (markdown: string): ReadonlyArray<string> => {
  const prose = markdown.replaceAll(/^(`{3,}|~{3,})[^]*?^\1/gm, "").replaceAll(/`[^`\n]*`/g, "")
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s[^)]*)?\)/g)]
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)/gm)]
  const html = [...prose.matchAll(/<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)="([^"\s]+)/g)]
  return [...inline, ...references, ...html]
    .map(([, target = ""]) => target.replace(/#.*$/, ""))
    .filter((target) => target !== "" && !/^[a-z][a-z0-9+.-]*:|^\/\//i.test(target))
}

describe("the packed archive", () => {
  it("finds inline links, pictures, references and HTML, but no links in code", () => {
    const text = [
      "[a](a.md#b) ![p](p.png 'title') [![i](i.png)](l.md) <img alt='' src=\"h.png\"> [r]",
      "",
      "[r]: r.md",
      "[web](https://example.org/x.md) [here](#part) `[code](code.md)`",
      "```md",
      "[fenced](fenced.md)",
      "```"
    ].join("\n")
    assert.sameMembers([...relativeTargets(text)], ["a.md", "p.png", "i.png", "l.md", "r.md", "h.png"])
  })

  it("has every file to which its Markdown links", () => {
    const files = archivedFiles()
    const known = new Set(
      files.flatMap((file) => file.split("/").map((_, end, parts) => parts.slice(0, end + 1).join("/")))
    )
    const documents = files.filter((file) => file.endsWith(".md") && !file.startsWith("dist/"))
    assert.include(documents, "README.md")
    const broken = documents.flatMap((file) =>
      relativeTargets(readFileSync(file, "utf8"))
        .map((target) => posix.join(posix.dirname(file), decodeURI(target)).replace(/\/$/, ""))
        .filter((path) => path !== "." && !known.has(path))
        .map((path) => `${file}: ${path}`)
    )
    assert.deepStrictEqual(broken, [])
  })
})
