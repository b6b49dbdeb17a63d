import { isJsonObject } from "../../domain/json.ts"

/** Member of a `package.json` that we wrote, and may write again; people's own are left alone. */
export const generatedBy = { generatedBy: "a2c-smcp" } as const

/** Is this the text of a `package.json` that we wrote? */
export const isGenerated = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) && value["generatedBy"] === generatedBy.generatedBy
  } catch {
    return false
  }
}
