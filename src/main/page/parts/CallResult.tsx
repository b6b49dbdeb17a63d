import { asObject, canonicalJson, type JsonObject, objectsIn } from "../../../domain/json.ts"
import { ContentBlockView, parseStructure, StructuredValue } from "./Markdown.tsx"
import { JsonText } from "./Text.tsx"

/** Blocks of a result that are shown; the whole result is below as JSON. */
const maxBlocks = 100

/** True when the structured content is what the only block says as text, or as JSON, alone or as `result`. */
const isRepeated = (structured: unknown, blocks: ReadonlyArray<JsonObject>): boolean => {
  const [block] = blocks
  if (block?.["type"] !== "text" || blocks.length > 1) return false
  const parsed = parseStructure(block["text"])
  const texts = [block["text"], ...(parsed === undefined ? [] : [parsed])].map(canonicalJson)
  const { result, ...others } = asObject(structured)
  return (
    texts.includes(canonicalJson(structured)) ||
    (Object.keys(others).length === 0 && texts.includes(canonicalJson(result)))
  )
}

/** The result of a tool: its blocks, and the whole as JSON on demand. */
export const CallResult = ({ result }: { readonly result: JsonObject }) => {
  const { content, isError, meta, structuredContent } = result
  const blocks = objectsIn(content)
  return (
    <div class="call-result">
      <p role="status" class={isError === true ? "error" : "good"}>
        {isError !== true
          ? "The tool succeeded"
          : asObject(meta)["error_code"] === undefined
            ? "The tool returned an error"
            : "The call failed"}
      </p>
      {blocks.slice(0, maxBlocks).map((block, index) => (
        <ContentBlockView key={index} block={block} />
      ))}
      {structuredContent !== undefined && !isRepeated(structuredContent, blocks) && (
        <section aria-label="Structured content">
          <StructuredValue value={structuredContent} />
        </section>
      )}
      <details>
        <summary>Result as JSON</summary>
        <JsonText value={result} />
      </details>
    </div>
  )
}
