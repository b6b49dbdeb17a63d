import { isJsonObject } from "../../../domain/json.ts"

/** Member of a `package.json` that we wrote, and may write again; people's own are left alone. */
export const generatedMarker = { generatedBy: "a2c-smcp" } as const

/** Is this the text of a `package.json` that we wrote? */
export const isGeneratedManifest = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) && value["generatedBy"] === generatedMarker.generatedBy
  } catch {
    return false
  }
}
