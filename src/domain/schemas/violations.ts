import { type JsonObject, objectsIn, stringOrEmpty } from "../json.ts"
import { pathOfItem, pathOfMember } from "./formValue.ts"
import { unescapePointerSegment } from "./jsonSchema.ts"

const joinPath = (path: string, part: string): string =>
  /^\d+$/.test(part) ? pathOfItem(path, Number(part)) : pathOfMember(path, part)

const toPath = (pointer: string): string => pointer.split("/").slice(1).map(unescapePointerSegment).reduce(joinPath, "")

/**
 * Violations of a schema, which begin with a JSON pointer, by the paths of fields as in `filter.items[0]`; others by the empty
 * path. A missing member has its own path.
 */
export const violationsByPath = (violations: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const violation of violations) {
    const [, pointer = "", text = violation] = /^(\/[^:]*): (.*)$/s.exec(violation) ?? []
    const missing = /(?:^|: )must have required property '(.+)'$/s.exec(text)?.[1]
    const path = missing === undefined ? toPath(pointer) : joinPath(toPath(pointer), missing)
    const problem = missing === undefined ? text : "Required"
    found.set(path, found.has(path) ? `${found.get(path) ?? ""}; ${problem}` : problem)
  }
  return found
}

/** What a Computer finds wrong with the arguments of a call that it did not make, by the paths of fields. */
export const argumentProblems = ({ content, isError }: JsonObject): ReadonlyMap<string, string> => {
  const text = isError === true ? stringOrEmpty(objectsIn(content)[0]?.["text"]) : ""
  const [first = "", ...violations] = text.split("\n- ")
  return violationsByPath(first.includes("was not called") ? violations : [])
}
