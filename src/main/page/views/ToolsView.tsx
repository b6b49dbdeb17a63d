import { useMemo } from "preact/hooks"
import { formatCount } from "../../../domain/text/format.ts"
import { officeHash, type OfficeRoute } from "../../../domain/page/route.ts"
import { isAppOnly } from "../../../domain/tools/appTools.ts"
import type { OfficeAddress } from "../../../domain/page/PageEvent.ts"
import { computerKey } from "../../../domain/page/PageState.ts"
import { formatServerNames } from "../../../domain/model/CallStatus.ts"
import { pageState, replaceParameters } from "../connection/store.ts"
import { useComputerReplies } from "../connection/api.ts"
import { Empty, exampleCommand } from "../parts/missing.tsx"
import { JsonText, LongText, Name } from "../parts/Text.tsx"
import { truncate } from "../parts/visibleText.ts"
import { ListWithDetails, OfferRow } from "../parts/VirtualList.tsx"
import type { Tool } from "../../../domain/model/Tool.ts"
import { parseAnnotations } from "../../../domain/tools/toolAnnotations.ts"
import { describeParameters } from "../../../domain/schemas/describeSchema.ts"
import { type Column, Facts, Table } from "../parts/Table.tsx"

/** Fetches the tools of all Computers of an office, and again when they change. */
export const useOfficeTools = (address: OfficeAddress) => {
  const { inspections } = pageState.value
  const { replies, ...progress } = useComputerReplies<"GetTools">(address, (computer) => ({
    _tag: "GetTools",
    ...address,
    computer
  }))
  const tools = replies.flatMap(({ computer, reply }) => {
    const consent = inspections.get(computerKey(address, computer.name))?.consent ?? []
    return reply.tools.map((tool, index) => {
      const rule = consent.find((one) => one.tool === tool.name)?.rule
      const key = JSON.stringify([computer.name, tool.name, index])
      return { key, computer, tool, ...(rule !== undefined && { consent: rule }) }
    })
  })
  return {
    ...progress,
    tools,
    /** MCP servers that start, with their Computers. */
    starting: replies.flatMap(({ computer, reply }) =>
      reply.startingServers.length === 0 ? [] : [{ computer: computer.name, servers: reply.startingServers }]
    )
  }
}

/** A tool with its Computer and the rule of consent, where it is known. `key` is unique in the office. */
export type PageTool = ReturnType<typeof useOfficeTools>["tools"][number]

/** The tool that the parameters of an address name. */
export const findListedTool = (tools: ReadonlyArray<PageTool>, { computer, tool }: OfficeRoute["parameters"]) =>
  tools.find((one) => one.tool.name === tool && one.computer.name === computer)

type ToolNotesProps = Pick<ReturnType<typeof useOfficeTools>, "errors" | "starting">

/** States which tools are missing, and why. */
export const ToolNotes = ({ errors, starting }: ToolNotesProps) => (
  <>
    {starting.map(({ computer, servers }) => (
      <p key={`starting ${computer}`} class="note">
        <Name of={computer} />: MCP servers start, their tools are missing: <Name of={formatServerNames(servers)} />
      </p>
    ))}
    {errors.map(({ computer, error }) => (
      <p key={`error ${computer}`} class="error">
        <Name of={computer} />: <Name of={error.message} length={1_000} /> ({error.code})
      </p>
    ))}
  </>
)

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
  const chosen = findListedTool(tools, parameters)
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
            <OfferRow of={tool} computer={computer.name}>
              {isAppOnly(tool.meta) && <span class="tag">for its app</span>}
            </OfferRow>
          )}
        </ListWithDetails>
      )}
    </>
  )
}
