import { code, codes, page, table } from "./markdown.ts"
import { childOf, childrenOf, nameOf, type Node, readSource, type Source, sourceFiles, walk } from "./sources.ts"

interface LogMessage {
  readonly message: string
  readonly level: string
  readonly fields: ReadonlyArray<string>
  readonly file: string
}

/** Files that log texts of other files, or of web pages: errors in configurations and in tools. */
const relaying = [
  "src/adapters/webmcp/offerPageTools.ts",
  "src/main/cli/computer/withComputer.ts",
  "src/main/config/policyFile.ts",
  "src/main/config/serverFiles.ts"
]

const levels = ["Error", "Warning", "Info", "Debug"]

const levelOf = (node: Node): string | undefined => {
  if (node.type !== "MemberExpression" || nameOf(childOf(node, "object")) !== "Effect") return undefined
  return levels.find((level) => nameOf(childOf(node, "property")) === `log${level}`)
}

/** The levels that an expression gives: `isNew ? Effect.logInfo : Effect.logDebug`. */
const levelsIn = (node: Node | undefined): ReadonlyArray<string> => {
  if (node === undefined) return []
  if (node.type !== "ConditionalExpression") return [levelOf(node) ?? ""].filter((level) => level !== "")
  return [...levelsIn(childOf(node, "consequent")), ...levelsIn(childOf(node, "alternate"))]
}

/** The texts that an expression may have; a placeholder is written as `…`. */
const textsIn = (source: Source, node: Node | undefined): ReadonlyArray<string> => {
  if (node === undefined) return []
  switch (node.type) {
    case "Literal":
      return [nameOf(node)]
    case "TemplateLiteral":
      return [
        childrenOf(node, "quasis")
          .map((part) => (part["value"] as { readonly cooked: string }).cooked)
          .join("…")
      ]
    case "ConditionalExpression":
      return [...textsIn(source, childOf(node, "consequent")), ...textsIn(source, childOf(node, "alternate"))]
    case "Identifier":
      return namedTexts(source, nameOf(node))
    default:
      return []
  }
}

/** The texts of a constant, or the texts that callers in this file pass for a parameter. */
const namedTexts = (source: Source, name: string): ReadonlyArray<string> =>
  [...walk(source.statements)].flatMap((node) => {
    const declared = nameOf(childOf(node, "id"))
    const value = node.type === "VariableDeclarator" ? childOf(node, "init") : undefined
    if (value !== undefined && declared === name) return textsIn(source, value)
    const at = childrenOf(value, "params").findIndex((parameter) => nameOf(parameter) === name)
    if (at < 0) return []
    return [...walk(source.statements)]
      .filter((call) => call.type === "CallExpression" && nameOf(childOf(call, "callee")) === declared)
      .flatMap((call) => textsIn(source, childrenOf(call, "arguments")[at]))
  })

const fieldsIn = (node: Node | undefined): ReadonlyArray<string> =>
  node?.type === "ObjectExpression"
    ? childrenOf(node, "properties").flatMap((property) => nameOf(childOf(property, "key")) || [])
    : []

/** The calls of a logging function with their levels: `Effect.logInfo(…)`, and `log(…)` of a name for several levels. */
const callsIn = (source: Source): ReadonlyArray<readonly [call: Node, levels: ReadonlyArray<string>]> => {
  const nodes = [...walk(source.statements)]
  const aliases = new Map(
    nodes.flatMap((node) => {
      const found = node.type === "VariableDeclarator" ? levelsIn(childOf(node, "init")) : []
      return found.length === 0 ? [] : [[nameOf(childOf(node, "id")), found] as const]
    })
  )
  return nodes.flatMap((node) => {
    const callee = node.type === "CallExpression" ? childOf(node, "callee") : undefined
    if (callee === undefined) return []
    // The link between nodes warns through a function of its options.
    if (nameOf(childOf(callee, "property")) === "warn") return [[node, ["Warning"]] as const]
    const found = callee.type === "Identifier" ? (aliases.get(nameOf(callee)) ?? []) : levelsIn(callee)
    return found.length === 0 ? [] : [[node, found] as const]
  })
}

/** Every message that the code logs. Fails for a call whose message cannot be told. */
const logMessages = (): ReadonlyArray<LogMessage> =>
  sourceFiles().flatMap((file) => {
    const source = readSource(file)
    return callsIn(source).flatMap(([call, found]) => {
      const [first, second] = childrenOf(call, "arguments")
      const texts = textsIn(source, first)
      if (texts.length === 0 && !relaying.includes(file)) throw new Error(`${file}: unknown message at ${call.start}`)
      return texts.flatMap((message) => found.map((level) => ({ message, level, fields: fieldsIn(second), file })))
    })
  })

export const logMessagesPage = (): string => {
  const all = logMessages()
  const sections = levels.flatMap((level) => {
    const byMessage = Map.groupBy(
      all.filter((one) => one.level === level),
      ({ message }) => message
    )
    const rows = [...byMessage]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([message, uses]) => [
        code(message),
        codes(new Set(uses.flatMap(({ fields }) => fields))),
        [...new Set(uses.map(({ file }) => file))]
          .map((file) => `[${file.split("/").at(-1)}](../../${file})`)
          .join(", ")
      ])
    return [`## Level ${level.toLowerCase()}`, table(["message", "fields", "source"], rows)]
  })
  return page(
    "Log messages",
    "Every message that the code logs, by level. Causes and remedies are in [troubleshooting.md](../troubleshooting.md#log-messages).",
    "`…` stands for a part that varies. A line may have more fields than the table states, such as a cause. Errors in configuration files are logged with their place, and are not in the tables.",
    ...sections
  )
}
