import { type JsonObject, objectsIn } from "../../../../domain/json.ts"
import { ContentBlockView } from "../../parts/ContentBlockView.tsx"
import { JsonText } from "../../parts/Text.tsx"

/** Blocks of a result that are shown; the whole result is below as JSON. */
const maxBlocks = 100

/** The result of a tool: its blocks, and the whole as JSON. */
export const CallResult = ({ result }: { readonly result: JsonObject }) => {
  const { content, isError, structuredContent } = result
  const blocks = objectsIn(content)
  return (
    <div>
      <p role="status" class={isError === true ? "error" : "good"}>
        {isError === true ? "The tool returned an error" : "The tool succeeded"}
      </p>
      {blocks.slice(0, maxBlocks).map((block, index) => (
        <ContentBlockView key={index} block={block} />
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
