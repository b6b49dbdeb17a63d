interface Node {
  readonly type: string
  readonly [key: string]: unknown
}

/** A position in the syntax tree, as Babel describes it. */
interface Path {
  readonly node?: Node
  readonly parent?: Node
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value

const calleeOf = (node: unknown): string => {
  if (!isNode(node)) return ""
  if (node.type === "Identifier") return String(node["name"])
  if (node.type === "MemberExpression") return `${calleeOf(node["object"])}.${calleeOf(node["property"])}`
  return ""
}

const textOf = (node: Node): string => {
  if (node.type === "StringLiteral") return String(node["value"])
  if (node.type !== "TemplateLiteral") return ""
  return (node["quasis"] as ReadonlyArray<{ readonly value: { readonly raw: string } }>)
    .map(({ value }) => value.raw)
    .join("…")
}

/** The protocol's words, keys and codes contain no spaces between letters. */
const isPhrase = (text: string): boolean => /\p{L}[\p{L}'",:)…]* [('"…]*\p{L}/u.test(text)

const isLog = /^Effect\.(?:log\w*|annotateLogs|withLogSpan)$/
const isSpan = /^Effect\.(?:fn|withSpan)$/

/** `{ discard: true }` omits results that the caller does not read. */
const isDiscard = ({ type, ...fields }: Node): boolean => {
  if (type === "ObjectProperty") return calleeOf(fields["key"]) === "discard"
  const properties = type === "ObjectExpression" ? (fields["properties"] as ReadonlyArray<Node>) : []
  return properties.length > 0 && properties.every(isDiscard)
}

/** A property of strings has no complement; a module with such a pattern would not load. */
const isInvalidInverted = ({ pattern, type }: Node): boolean =>
  type === "RegExpLiteral" && String(pattern).includes(String.raw`\p{RGI_`)

/**
 * Returns the reason for which mutants of this node do not count: texts for people, and options without an observable
 * effect. Tests assert codes, reasons and fields, and never the wording of a message, a log line or the name of a span.
 */
export const reasonToIgnore = ({ node, parent }: Path): string | undefined => {
  if (node === undefined) return undefined
  if (node.type === "ClassMethod" && isNode(node["key"]) && calleeOf(node["key"]) === "message")
    return "text for people"
  if (node.type === "CallExpression" && isLog.test(calleeOf(node["callee"]))) return "log line"
  if (isDiscard(node)) return "no effect"
  if (isInvalidInverted(node)) return "invalid mutant"
  if (parent?.type === "CallExpression" && isSpan.test(calleeOf(parent["callee"])) && textOf(node) !== "") {
    return "name of a span"
  }
  return isPhrase(textOf(node)) ? "text for people" : undefined
}
