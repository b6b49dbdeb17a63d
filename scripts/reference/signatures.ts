/** The signatures of declarations: as the sources have them, and with what only the compiler knows. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { childOf, childrenOf, docOf, nameOf, type Node, readSource, references, type Source, walk } from "./sources.ts"

/** A declaration, by its file and its name there. */
export interface Place {
  readonly file: string
  readonly local: string
  /** True where a schema is exported as a type only. */
  readonly isTypeOnly?: boolean
}

const cache = "node_modules/.cache"

const run = (program: string, args: ReadonlyArray<string>, input?: string): string =>
  execFileSync(process.execPath, [join("node_modules", program), ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    stdio: ["pipe", "pipe", "inherit"],
    ...(input !== undefined && { input })
  })

const textOf = ({ text }: Source, { end, start }: Node): string => text.slice(start, end)

/** The statements of a file that declare a name: a value and a type can share one. */
const declarationsIn = (source: Source, name: string): ReadonlyArray<Node> =>
  source.statements.flatMap((statement) => {
    const declaration = statement.type === "ExportNamedDeclaration" ? childOf(statement, "declaration") : statement
    if (declaration === undefined) return []
    const declared = [declaration, ...childrenOf(declaration, "declarations")]
    return declared.some((one) => nameOf(childOf(one, "id")) === name) ? [declaration] : []
  })

/** The file and name from which a file has a name that it does not declare. */
export type Resolve = (file: string, name: string) => Place | undefined

/** The parts of a declaration whose names stand for more members. */
const basesOf = (node: Node): ReadonlyArray<unknown> => {
  if (node.type === "TSInterfaceDeclaration") return childrenOf(node, "extends")
  if (node.type === "ClassDeclaration") return [node["superClass"], node["superTypeArguments"]]
  return node.type === "TSTypeAliasDeclaration" ? [node] : []
}

/** The comments of the members of a declaration, and of those that it is made of, by their names. */
const memberComments = (first: Place, resolve: Resolve): ReadonlyMap<string, string> => {
  const [ofTypes, ofValues] = [new Map<string, string>(), new Map<string, string>()]
  const seen = new Set<string>()
  const visit = ({ file, local }: Place) => {
    if (seen.has(`${file} ${local}`)) return
    seen.add(`${file} ${local}`)
    const source = readSource(file)
    const declarations = declarationsIn(source, local)
    for (const node of declarations.flatMap((declaration) => [...walk(declaration)])) {
      const name = nameOf(childOf(node, "key"))
      const comment = name === "" ? "" : docOf(source, node)
      const found = node.type === "Property" ? ofValues : ofTypes
      if (comment !== "" && !found.has(name)) found.set(name, comment)
    }
    const names = declarations.flatMap((one) => [...walk(basesOf(one))]).filter(({ type }) => type === "Identifier")
    for (const place of names.map((name) => resolve(file, nameOf(name)))) if (place !== undefined) visit(place)
  }
  visit(first)
  return new Map([...ofValues, ...ofTypes])
}

/** True for an interface that extends more than exported ones: a reader cannot look the members up. */
const hasHiddenMembers = (node: Node, isExported: (name: string) => boolean): boolean =>
  node.type === "TSInterfaceDeclaration" &&
  childOf(node, "typeParameters") === undefined &&
  childrenOf(node, "extends").some(
    (one) => childOf(one, "typeArguments") !== undefined || !isExported(nameOf(childOf(one, "expression")))
  )

const isSchemaType = (source: Source, node: Node): boolean =>
  node.type === "TSTypeAliasDeclaration" && /= typeof \w+\.Type$/.test(textOf(source, node))

/** The members that the compiler sees of types, by their places. */
type Expanded = ReadonlyMap<Place, ReadonlyArray<{ readonly name: string; readonly text: string }>>

/** Compiles the declarations of the entry points, and of constants that show all members of types. */
const compile = (folder: string, expanded: ReadonlyArray<Place>): Expanded => {
  const up = relative(folder, ".").replaceAll("\\", "/")
  const lines = expanded.flatMap(({ file, local }, index) => [
    `import type { ${local} as Opened${index} } from "${up}/${file}"`,
    `export const expanded${index} = expand<Opened${index}>()`
  ])
  writeFileSync(
    join(folder, "expand.ts"),
    ["declare const expand: <T>() => { [K in keyof T]: T[K] }", ...lines].join("\n")
  )
  const compilerOptions = {
    rootDir: up,
    outDir: "out",
    emitDeclarationOnly: true,
    declarationMap: false,
    noCheck: true
  }
  const project = {
    extends: `${up}/tsconfig.build.json`,
    compilerOptions,
    files: ["expand.ts"],
    include: [`${up}/src/main/entrypoints`],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project))
  run("typescript/bin/tsc", ["--project", join(folder, "tsconfig.json")])
  const source = readSource(join(folder, "out", folder, "expand.d.ts"))
  return new Map(
    expanded.map((place, index) => {
      const [node] = declarationsIn(source, `expanded${index}`).flatMap((one) =>
        [...walk(one)].filter(({ type }) => type === "TSTypeLiteral")
      )
      const members = childrenOf(node, "members").map((member) => ({
        name: nameOf(childOf(member, "key")),
        text: textOf(source, member)
          .replaceAll(/import\("[^"]*"\)\./g, "")
          .replaceAll(/\bOpened(\d+)\b/g, (_, nth) => expanded[Number(nth)]?.local ?? "")
          .replaceAll(/\s+/g, " ")
          // Optional parameters say the first, and empty options add nothing.
          .replaceAll(" | undefined) =>", ") =>")
          .replaceAll("{} & ", "")
      }))
      return [place, members]
    })
  )
}

/** Formats TypeScript texts as the sources are formatted, in shorter lines. */
const formatAll = (texts: ReadonlyArray<string>, folder: string): ReadonlyArray<string> => {
  const separator = "// signature"
  const config = {
    formatter: { indentStyle: "space", lineWidth: 90 },
    javascript: { formatter: { semicolons: "asNeeded", trailingCommas: "none" } }
  }
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ root: true, ...config }))
  const input = texts.map((text) => `${separator}\n${text}\n`).join("\n")
  const options = [`--config-path=${folder}`, "--stdin-file-path=signatures.ts"]
  return run("@biomejs/biome/bin/biome", ["format", ...options], input)
    .split(new RegExp(`^${separator}$`, "m"))
    .slice(1)
    .map((text) =>
      text
        .trim()
        .replaceAll(/^declare /gm, "")
        .replaceAll(references, "")
    )
}

/** The text of a constant: the schema that it is, or else its type. */
const constantText = (source: Source, node: Node, compiled: string, isSchema: boolean): string => {
  const [declarator] = childrenOf(node, "declarations")
  const [name, value] = [declarator && childOf(declarator, "id"), declarator && childOf(declarator, "init")]
  return isSchema && value !== undefined ? `const ${nameOf(name)} = ${textOf(source, value)}` : compiled
}

const withComment = (comment: string | undefined, text: string): string => {
  if (comment === undefined) return text
  const lines = comment.split("\n")
  return lines.length === 1
    ? `/** ${comment} */\n${text}`
    : `/**\n${lines.map((line) => ` * ${line}\n`).join("")} */\n${text}`
}

/** The signatures of declarations. */
export const signaturesOf = (
  places: ReadonlyArray<Place>,
  resolve: Resolve,
  isExported: (name: string) => boolean
): ReadonlyArray<string> => {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, "signatures-"))
  try {
    const nodesOf = ({ file, local }: Place) => {
      const source = readSource(file)
      return declarationsIn(source, local).map((node) => ({ source, node }))
    }
    const opened = places.filter((place) => nodesOf(place).some(({ node }) => hasHiddenMembers(node, isExported)))
    const schemas = places.filter((place) => nodesOf(place).some(({ node, source }) => isSchemaType(source, node)))
    const members = compile(folder, [...opened, ...schemas])
    /** The long form of schema types in what the compiler writes, and their names. */
    const names = schemas
      .map((place) => [`{ ${(members.get(place) ?? []).map(({ text }) => text).join(" ")} }`, place.local] as const)
      .filter(([long]) => long.length > 60)
      .toSorted(([one], [other]) => other.length - one.length)
    const shorten = (text: string) => names.reduce((short, [long, name]) => short.replaceAll(long, name), text)

    const openedText = (place: Place, source: Source, node: Node): string => {
      const comments = memberComments(place, resolve)
      const own = new Set(childrenOf(childOf(node, "body"), "body").map((one) => nameOf(childOf(one, "key"))))
      const all = (members.get(place) ?? []).filter(({ name }) => name !== "")
      const sorted = [...all.filter(({ name }) => own.has(name)), ...all.filter(({ name }) => !own.has(name))]
      const lines = sorted.map(({ name, text }) => withComment(comments.get(name), shorten(text)))
      return lines.length === 0 ? textOf(source, node) : `interface ${place.local} {\n${lines.join("\n")}\n}`
    }
    const textsOf = (place: Place): string => {
      const compiled = readSource(join(folder, "out", place.file.replace(/\.tsx?$/, ".d.ts")))
      const { isTypeOnly = false } = place
      const nodes = nodesOf(place)
      const isSchema = nodes.some(({ node, source }) => isSchemaType(source, node))
      return nodes
        .map(({ node, source }) => {
          const declared = declarationsIn(compiled, place.local).find(
            ({ type }) => type === node.type || type === "TSDeclareFunction"
          )
          const text = textOf(compiled, declared ?? node)
          if (isTypeOnly && isSchema) return node.type === "VariableDeclaration" ? "" : openedText(place, source, node)
          if (node.type === "VariableDeclaration") return constantText(source, node, text, isSchema)
          if (hasHiddenMembers(node, isExported)) return openedText(place, source, node)
          if (node.type !== "ClassDeclaration") return declared === undefined ? textOf(source, node) : text
          // The compiler writes a constant for what the class extends.
          const [own, body] = [childOf(node, "body"), declared && childOf(declared, "body")]
          return `declare ${source.text.slice(node.start, own?.start)}${body ? textOf(compiled, body) : "{}"}`
        })
        .join("\n")
    }
    return formatAll(places.map(textsOf), folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
