import { readFileSync } from "node:fs"
import { code, firstSentence, page, plain, table } from "./markdown.ts"
import { childOf, childrenOf, docOf, nameOf, type Node, readSource, resolveImport, type Source } from "./sources.ts"

interface Declaration {
  readonly name: string
  readonly kind: string
  readonly doc: string
  readonly file: string
}

interface Exported {
  readonly name: string
  readonly file: string
  readonly local: string | undefined
}

const kinds: { readonly [type: string]: string } = {
  ClassDeclaration: "class",
  FunctionDeclaration: "function",
  TSInterfaceDeclaration: "interface",
  TSTypeAliasDeclaration: "type"
}

/** A constant with a function as its value is a function to its users. */
const kindOf = (declaration: Node, declarator: Node | undefined): string => {
  const value = declarator && childOf(declarator, "init")
  const isFunction = value?.type === "ArrowFunctionExpression"
  return declarator === undefined ? (kinds[declaration.type] ?? "value") : isFunction ? "function" : "value"
}

/** What one statement declares, exported or not. */
const declaredBy = (source: Source, statement: Node): ReadonlyArray<Declaration> => {
  const declaration = statement.type === "ExportNamedDeclaration" ? childOf(statement, "declaration") : statement
  if (declaration === undefined) return []
  const declarators = childrenOf(declaration, "declarations")
  const doc = docOf(source, statement)
  const of = (named: Node, declarator?: Node) => ({
    name: nameOf(childOf(named, "id")),
    kind: kindOf(declaration, declarator),
    doc,
    file: source.file
  })
  const found = declarators.length > 0 ? declarators.map((one) => of(one, one)) : [of(declaration)]
  return found.filter(({ name }) => name !== "")
}

/** The imported names of a file: their module, and their name there. */
const importedBy = (source: Source): ReadonlyMap<string, readonly [file: string, name: string]> =>
  new Map(
    source.statements.flatMap((statement) => {
      const target = nameOf(childOf(statement, "source"))
      if (statement.type !== "ImportDeclaration" || !target.startsWith(".")) return []
      return childrenOf(statement, "specifiers").map((specifier) => {
        const place = [resolveImport(source.file, target), nameOf(childOf(specifier, "imported"))] as const
        return [nameOf(childOf(specifier, "local")), place] as const
      })
    })
  )

/** The declaration of an exported or local name, through re-exports. A class or a value has precedence over a type. */
const find = (file: string, name: string): Declaration | undefined => {
  const source = readSource(file)
  const declared = source.statements.flatMap((one) => declaredBy(source, one)).filter((one) => one.name === name)
  const [first] = declared.toSorted((one, other) => Number(one.doc === "") - Number(other.doc === ""))
  const main = declared.find(({ kind }) => kind !== "type" && kind !== "interface") ?? first
  if (main !== undefined) return { ...main, doc: main.doc === "" ? (first?.doc ?? "") : main.doc }
  const reexported = exportedNames(file).find((one) => one.name === name && one.file !== file)
  const [from, original] = reexported ? [reexported.file, reexported.local] : (importedBy(source).get(name) ?? [])
  return from === undefined || original === undefined ? undefined : find(from, original)
}

/** The names that a file exports: where they are declared, and as what. A namespace has no local name. */
const exportedNames = (file: string): ReadonlyArray<Exported> => {
  const source = readSource(file)
  return source.statements.flatMap((statement): ReadonlyArray<Exported> => {
    const target = nameOf(childOf(statement, "source"))
    const from = target.startsWith(".") ? resolveImport(file, target) : file
    if (statement.type === "ExportAllDeclaration") {
      const name = nameOf(childOf(statement, "exported"))
      return name === "" ? exportedNames(from) : [{ name, file: from, local: undefined }]
    }
    if (statement.type !== "ExportNamedDeclaration") return []
    const listed = childrenOf(statement, "specifiers").map((specifier) => ({
      name: nameOf(childOf(specifier, "exported")),
      file: from,
      local: nameOf(childOf(specifier, "local"))
    }))
    return [...listed, ...declaredBy(source, statement).map(({ name }) => ({ name, file, local: name }))]
  })
}

/** The exports of a file in alphabetical order; those of a namespace with its name in front. */
const declarationsOf = (file: string, prefix = ""): ReadonlyArray<Declaration> => {
  const names = new Map(exportedNames(file).map((one) => [one.name, one]))
  return [...names.values()]
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap(({ file: from, local, name }) => {
      if (local === undefined) return declarationsOf(from, `${prefix}${name}.`)
      const found = find(from, local)
      if (found === undefined) throw new Error(`${file}: no declaration of ${name}`)
      return [{ ...found, name: `${prefix}${name}` }]
    })
}

interface PackageJson {
  readonly exports: { readonly [path: string]: string | { readonly "a2c-source": string } }
}

/** The entry points of the package with their sources. */
const entryPoints = (): ReadonlyArray<readonly [name: string, file: string]> =>
  Object.entries((JSON.parse(readFileSync("package.json", "utf8")) as PackageJson).exports).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [[`a2c-smcp${path.slice(1)}`, target["a2c-source"].replace(/^\.\//, "")] as const]
  )

export const exportsPage = (): string =>
  page(
    "Exports",
    "Every name that the package exports. [programs.md](../programs.md) shows their use; each name links to its declaration.",
    ...entryPoints().flatMap(([name, file]) => {
      const source = readSource(file)
      const [first] = source.statements
      return [
        `## ${name}`,
        first === undefined ? "" : plain(docOf(source, first).replaceAll(/\s+/g, " ")),
        table(
          ["name", "kind", "content"],
          declarationsOf(file).map((one) => [
            `[${code(one.name)}](../../${one.file})`,
            one.kind,
            plain(firstSentence(one.doc))
          ])
        )
      ]
    })
  )
