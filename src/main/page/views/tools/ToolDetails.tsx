import { Fragment } from "preact"
import { useMemo } from "preact/hooks"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { parseAnnotations } from "../../../../domain/tools/toolAnnotations.ts"
import { describeParameters } from "../../../../domain/schemas/describeSchema.ts"
import { JsonText, LongText, Name } from "../../parts/Text.tsx"
import type { PageTool } from "./useOfficeTools.ts"

const Parameters = ({ tool }: { readonly tool: Tool }) => {
  const rows = useMemo(() => describeParameters(tool.paramsSchema), [tool])
  if (rows.length === 0) return <p class="note">The tool has no parameters.</p>
  return (
    <div class="scroll medium" tabIndex={0} role="group" aria-label="Parameters">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">Required</th>
            <th scope="col">Default</th>
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, type, required, initial, description], index) => (
            <tr key={index}>
              <th scope="row">
                <Name of={name} />
              </th>
              <td>
                <Name of={type} />
              </td>
              <td>{required}</td>
              <td>
                <Name of={initial} />
              </td>
              <td>
                <LongText text={description} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** One tool: description, parameters, annotations and schemas. */
export const ToolDetails = ({ of: { computer, consent, tool } }: { readonly of: PageTool }) => (
  <article>
    <h2>
      <Name of={tool.name} />
    </h2>
    <dl>
      <dt>Computer</dt>
      <dd>
        <Name of={computer.name} />
      </dd>
      {tool.bundleId !== undefined && (
        <>
          <dt>MCP server</dt>
          <dd>
            <Name of={tool.bundleId} />
          </dd>
        </>
      )}
      <dt>Consent</dt>
      <dd>{consent ?? "not known: the Computer does not report its rules"}</dd>
      {Object.entries(parseAnnotations(tool.meta) ?? {}).map(([name, value]) => (
        <Fragment key={name}>
          <dt>
            <Name of={name} />
          </dt>
          <dd>
            <Name of={typeof value === "string" ? value : JSON.stringify(value)} />
          </dd>
        </Fragment>
      ))}
    </dl>
    {tool.description !== "" && <LongText text={tool.description} />}
    <h3>Parameters</h3>
    <Parameters tool={tool} />
    <details>
      <summary>Schemas and metadata as JSON</summary>
      <JsonText value={{ parameters: tool.paramsSchema, result: tool.returnSchema, meta: tool.meta ?? {} }} />
    </details>
  </article>
)
