import { parseSync } from "oxc-parser"

/** What a bundler sees by itself: these have no effect. */
const plain = /Literal$|^Identifier$|^ArrowFunctionExpression$|^FunctionExpression$/

/**
 * Marks the values that a module makes when it loads, such as schemas, as removable. A bundler cannot see that a call has no
 * effect, and would keep all of them where a page uses one.
 */
export const makeRemovable = (text: string): string => {
  const { program } = parseSync("module.js", text)
  const values = program.body.flatMap((statement) => {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
    if (declared?.type !== "VariableDeclaration") return []
    return declared.declarations.flatMap(({ id, init }) =>
      id.type !== "Identifier" || init === null || plain.test(init.type) || init.type === "AwaitExpression"
        ? []
        : [init]
    )
  })
  return values.reduceRight(
    (marked, { end, start }) =>
      `${marked.slice(0, start)}/* @__PURE__ */ (() => (${marked.slice(start, end)}))()${marked.slice(end)}`,
    text
  )
}
