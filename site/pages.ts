import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join, posix, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "..")

export const repository = "https://github.com/a2c-smcp/a2c-smcp"

const documentsIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join(folder, name.replaceAll("\\", "/")))
    .sort()

const specialPaths: { readonly [file: string]: string } = {
  "README.md": "overview.md",
  "README.zh-CN.md": "zh/index.md",
  "bench/README.md": "benchmarks.md"
}

/** The place of a document on the site: folders of documents begin with `index.md`, and `docs` is the root. */
const sitePath = (file: string): string => {
  const path = file.replace(/^docs\//, "")
  const special = specialPaths[path]
  if (special !== undefined) return special
  return path === file ? path.toLowerCase() : path.replace(/README\.md$/, "index.md")
}

/** The pages by their files in the repository: every document in docs, and those of the project. */
export const pages: ReadonlyMap<string, string> = new Map(
  [
    "README.md",
    "README.zh-CN.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "bench/README.md",
    ...documentsIn("docs")
  ].map((file) => [file, sitePath(file)])
)

/** The front page, whose Markdown for readers of text is that of the overview. */
export const frontPage = { file: "site/home/index.md", path: "index.md", text: "overview.md" }

/** Documents of the root that are no pages; links lead to the repository. */
export const otherDocuments: ReadonlyArray<string> = readdirSync(root).filter(
  (name) => name.endsWith(".md") && !pages.has(name)
)

/** The first heading of a document. */
export const titleOf = (file: string): string =>
  /^# (.*)$/m.exec(readFileSync(join(root, file), "utf8"))?.[1]?.replaceAll("`", "") ?? file

/**
 * The groups of the navigation in their order. A name with `/` at its end stands for the documents of a folder. Documents
 * that do not exist are left out; documents of no group are in the group "More", except those of the listed folders.
 */
const groups: ReadonlyArray<readonly [group: string, files: ReadonlyArray<string>]> = [
  ["Start", ["README.md", "docs/why.md", "docs/tutorial.md", "docs/concepts.md"]],
  ["How to", ["docs/how-to/"]],
  [
    "Guides",
    [
      "docs/cli.md",
      "docs/configuration.md",
      "docs/programs.md",
      "docs/mcp.md",
      "docs/office-page.md",
      "docs/devices.md",
      "docs/functions.md",
      "docs/webmcp.md",
      "docs/packs.md"
    ]
  ],
  [
    "Operation",
    [
      "docs/server.md",
      "docs/deployment.md",
      "docs/limits.md",
      "docs/cluster.md",
      "docs/security.md",
      "docs/troubleshooting.md"
    ]
  ],
  [
    "Reference",
    ["commands", "variables", "settings", "events", "errors", "log-messages", "metrics"].map(
      (name) => `docs/reference/${name}.md`
    )
  ],
  [
    "Exports",
    ["", "-promise", "-agent", "-main", "-llm", "-tools", "-testing", "-domain"].map(
      (name) => `docs/reference/exports${name}.md`
    )
  ],
  [
    "Compatibility",
    ["docs/protocol-lines.md", "docs/versions.md", "docs/migration.md", "docs/interop.md", "docs/runtimes.md"]
  ],
  [
    "Project",
    [
      "docs/reliability.md",
      "bench/README.md",
      "ARCHITECTURE.md",
      "docs/decisions/README.md",
      "CONTRIBUTING.md",
      "CHANGELOG.md"
    ]
  ]
]

/** Folders whose documents are reached from the document in the navigation, or have one. */
const elsewhere = ["docs/decisions/", "docs/zh/", "README.zh-CN.md"]

const chineseFirst = ["README.zh-CN.md", "docs/zh/tutorial.md", "docs/zh/concepts.md"]

export interface Group {
  readonly text: string
  readonly items: ReadonlyArray<{ readonly text: string; readonly file: string }>
}

const overviews: { readonly [file: string]: string } = {
  "README.md": "Overview",
  "README.zh-CN.md": "概览",
  "docs/reference/exports.md": "Overview"
}

const groupOf = (text: string, files: ReadonlyArray<string>): ReadonlyArray<Group> => {
  const items = files
    .flatMap((name) => (name.endsWith("/") ? [...pages.keys()].filter((file) => file.startsWith(name)) : [name]))
    .filter((file) => pages.has(file))
    .map((file) => ({ file, text: overviews[file] ?? titleOf(file).replace(/^Exports of /, "") }))
  return items.length === 0 ? [] : [{ text, items }]
}

const listed = groups.flatMap(([text, files]) => groupOf(text, files))

const listedFiles = new Set(listed.flatMap(({ items }) => items.map(({ file }) => file)))

export const navigation: ReadonlyArray<Group> = [
  ...listed,
  ...groupOf(
    "More",
    [...pages.keys()].filter((file) => !listedFiles.has(file) && elsewhere.every((folder) => !file.startsWith(folder)))
  )
]

/** The documents in Chinese; without any, there is no Chinese site. */
export const chineseNavigation: ReadonlyArray<Group> = groupOf("文档", [
  ...new Set([...chineseFirst, ...[...pages.keys()].filter((file) => file.startsWith("docs/zh/"))])
])

/**
 * The target of a link on the site: `/PAGE.md#ANCHOR` for a page, and the repository for other files. `undefined` for links
 * that stay unchanged. Fails when the file does not exist.
 */
export const resolveLink = (from: string, href: string): string | undefined => {
  const [, inRepository] = new RegExp(`^${repository}/(?:blob|tree)/main/(.+)$`).exec(href) ?? []
  if (inRepository === undefined && /^(?:[a-z]+:|#|\/\/)/i.test(href)) return undefined
  const [path = "", anchor] = (inRepository ?? posix.join(posix.dirname(from), href)).split("#")
  const fragment = anchor === undefined ? "" : `#${anchor}`
  const page = pages.get(path.replace(/\/$/, "")) ?? pages.get(posix.join(path, "README.md"))
  if (page !== undefined) return `/${page}${fragment}`
  const file = join(root, decodeURIComponent(path))
  if (!existsSync(file)) throw new Error(`${from} links to ${href}, which does not exist`)
  return `${repository}/${statSync(file).isDirectory() ? "tree" : "blob"}/main/${path}${fragment}`
}

/** The anchor of a heading, as GitHub makes it. */
export const slugify = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-")
