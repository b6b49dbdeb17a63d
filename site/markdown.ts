import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import type { MarkdownRenderer } from "vitepress"
import { drawDiagram } from "./diagrams.ts"
import { navigation, pages, resolveLink, root, titleOf } from "./pages.ts"

const fileOf = (env: { readonly path?: string; readonly realPath?: string }): string =>
  relative(root, env.realPath ?? env.path ?? "").replaceAll("\\", "/")

/** Links work as on GitHub, and code blocks of Mermaid are drawn with the heading above them as their name. */
export const configureMarkdown = (md: MarkdownRenderer): void => {
  md.core.ruler.push("repository_links", ({ env, tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const target = token.type === "link_open" ? resolveLink(fileOf(env), token.attrGet("href") ?? "") : undefined
      if (target !== undefined) token.attrSet("href", target)
    }
  })
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const { content = "", info = "" } = tokens[index] ?? {}
    if (info.trim() !== "mermaid") return fence?.(tokens, index, options, env, self) ?? ""
    const heading = tokens.slice(0, index).findLastIndex(({ type }) => type === "heading_open")
    const name = tokens[heading + 1]?.content ?? ""
    return `<div class="diagram" tabindex="0" role="img" aria-label="Diagram: ${md.utils.escapeHtml(name)}" v-pre>${drawDiagram(content)}</div>\n`
  }
}

/** Links of a document for its copy on the site, outside of code. */
const relink = (file: string, base: string, text: string): string =>
  text
    .split(/(^```.*?^```$|`[^`\n]*`)/ms)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\]\(([^)\s]+)\)/g, (link, href: string) => {
            const target = resolveLink(file, href)
            return target === undefined ? link : `](${target.replace(/^\//, base)})`
          })
    )
    .join("")

/** Writes the Markdown of each page beside its HTML, and `llms.txt`, which lists them. */
export const writeMarkdown = (outDir: string, base: string): void => {
  for (const [file, path] of pages) {
    const target = join(outDir, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, relink(file, base, readFileSync(join(root, file), "utf8")))
  }
  const sections = navigation.map(
    ({ items, text }) =>
      `## ${text}\n\n${items.map(({ file }) => `- [${titleOf(file)}](${base}${pages.get(file)})`).join("\n")}\n`
  )
  const { description } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly description: string
  }
  writeFileSync(join(outDir, "llms.txt"), [`# a2c-smcp\n\n> ${description}\n`, ...sections].join("\n"))
}
