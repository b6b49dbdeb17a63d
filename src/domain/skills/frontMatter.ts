import { Result } from "effect"
import { asString, asStrings, checkJsonBody, isJsonObject, type JsonObject } from "../json.ts"
import type { SkillRef } from "../model/messages/requests.ts"
import { definedOnly } from "../objects.ts"
import { decodeUtf8Lossy } from "../utf8.ts"

/** The maximum size of a front matter block with its delimiters, in bytes. A longer one is content. */
export const maxFrontMatterBytes = 64 * 1024

/** The parts of a SKILL.md: the YAML text of its front matter, and where the content begins, in bytes. */
export interface SplitSkillFile {
  /** Missing without a front matter block. */
  readonly yaml: string | undefined
  readonly contentOffset: number
}

const dash = 0x2d
const lineFeed = 0x0a
const carriageReturn = 0x0d

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09

/** The length of a leading byte order mark. */
const byteOrderMarkLength = ([first, second, third]: Uint8Array): number =>
  first === 0xef && second === 0xbb && third === 0xbf ? 3 : 0

/**
 * The offset after the line of three dashes at `offset`, including its line break; `undefined` for another line. The end
 * of the bytes also ends a line.
 */
const afterDelimiter = (bytes: Uint8Array, offset: number): number | undefined => {
  if (bytes[offset] !== dash || bytes[offset + 1] !== dash || bytes[offset + 2] !== dash) return undefined
  let end = offset + 3
  while (isBlank(bytes[end])) end++
  if (bytes[end] === carriageReturn && bytes[end + 1] === lineFeed) end++
  if (end >= bytes.length) return bytes.length
  return bytes[end] === lineFeed ? end + 1 : undefined
}

/**
 * Finds the front matter of a SKILL.md: the text between a first line of three dashes and the next such line. `bytes` are
 * the file, or its beginning with more than {@link maxFrontMatterBytes}. The content begins right after the closing line.
 */
export const splitFrontMatter = (bytes: Uint8Array): SplitSkillFile => {
  const head = bytes.subarray(0, maxFrontMatterBytes + 1)
  const start = afterDelimiter(head, byteOrderMarkLength(head)) ?? head.length
  for (let line = start; line < head.length; ) {
    const contentOffset = afterDelimiter(head, line)
    if (contentOffset !== undefined && contentOffset <= maxFrontMatterBytes) {
      return { yaml: decodeUtf8Lossy(head.subarray(start, line)), contentOffset }
    }
    const lineEnd = head.indexOf(lineFeed, line)
    if (lineEnd < 0) break
    line = lineEnd + 1
  }
  return { yaml: undefined, contentOffset: 0 }
}

/** What the list of skills shows of a front matter. */
export type SkillManifest = Pick<
  SkillRef,
  "name" | "description" | "license" | "compatibility" | "allowedTools" | "metadata" | "tags"
>

const isSeparator = (char: string): boolean => char === "," || char.trim() === ""

/** Splits a text at commas and white space, but not within parentheses: `Read, Bash(git add:*)`. */
const splitList = (text: string): ReadonlyArray<string> => {
  const items: Array<string> = []
  let start = 0
  let depth = 0
  const addItem = (end: number): void => {
    if (end > start) items.push(text.slice(start, end))
    start = end + 1
  }
  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index)
    if (char === "(") depth++
    else if (char === ")") depth = Math.max(0, depth - 1)
    else if (depth === 0 && isSeparator(char)) addItem(index)
  }
  addItem(text.length)
  return items
}

const parseList = (value: unknown): ReadonlyArray<string> | undefined =>
  typeof value === "string" ? splitList(value) : asStrings(value)

const nonEmptyString = (value: unknown): string | undefined => {
  const text = asString(value)?.trim()
  return text === "" ? undefined : text
}

/**
 * Reads a parsed front matter. Fails when `name` or `description` is missing; ignores optional members of another type.
 */
export const parseSkillManifest = (frontMatter: unknown): Result.Result<SkillManifest, string> => {
  if (!isJsonObject(frontMatter)) return Result.fail("the front matter is not an object")
  const problem = checkJsonBody(frontMatter)
  if (problem !== undefined) return Result.fail(problem)
  const name = nonEmptyString(frontMatter["name"])
  if (name === undefined) return Result.fail("the front matter has no name")
  const description = nonEmptyString(frontMatter["description"])
  if (description === undefined) return Result.fail("the front matter has no description")
  const { metadata }: JsonObject = frontMatter
  return Result.succeed({
    name,
    description,
    ...definedOnly({
      license: asString(frontMatter["license"]),
      compatibility: asString(frontMatter["compatibility"]),
      allowedTools: parseList(frontMatter["allowed-tools"]),
      metadata: isJsonObject(metadata) ? metadata : undefined,
      tags: parseList(frontMatter["tags"])
    })
  })
}
