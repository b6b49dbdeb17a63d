import { readFileSync } from "node:fs"

/** A program in a document, as a person who follows the section would write it. */
export interface DocsProgram {
  readonly document: string
  readonly section: string
  readonly code: string
}

const documents = ["README.md", "docs/programs.md"]

/** The TypeScript programs of README and docs/programs.md: the blocks of each section, in their order. */
export const docsPrograms = (): ReadonlyArray<DocsProgram> =>
  documents.flatMap((document) =>
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
