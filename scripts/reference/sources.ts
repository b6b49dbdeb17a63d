import { readdirSync, readFileSync } from "node:fs"
import { posix } from "node:path"
import { type Comment, parseSync } from "oxc-parser"

export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value

export const childOf = (node: Node, key: string): Node | undefined => {
  const value = node[key]
  return isNode(value) ? value : undefined
}

export const childrenOf = (node: Node | undefined, key: string): ReadonlyArray<Node> => {
  const value = node?.[key]
  return Array.isArray(value) ? value.filter(isNode) : []
}

/** The name of an identifier, or the text of a literal. */
export const nameOf = (node: Node | undefined): string =>
  String(node?.type === "Literal" ? node["value"] : (node?.["name"] ?? ""))

/** Every node below a node, and itself, in the order of the text. */
export const walk = function* (value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const item of value) yield* walk(item)
  if (!isNode(value)) return
  yield value
  for (const [key, child] of Object.entries(value)) if (key !== "parent") yield* walk(child)
}

export interface Source {
  /** The path in the repository. */
  readonly file: string
  readonly text: string
  readonly statements: ReadonlyArray<Node>
  readonly comments: ReadonlyArray<Comment>
}

const parsed = new Map<string, Source>()

/** Parses a file; once. */
export const readSource = (file: string): Source => {
  const known = parsed.get(file)
  if (known !== undefined) return known
  const text = readFileSync(file, "utf8")
  const { comments, program } = parseSync(file, text)
  const source = { file, text, statements: program.body as unknown as ReadonlyArray<Node>, comments }
  parsed.set(file, source)
  return source
}

/** All TypeScript files of `src`. */
export const sourceFiles = (): ReadonlyArray<string> =>
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => posix.join("src", name.replaceAll("\\", "/")))
    .sort()

export const resolveImport = (from: string, target: string): string => posix.join(posix.dirname(from), target)

/** What only maintainers look up: sections of the specification, and documents of origin. */
export const references = / ?\((?:spec|seed)\b[^)]*\)/g

/** The doc comment in front of a statement, without references. */
export const docOf = ({ comments, text }: Source, { start }: Node): string => {
  const comment = comments.findLast(({ end, type }) => type === "Block" && end <= start)
  if (comment === undefined || !comment.value.startsWith("*")) return ""
  if (text.slice(comment.end, start).trim() !== "") return ""
  return comment.value
    .replaceAll(/^\s*\*+ ?/gm, "")
    .replaceAll(references, "")
    .trim()
}
