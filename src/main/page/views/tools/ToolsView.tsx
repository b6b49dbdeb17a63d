import { useMemo } from "preact/hooks"
import { formatCount } from "../../../../domain/text/format.ts"
import type { OfficeRoute } from "../../../../domain/page/route.ts"
import { isAppOnly } from "../../../../domain/tools/appTools.ts"
import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { formatServerNames } from "../../../../domain/model/CallStatus.ts"
import { replaceParameters, session } from "../../connection/store.ts"
import { Empty, exampleCommand } from "../../parts/missing.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { JsonText, LongText, Name } from "../../parts/Text.tsx"
import { truncate } from "../../parts/visibleText.ts"
import { ListWithDetails, OfferRow } from "../../parts/VirtualList.tsx"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { describeHint, parseAnnotations } from "../../../../domain/tools/toolAnnotations.ts"
import { describeParameters } from "../../../../domain/schemas/describeSchema.ts"
import { type Column, Facts, Table } from "../../parts/Table.tsx"
import { CallForm } from "./CallForm.tsx"
import { findListedTool, type PageTool, useOfficeTools } from "./officeTools.ts"

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
  return <Table label="Parameters" columns={parameterColumns} rows={rows} keyOf={(_, index) => index} />
}

interface ToolDetailsProps {
  readonly address: OfficeAddress
  readonly of: PageTool
}

/** One tool: its facts, its call with the result, and its parameters and schemas. */
const ToolDetails = ({ address, of }: ToolDetailsProps) => {
  const { computer, consent, tool } = of
  const annotations = Object.entries(parseAnnotations(tool.meta) ?? {})
  const hints = annotations.flatMap(([name, value]) => describeHint(name, value) ?? [])
  const others = annotations.filter(([name, value]) => describeHint(name, value) === undefined)
  const mayCall = session.value?.mayCall === true
  return (
    <article>
      <h2>
        <Icon of="tool" /> <Name of={tool.name} />
      </h2>
      {tool.description !== "" && <LongText text={tool.description} />}
      <Facts
        isRow
        facts={[
          ["Computer", <Name of={computer.name} />],
          ["MCP server", tool.bundleId && <Name of={tool.bundleId} />],
          ["Consent", consent ?? "not known: the Computer does not report its rules"],
          ["Says that it", hints.join(", ")],
          ...others.map(([name, value]) => {
            const text = typeof value === "string" ? value : JSON.stringify(value)
            return [<Name of={name} />, <Name of={text} />] as const
          })
        ]}
      />
      {mayCall && <CallForm address={address} chosen={of} />}
      <details open={!mayCall}>
        <summary>Parameters</summary>
        <Parameters tool={tool} />
      </details>
      <details>
        <summary>Schemas and metadata as JSON</summary>
        <JsonText value={{ parameters: tool.paramsSchema, result: tool.returnSchema, meta: tool.meta ?? {} }} />
      </details>
    </article>
  )
}

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
  return (
    <>
      <ToolNotes errors={errors} starting={starting} />
      {session.value?.mayCall !== true && (
        <p class="note">The credentials of this page do not permit calls. They need the right agent for this office.</p>
      )}
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
          hint="Choose a tool to see its parameters, and to call it."
          details={chosen && <ToolDetails key={chosen.key} address={address} of={chosen} />}
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
