import { useMemo } from "preact/hooks"
import { formatCount } from "../../../../domain/text/format.ts"
import { officeHash, type OfficeRoute } from "../../../../domain/page/route.ts"
import { isAppOnly } from "../../../../domain/tools/appTools.ts"
import { replaceParameters } from "../../connection/store.ts"
import { Empty, exampleCommand } from "../../parts/missing.tsx"
import { JsonText, LongText, Name } from "../../parts/Text.tsx"
import { truncate } from "../../parts/visibleText.ts"
import { ListWithDetails, OfferRow } from "../../parts/VirtualList.tsx"
import { findTool, type PageTool, ToolNotes, useOfficeTools } from "./useOfficeTools.tsx"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { parseAnnotations } from "../../../../domain/tools/toolAnnotations.ts"
import { describeParameters } from "../../../../domain/schemas/describeSchema.ts"
import { type Column, Facts, Table } from "../../parts/Table.tsx"

type Parameter = ReturnType<typeof describeParameters>[number]

const parameterColumns: ReadonlyArray<Column<Parameter>> = [
  { title: "Name", cell: ([name]) => <Name of={name} /> },
  { title: "Type", cell: ([, type]) => <Name of={type} /> },
  { title: "Required", cell: ([, , required]) => required },
  { title: "Default", cell: ([, , , initial]) => <Name of={initial} /> },
  { title: "Description", cell: ([, , , , description]) => <LongText text={description} /> }
]

const Parameters = ({ tool }: { readonly tool: Tool }) => {
  const rows = useMemo(() => describeParameters(tool.paramsSchema), [tool])
  if (rows.length === 0) return <p class="note">The tool has no parameters.</p>
  return <Table label="Parameters" width="medium" columns={parameterColumns} rows={rows} keyOf={(_, index) => index} />
}

/** One tool: description, parameters, annotations and schemas. */
const ToolDetails = ({ of: { computer, consent, tool } }: { readonly of: PageTool }) => (
  <article>
    <h2>
      <Name of={tool.name} />
    </h2>
    <Facts
      facts={[
        ["Computer", <Name of={computer.name} />],
        ["MCP server", tool.bundleId && <Name of={tool.bundleId} />],
        ["Consent", consent ?? "not known: the Computer does not report its rules"],
        ...Object.entries(parseAnnotations(tool.meta) ?? {}).map(([name, value]) => {
          const text = typeof value === "string" ? value : JSON.stringify(value)
          return [<Name of={name} />, <Name of={text} />] as const
        })
      ]}
    />
    {tool.description !== "" && <LongText text={tool.description} />}
    <h3>Parameters</h3>
    <Parameters tool={tool} />
    <details>
      <summary>Schemas and metadata as JSON</summary>
      <JsonText value={{ parameters: tool.paramsSchema, result: tool.returnSchema, meta: tool.meta ?? {} }} />
    </details>
  </article>
)

/** The part of a description that is searched and listed. */
const searchedLength = 2_000

/** The tools that contain every word, by Computer and name. */
const searchTools = (tools: ReadonlyArray<PageTool>, search: string): ReadonlyArray<PageTool> => {
  const words = search.toLowerCase().split(/\s+/)
  return tools.filter(({ computer, tool: { bundleId = "", description, name } }) => {
    const text = [name, computer.name, bundleId, truncate(description, searchedLength)].join("\n").toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** All tools of an office, with a search and the details of one. */
export const ToolsView = ({ address, parameters }: OfficeRoute) => {
  const { errors, isLoading, starting, tools } = useOfficeTools(address)
  const search = parameters["q"] ?? ""
  const found = useMemo(() => searchTools(tools, search), [tools, search])
  const chosen = findTool(tools, parameters)
  const select = ({ computer, tool }: PageTool) => replaceParameters({ tool: tool.name, computer: computer.name })
  const tryIt = chosen && { tool: chosen.tool.name, computer: chosen.computer.name }
  return (
    <>
      <ToolNotes errors={errors} starting={starting} />
      <div class="row field">
        <label for="tool-search">Search tools</label>
        <input
          id="tool-search"
          type="search"
          value={search}
          onInput={(event) => replaceParameters({ q: event.currentTarget.value })}
        />
        <span role="status" class="note">
          {isLoading ? "loading" : `${formatCount(found.length)} of ${formatCount(tools.length)} tools`}
        </span>
      </div>
      {tools.length === 0 && !isLoading ? (
        <Empty command={exampleCommand(address.office)}>
          No Computer of this office offers tools. The configuration of a Computer names its MCP servers:
        </Empty>
      ) : (
        <ListWithDetails
          label="Tools"
          items={found}
          keyOf={({ key }) => key}
          selected={chosen?.key}
          onSelect={select}
          detailsLabel="Tool"
          hint="Choose a tool to see its parameters."
          details={
            chosen && (
              <>
                <ToolDetails of={chosen} />
                <p>
                  <a class="button" href={officeHash(address, "try", tryIt)}>
                    Try this tool
                  </a>
                </p>
              </>
            )
          }
        >
          {({ computer, tool }) => (
            <OfferRow name={tool.name} description={tool.description} computer={computer.name}>
              {isAppOnly(tool.meta) && <span class="tag">for its app</span>}
            </OfferRow>
          )}
        </ListWithDetails>
      )}
    </>
  )
}
