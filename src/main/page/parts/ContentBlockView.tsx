import { asObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { dataImagePattern } from "./Markdown.tsx"
import { JsonText, LongText, Name } from "./Text.tsx"

const ImageBlock = ({ block }: { readonly block: JsonObject }) => {
  const address = `data:${stringOrEmpty(block["mimeType"])};base64,${stringOrEmpty(block["data"])}`
  return dataImagePattern.test(address) ? (
    <img src={address} alt="image of the MCP server" />
  ) : (
    <p class="note">
      an image of the type <Name of={stringOrEmpty(block["mimeType"])} />
    </p>
  )
}

/** A block of a result or of a message: text, an image, a resource; others as JSON. */
export const ContentBlockView = ({ block }: { readonly block: JsonObject }) => {
  switch (block["type"]) {
    case "text":
      return <LongText text={stringOrEmpty(block["text"])} code />
    case "image":
      return <ImageBlock block={block} />
    case "resource_link":
    case "resource": {
      const { name, text, uri } = { ...block, ...asObject(block["resource"]) }
      return (
        <div>
          <p>
            <span class="tag">resource</span> <Name of={stringOrEmpty(name)} />{" "}
            <code>
              <Name of={stringOrEmpty(uri)} length={1_000} />
            </code>
          </p>
          {typeof text === "string" && <LongText text={text} code />}
        </div>
      )
    }
    default:
      return <JsonText value={block} />
  }
}
