import { readFileSync } from "node:fs"
import { errorCodes } from "../../src/domain/model/ProtocolError.ts"
import { ownCodes } from "../../src/main/A2cError.ts"
import { code, firstSentence, page, plain, table } from "./markdown.ts"
import { childOf, childrenOf, docOf, nameOf, readSource, sourceFiles, walk } from "./sources.ts"

/** The tables of docs/troubleshooting.md by the word in their first column. */
const explanations = (): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    [...readFileSync("docs/troubleshooting.md", "utf8").matchAll(/^\| (.*) \|$/gm)].flatMap(([, line = ""]) => {
      const [first = "", ...others] = line.split(" | ")
      const [, from, to] = /^(\d+) – (\d+)$/.exec(first) ?? []
      const keys =
        from === undefined
          ? first.split(", ")
          : Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => String(Number(from) + index))
      return keys.map((key) => [key, others] as const)
    })
  )

/** Links of docs/troubleshooting.md, as seen from the folder of the reference. */
const relink = (text: string): string =>
  text.replaceAll(/\]\((?!https?:|#)/g, "](../").replaceAll("](#", "](../troubleshooting.md#")

const tagRows = (): ReadonlyArray<ReadonlyArray<string>> =>
  sourceFiles()
    .flatMap((file) => {
      const source = readSource(file)
      return source.statements.flatMap((statement) => {
        const declaration = childOf(statement, "declaration") ?? statement
        const heritage = declaration.type === "ClassDeclaration" ? childOf(declaration, "superClass") : undefined
        const tagged = [...walk(heritage)].find(
          (node) =>
            node.type === "CallExpression" &&
            nameOf(childOf(childOf(node, "callee") ?? node, "property")) === "TaggedError"
        )
        const tag = nameOf(childrenOf(tagged, "arguments")[0])
        if (tag === "") return []
        const ownCode = Object.entries(ownCodes).find(([name]) => name === tag)?.[1]
        const promise = ownCode === undefined ? "" : code(ownCode)
        return [[`[${code(tag)}](../../${file})`, plain(firstSentence(docOf(source, statement))), promise]]
      })
    })
    .toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1))

export const errorsPage = (): string => {
  const explained = explanations()
  const explain = (key: string): ReadonlyArray<string> => {
    const cells = explained.get(key)
    if (cells === undefined) throw new Error(`docs/troubleshooting.md does not explain ${key}`)
    return cells.map(relink)
  }
  return page(
    "Errors",
    "Codes of rejected requests and failed calls, and the errors of programs.",
    "## Codes of the protocol",
    table(
      ["code", "name", "meaning", "cause", "remedy"],
      Object.entries(errorCodes).map(([name, number]) => {
        const cells = explain(String(number))
        return [String(number), code(name), ...(cells.length === 2 ? ["", ...cells] : cells)]
      })
    ),
    "## Codes of the Promise API",
    table(
      ["code", "cause", "remedy"],
      [...Object.values(ownCodes), "aborted", "closed", "internal"].map((own) => [code(own), ...explain(code(own))])
    ),
    "## Error tags",
    "The `_tag` of each error of the Effect API, and its code in the Promise API.",
    table(["tag", "meaning", "code of the Promise API"], tagRows())
  )
}
