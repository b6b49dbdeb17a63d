import { readFileSync } from "node:fs"
import { slugify as slugOf } from "../../site/pages.ts"
import { code, page, plain, table } from "./markdown.ts"
import { type Resolve, signaturesOf } from "./signatures.ts"
import { childOf, childrenOf, docOf, nameOf, type Node, readSource, resolveImport, type Source } from "./sources.ts"

interface Declaration {
  readonly name: string
  readonly kind: string
  readonly doc: string
  readonly file: string
  /** Its name in the file. */
  readonly local: string
  readonly isTypeOnly?: boolean
}

interface Exported {
  readonly name: string
  readonly file: string
  readonly local: string | undefined
  readonly isTypeOnly: boolean
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
  const of = (named: Node, declarator?: Node) => {
    const name = nameOf(childOf(named, "id"))
    return { name, local: name, kind: kindOf(declaration, declarator), doc, file: source.file }
  }
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
    const isTypeOnly = statement["exportKind"] === "type"
    if (statement.type === "ExportAllDeclaration") {
      const name = nameOf(childOf(statement, "exported"))
      if (name !== "") return [{ name, file: from, local: undefined, isTypeOnly }]
      return exportedNames(from).map((one) => ({ ...one, isTypeOnly: isTypeOnly || one.isTypeOnly }))
    }
    if (statement.type !== "ExportNamedDeclaration") return []
    const listed = childrenOf(statement, "specifiers").map((specifier) => ({
      name: nameOf(childOf(specifier, "exported")),
      file: from,
      local: nameOf(childOf(specifier, "local")),
      isTypeOnly: isTypeOnly || specifier["exportKind"] === "type"
    }))
    const declared = declaredBy(source, statement).map(({ name }) => ({ name, file, local: name, isTypeOnly: false }))
    return [...listed, ...declared]
  })
}

/** The exports of a file in alphabetical order; those of a namespace with its name in front. */
const declarationsOf = (file: string, prefix = ""): ReadonlyArray<Declaration> => {
  const names = new Map(exportedNames(file).map((one) => [one.name, one]))
  return [...names.values()]
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap(({ file: from, isTypeOnly, local, name }) => {
      if (local === undefined) return declarationsOf(from, `${prefix}${name}.`)
      const found = find(from, local)
      if (found === undefined) throw new Error(`${file}: no declaration of ${name}`)
      return [{ ...found, name: `${prefix}${name}`, isTypeOnly }]
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

/** The page of an entry point. */
const fileOf = (entryPoint: string): string => `exports-${entryPoint.split("/")[1] ?? "main"}.md`

/** A comment as Markdown: its paragraphs and lists. */
const toMarkdown = (comment: string): string =>
  comment
    .replaceAll(/\{@link (?:\w+\.)*(\w+)\}/g, "`$1`")
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .split(/\n(?=- )/)
        .map((part) => plain(part.replaceAll(/\s+/g, " ").trim()))
        .join("\n")
    )
    .join("\n\n")

/** The words of a signature, without its comments and texts. */
const wordsOf = (signature: string): ReadonlySet<string> =>
  new Set(signature.replaceAll(/\/\*.*?\*\/|\/\/.*|"[^"\n]*"/gs, "").match(/[A-Za-z]\w*/g))

const isType = ({ isTypeOnly = false, kind }: Declaration): boolean =>
  kind === "type" || kind === "interface" || (isTypeOnly && kind === "value")

const keyOf = ({ file, isTypeOnly = false, local }: Declaration): string => `${file} ${local} ${isTypeOnly}`

/** Gives the signature the names of the entry point. */
const rename = (signature: string, declarations: ReadonlyArray<Declaration>): string => {
  const renamed = declarations.filter(({ local, name }) => !name.includes(".") && name !== local)
  return renamed.reduce((text, { local, name }) => text.replaceAll(new RegExp(`\\b${local}\\b`, "g"), name), signature)
}

const section = (declaration: Declaration, signature: string, linked: ReadonlyMap<string, string>): string => {
  const links = [...wordsOf(signature)].flatMap((word) => {
    const name = linked.get(word)
    return name === undefined || name === declaration.name ? [] : `[${code(name)}](#${slugOf(name)})`
  })
  return [
    `### ${declaration.name}`,
    toMarkdown(declaration.doc),
    `\`\`\`ts\n${signature}\n\`\`\``,
    [`[Source](../../${declaration.file})`, ...links].join(" · ")
  ]
    .filter((block) => block !== "")
    .join("\n\n")
}

/** The page of each entry point, and the page that lists them. */
export const exportsPages = (): ReadonlyArray<readonly [file: string, text: string]> => {
  const all = entryPoints().map(([name, file]) => {
    const source = readSource(file)
    const [first] = source.statements
    const content = first === undefined ? "" : plain(docOf(source, first).replaceAll(/\s+/g, " "))
    return { name, content, declarations: declarationsOf(file) }
  })
  const places = [...new Map(all.flatMap(({ declarations }) => declarations).map((one) => [keyOf(one), one])).values()]
  const exported = new Set(places.map(({ local }) => local))
  const resolve: Resolve = (file, name) => {
    const found = find(file, name)
    return found && { file: found.file, local: found.local }
  }
  const signatures = new Map(
    signaturesOf(places, resolve, (name) => exported.has(name)).map((text, index) => [
      keyOf(places[index] as Declaration),
      text
    ])
  )
  const overview = page(
    "Exports",
    "The entry points of the package, each with a page of its exports and their signatures. [programs.md](../programs.md) shows their use.",
    table(
      ["entry point", "content", "names"],
      all.map(({ content, declarations, name }) => [
        `[${code(name)}](${fileOf(name)})`,
        content,
        String(declarations.length)
      ])
    )
  )
  const pages = all.map(({ content, declarations, name }) => {
    const linked = new Map(declarations.map((one) => [one.name.split(".").at(-1) ?? "", one.name]))
    const sections = (heading: string, shown: ReadonlyArray<Declaration>) =>
      shown.length === 0
        ? []
        : [
            `## ${heading}`,
            ...shown.map((one) => section(one, rename(signatures.get(keyOf(one)) ?? "", declarations), linked))
          ]
    const text = page(
      `Exports of ${name}`,
      content,
      ...sections(
        "Functions, classes and values",
        declarations.filter((one) => !isType(one))
      ),
      ...sections("Types", declarations.filter(isType))
    )
    return [fileOf(name), text] as const
  })
  return [["exports.md", overview], ...pages]
}
