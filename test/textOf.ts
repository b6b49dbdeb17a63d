import type { JsonObject } from "../src/domain/json.ts"

/** The texts of a tool result's content, one in each line. */
export const textOf = (result: JsonObject): string =>
  (result["content"] as ReadonlyArray<{ readonly text?: string }>).map(({ text = "" }) => text).join("\n")
