import { isJsonObject } from "../src/domain/json.ts"

/**
 * Copies a value as its JSON text would, without undefined members and negative zero. Tests that share a process must not
 * compare with `JSON.parse`: it confuses names that contain an escape, once one of them has parsed a name like `\`.
 */
export const copyJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copyJson)
  if (typeof value === "number") return value + 0
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, copyJson(member)]))
}
