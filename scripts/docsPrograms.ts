import { readdirSync, readFileSync } from "node:fs"
import { posix } from "node:path"

/** A program in a document, as a person who follows the section would write it. */
export interface DocsProgram {
  readonly document: string
  readonly section: string
  readonly code: string
}

/**
 * README in both languages, and all documents in docs and its folders, without the decisions, which are not instructions, and
 * the signatures of exports, which are not programs.
 */
export const documents: ReadonlyArray<string> = [
  "README.md",
  "README.zh-CN.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .map((name) => posix.join("docs", name.replaceAll("\\", "/")))
    .filter((name) => name.endsWith(".md") && !/^docs\/(decisions\/|reference\/exports-)/.test(name))
    .sort()
]

/** Documents with parts of programs, or with programs that need other packages. */
const withoutPrograms = [
  "docs/devices.md",
  "docs/how-to/llm-sdks.md",
  "docs/mcp.md",
  "docs/packs.md",
  "docs/protocol-lines.md"
]

/** The TypeScript programs of the documents: the blocks of each section, in their order. */
export const docsPrograms = (): ReadonlyArray<DocsProgram> =>
  documents
    .filter((document) => !withoutPrograms.includes(document))
    .flatMap((document) =>
      readFileSync(document, "utf8")
        .split(/^## /m)
        .map((section) => ({
          document,
          section: section.split("\n", 1)[0] ?? "",
          code: [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = ""]) => block).join("\n")
        }))
        .filter(({ code }) => code !== "")
    )

/** The strict options that documented programs compile with. */
export const programOptions = {
  module: "NodeNext",
  target: "ES2024",
  lib: ["ES2024", "ESNext.Disposable", "DOM"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
  verbatimModuleSyntax: true,
  noEmit: true
}
