import { useMemo } from "preact/hooks"
import type { Tool } from "../../../../domain/model/Tool.ts"
import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import type { OfficeRoute } from "../../../../domain/page/route.ts"
import { describeParameters } from "../../../../domain/schemas/describeSchema.ts"
import { appUriOf, isAppOnly } from "../../../../domain/tools/appTools.ts"
import { describeHint, parseAnnotations } from "../../../../domain/tools/toolAnnotations.ts"
import { session } from "../../connection/store.ts"
import { Icon } from "../../parts/Icon.tsx"
import { type Column, Facts, Table } from "../../parts/Table.tsx"
import { JsonText, LongText, Name } from "../../parts/Text.tsx"
import { OffersView } from "../OffersView.tsx"
import { CallForm } from "./CallForm.tsx"
import { type PageTool, useOfficeTools } from "./officeTools.ts"

const parameterColumns: ReadonlyArray<Column<ReturnType<typeof describeParameters>[number]>> = [
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

/** One tool: its facts, its call with the result, and its parameters and schemas. */
const ToolDetails = ({ address, of }: { readonly address: OfficeAddress; readonly of: PageTool }) => {
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

/** All tools of an office, with a search and the details of one. */
export const ToolsView = (route: OfficeRoute) => {
  const { fetched, tools } = useOfficeTools(route.address)
  const offers = tools.map((of) => {
    const { computer, key, tool } = of
    const { bundleId: server = "", description, meta, name } = tool
    const tags = [...(isAppOnly(meta) ? ["for its app"] : []), ...(appUriOf(meta) === undefined ? [] : ["app"])]
    const parameters = { tool: name, computer: computer.name }
    const details = () => <ToolDetails address={route.address} of={of} />
    return { key, name, description, server, tags, parameters, details, computer: computer.name }
  })
  return (
    <>
      {session.value?.mayCall !== true && (
        <p class="note">The credentials of this page do not permit calls. They need the right agent for this office.</p>
      )}
      <OffersView {...route} fetched={fetched} kind="tool" offers={offers} />
    </>
  )
}
