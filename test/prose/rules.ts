import { parseSync } from "oxc-parser"

/** A piece of text for people: where it starts, and which rules apply. */
export interface Passage {
  readonly file: string
  readonly line: number
  readonly kind: "document" | "comment" | "string" | "title"
  readonly text: string
}

export interface Finding {
  readonly file: string
  readonly line: number
  readonly rule: string
  readonly text: string
}

/** Words that hide the subject of a sentence, and metaphors that stand where the field has a term. */
const bannedWords: ReadonlyArray<RegExp> = [
  /\b(?:who|what|which|where|when|how)(?:so)?ever\b(?!,)/i,
  /\b(?:some|no|any|every)body(?:'s)?\b/i,
  /\banew\b/i,
  /\b(?:is|are|was|were) none\b/i,
  /\bwhat is no\b/i,
  /\bhas come\b/i,
  /\bof no account\b/i,
  /\bof its own\b/i,
  /\bof their own\b/i,
  /\bof ours\b/i,
  /\bso that\b[^.;:]{0,60}\bnot\b/i,
  /\blets? those go\b/i,
  /\b(?:is|are|was|were) told\b/i,
  /\b(?:comes?|came) back\b/i,
  /\bput out\b/i,
  /\bin place of\b/i,
  /\bon the way of\b/i,
  /, too\b(?! (?:deep|early|large|long|many))/i,
  /\bsigns? of life\b/i,
  /\bstrangers?\b/i,
  /\bturned away\b/i,
  /\bgo(?:es|ing)? down\b/i,
  /\bwho(?:m)? (?:sits?|is let|may|has|have|comes|leaves|asks|wants)\b/i
]

/** Sentences of more words than this are two sentences. */
const maxSentenceWords = 34

const sentencesOf = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/`[^`]*`|\{@link[^}]*\}|\[([^\]]*)\]\([^)]*\)/g, (_, label?: string) => label ?? "x")
    .split(/(?<=[.!?])\s+|\n\s*\n|:\s*\n|\n\s*(?:[-*]|\d+\.)\s/)

/**
 * Titles are sentences about the subject of their `describe`: a verb in the third person comes first. Conformance cases
 * state their numbers before it; a value that a table puts first (`…`) may stand in its place.
 */
const title = /^(?:cases? \d[\d, and–-]*: )?(?:[a-z]+s|never|no longer|still|also|only)\b.*[^.:;,\s]$|^…/s

/** Every rule that this passage breaks. */
export const check = (passage: Passage): ReadonlyArray<Finding> => {
  const finding = (rule: string, text: string): Finding => ({
    file: passage.file,
    line: passage.line,
    rule,
    text: text.trim().replaceAll(/\s+/g, " ").slice(0, 160)
  })
  const findings: Array<Finding> = []
  for (const pattern of bannedWords) {
    const match = pattern.exec(passage.text)
    if (match !== null) {
      findings.push(finding(`avoid "${match[0].replaceAll(/\s+/g, " ")}"`, passage.text))
    }
  }
  if (passage.kind === "comment" || passage.kind === "document") {
    for (const sentence of sentencesOf(passage.text)) {
      const words = sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word))
      if (words.length > maxSentenceWords) findings.push(finding(`${words.length} words in a sentence`, sentence))
    }
  }
  if (passage.kind === "title") {
    if (!title.test(passage.text))
      findings.push(finding("a title starts with a verb and has no full stop", passage.text))
    if (passage.text.split(/\s+/).length < 2) findings.push(finding("a title is a sentence", passage.text))
  }
  return findings
}

/** Words of names for which the field has another: request, notify, receive, print, member, process guard, timeout, retry. */
const bannedNameWords: ReadonlySet<string> = new Set([
  "tell",
  "tells",
  "told",
  "hear",
  "hears",
  "heard",
  "say",
  "says",
  "said",
  "cast",
  "casts",
  "leash",
  "leashed",
  "patience",
  "patient",
  "stranger",
  "strangers",
  "roster",
  "errand",
  "knock",
  "whisper"
])

const wordsOf = (name: string): ReadonlyArray<string> =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

/** Calls whose first argument is the title of a test. */
const titled = /^(?:it|test|live|effect)(?:\.(?:effect|live|prop|each|scoped|concurrent))*$/

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value

const calleeOf = (node: unknown): string => {
  if (!isNode(node)) return ""
  if (node.type === "Identifier") return String(node["name"])
  if (node.type === "MemberExpression") {
    return `${calleeOf(node["object"])}.${calleeOf(node["property"])}`
  }
  return ""
}

const textOf = (node: unknown): string | undefined => {
  if (!isNode(node)) return undefined
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"]
  if (node.type !== "TemplateLiteral") return undefined
  return (node["quasis"] as ReadonlyArray<{ readonly value: { readonly cooked: string } }>)
    .map(({ value }) => value.cooked)
    .join("…")
}

/** Comments, string literals and texts of elements of a TypeScript file; consecutive line comments are one passage. */
export const passagesOfCode = (file: string, text: string): ReadonlyArray<Passage> => {
  const { comments, program } = parseSync(file, text)
  const passages: Array<Passage> = []
  let open: { start: number; end: number; text: string } | undefined
  const close = () => {
    if (open !== undefined) {
      passages.push({ file, line: lineAt(text, open.start), kind: "comment", text: open.text })
    }
    open = undefined
  }
  for (const { end, start, type, value } of comments) {
    const words = value.replaceAll(/^\s*\*+ ?/gm, "").trim()
    if (type === "Line" && open !== undefined && text.slice(open.end, start).trim() === "") {
      open = { start: open.start, end, text: `${open.text}\n${words}` }
      continue
    }
    close()
    open = { start, end, text: words }
    if (type === "Block") close()
  }
  close()

  const seen = new Set<unknown>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isNode(value)) return
    if (value.type === "CallExpression") {
      const [first] = value["arguments"] as ReadonlyArray<unknown>
      const words = titled.test(calleeOf(value["callee"])) ? textOf(first) : undefined
      if (words !== undefined) {
        seen.add(first)
        passages.push({ file, line: lineAt(text, value.start), kind: "title", text: words })
      }
    }
    const words = seen.has(value) ? undefined : value.type === "JSXText" ? String(value["value"]) : textOf(value)
    // A single word is a key or an identifier, not prose.
    if (words !== undefined && /\S\s+\S/.test(words)) {
      passages.push({ file, line: lineAt(text, value.start), kind: "string", text: words })
    }
    for (const [key, child] of Object.entries(value)) if (key !== "parent") visit(child)
  }
  visit(program)
  return passages
}

/** The names of a TypeScript file with a banned word, each once. */
export const bannedNames = (file: string, text: string): ReadonlyArray<string> => {
  const names = new Set<string>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (!isNode(value)) return
    if (value.type === "Identifier" || value.type === "JSXIdentifier") names.add(String(value["name"]))
    for (const [key, child] of Object.entries(value)) if (key !== "parent") visit(child)
  }
  visit(parseSync(file, text).program)
  return [...names].filter((name) => wordsOf(name).some((word) => bannedNameWords.has(word)))
}

/** Paragraphs, list items and table rows of a Markdown file, without its code. */
export const passagesOfDocument = (file: string, text: string): ReadonlyArray<Passage> => {
  const passages: Array<Passage> = []
  let inCode = false
  let paragraph: { line: number; lines: Array<string> } | undefined
  const close = () => {
    if (paragraph !== undefined) {
      passages.push({ file, line: paragraph.line, kind: "document", text: paragraph.lines.join("\n") })
    }
    paragraph = undefined
  }
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trimStart().startsWith("```")) inCode = !inCode
    if (inCode || line.trim() === "" || line.startsWith("```")) {
      close()
      continue
    }
    if (line.startsWith("|")) {
      close()
      for (const cell of line.split(/(?<!\\)\|/)) {
        if (/\S\s+\S/.test(cell)) passages.push({ file, line: index + 1, kind: "document", text: cell })
      }
      continue
    }
    if (/^\s*(?:[-*]|\d+\.|#+)\s/.test(line)) close()
    paragraph ??= { line: index + 1, lines: [] }
    paragraph.lines.push(line)
  }
  close()
  return passages
}
