import { Result } from "effect"
import { asString, asStrings, checkJsonBody, isJsonObject, type JsonObject } from "../json.ts"
import type { SkillRef } from "../model/messages/requests.ts"
import { definedOnly } from "../objects.ts"
import { decodeUtf8Lossy } from "../utf8.ts"

/** The maximum size of a front matter block with its delimiters, in bytes. A longer one is content. */
export const maxFrontMatterBytes = 64 * 1024

/** The first line, after a byte order mark, and a later one, in text of one character per byte. */
const openingLine = /^(?:\xef\xbb\xbf)?---[ \t]*(?:\r?\n|$)/
const closingLine = /(?<=^|\n)---[ \t]*(?:\r?\n|$)/

/**
 * Finds the front matter of a SKILL.md: the text between a first line of three dashes and the next such line. `bytes` are
 * the file, or its beginning with more than {@link maxFrontMatterBytes}. The content begins right after the closing line, in
 * bytes. Without a front matter block `yaml` is missing.
 */
export const splitFrontMatter = (bytes: Uint8Array) => {
  const head = bytes.subarray(0, maxFrontMatterBytes + 1)
  const text = Array.from(head, (byte) => String.fromCharCode(byte)).join("")
  const start = openingLine.exec(text)?.[0].length ?? text.length
  const closing = closingLine.exec(text.slice(start))
  const line = start + (closing?.index ?? 0)
  const contentOffset = line + (closing?.[0].length ?? 0)
  return closing === null || contentOffset > maxFrontMatterBytes
    ? { yaml: undefined, contentOffset: 0 }
    : { yaml: decodeUtf8Lossy(head.subarray(start, line)), contentOffset }
}

/** What the list of skills shows of a front matter. */
export type SkillManifest = Pick<
  SkillRef,
  "name" | "description" | "license" | "compatibility" | "allowedTools" | "metadata" | "tags"
>

/** Splits a text at commas and white space, but not within parentheses: `Read, Bash(git add:*)`. */
const splitList = (text: string): ReadonlyArray<string> => {
  const items = [""]
  let depth = 0
  for (const char of text) {
    if (char === "(") depth++
    else if (char === ")") depth = Math.max(0, depth - 1)
    if (depth === 0 && /[,\s]/.test(char)) items.push("")
    else items.push(`${items.pop()}${char}`)
  }
  return items.filter((item) => item !== "")
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
