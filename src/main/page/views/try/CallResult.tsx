import { asObject, isJsonObject, type JsonObject, stringOrEmpty } from "../../../../domain/json.ts"
import { dataImagePattern } from "../../parts/Markdown.tsx"
import { JsonText, LongText, Name } from "../../parts/Text.tsx"

/** Blocks of a result that are shown; the whole result is below as JSON. */
const maxBlocks = 100

const ImageBlock = ({ block }: { readonly block: JsonObject }) => {
  const address = `data:${stringOrEmpty(block["mimeType"])};base64,${stringOrEmpty(block["data"])}`
  return dataImagePattern.test(address) ? (
    <img src={address} alt="result of the tool" />
  ) : (
    <p class="note">
      an image of the type <Name of={stringOrEmpty(block["mimeType"])} />
    </p>
  )
}

const Block = ({ block }: { readonly block: JsonObject }) => {
  switch (block["type"]) {
    case "text":
      return <LongText text={stringOrEmpty(block["text"])} code />
    case "image":
      return <ImageBlock block={block} />
    case "resource_link":
      return (
        <p>
          <span class="tag">resource</span> <Name of={stringOrEmpty(block["name"])} />{" "}
          <code>
            <Name of={stringOrEmpty(block["uri"])} length={1_000} />
          </code>
        </p>
      )
    case "resource": {
      const { text, uri } = asObject(block["resource"])
      return (
        <div>
          <p>
            <span class="tag">resource</span>{" "}
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

/** The result of a tool: its blocks, and the whole as JSON. */
export const CallResult = ({ result }: { readonly result: JsonObject }) => {
  const { content, isError, structuredContent } = result
  const blocks = (Array.isArray(content) ? content : []).filter(isJsonObject)
  return (
    <div>
      <p role="status" class={isError === true ? "error" : "good"}>
        {isError === true ? "The tool returned an error" : "The tool succeeded"}
      </p>
      {blocks.slice(0, maxBlocks).map((block, index) => (
        <Block key={index} block={block} />
      ))}
      {structuredContent !== undefined && (
        <>
          <h2>Structured content</h2>
          <JsonText value={structuredContent} />
        </>
      )}
      <details>
        <summary>Result as JSON</summary>
        <JsonText value={result} />
      </details>
    </div>
  )
}
