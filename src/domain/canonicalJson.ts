import { isJsonObject } from "./json.ts"

/**
 * The one JSON text of a value: members in the order of their names' UTF-16 units, no white space, numbers and strings
 * as ECMAScript writes them (RFC 8785). Values that are equal have equal texts, however their senders wrote them.
 * Recursion is bounded by the depth that messages may have.
 */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item)).join(",")}]`
  if (!isJsonObject(value)) return (JSON.stringify(value) as string | undefined) ?? "null"
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)
  return `{${members.join(",")}}`
}
