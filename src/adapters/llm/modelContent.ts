import { definedOnly } from "../../domain/objects.ts"
import type { McpContent, McpToolResult } from "./mcpTypes.ts"

/** A part of a tool result in a form that models accept. */
export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "media"; readonly data: string; readonly mimeType: string }

const textPart = (text: string): ModelPart => ({ type: "text", text })

const toModelPart = (block: McpContent): ModelPart => {
  switch (block.type) {
    case "text":
      return textPart(block.text)
    case "image":
    case "audio":
      return { type: "media", data: block.data, mimeType: block.mimeType }
    case "resource": {
      const { blob, mimeType, text, uri } = block.resource
      if (typeof text === "string") return textPart(text)
      // Providers reject whole requests for files that their model cannot read.
      return typeof blob === "string" && mimeType?.startsWith("image/")
        ? { type: "media", data: blob, mimeType }
        : textPart(JSON.stringify(definedOnly({ uri, mimeType })))
    }
    case "resource_link":
    default:
      return textPart(JSON.stringify(block))
  }
}

/** The content of a result for a model; the structured content where there is no other. */
export const modelPartsOf = ({ content, structuredContent }: McpToolResult): ReadonlyArray<ModelPart> =>
  content.length === 0 && structuredContent !== undefined
    ? [textPart(JSON.stringify(structuredContent))]
    : content.map(toModelPart)

const textOf = (parts: ReadonlyArray<ModelPart>): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

/** The text of a result; undefined when it has an image or audio. */
export const onlyTextOf = (parts: ReadonlyArray<ModelPart>): string | undefined =>
  parts.every(({ type }) => type === "text") ? textOf(parts) : undefined

/** The text parts of a result, without images and audio. */
export const modelTextOf = (result: McpToolResult): string => textOf(modelPartsOf(result))
