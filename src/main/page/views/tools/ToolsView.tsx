import { useMemo } from "preact/hooks"
import { formatCount } from "../../../../domain/text/format.ts"
import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { officeHash, type RouteParameters } from "../../../../domain/page/route.ts"
import { isAppOnly } from "../../../../domain/tools/appTools.ts"
import { replaceParameters } from "../../connection/store.ts"
import { exampleCommand, Empty } from "../../parts/Empty.tsx"
import { Name } from "../../parts/Text.tsx"
import { truncate } from "../../parts/visibleText.ts"
import { VirtualList } from "../../parts/VirtualList.tsx"
import { ToolDetails } from "./ToolDetails.tsx"
import { ToolNotes } from "./ToolNotes.tsx"
import { type PageTool, useOfficeTools } from "./useOfficeTools.ts"

/** The part of a description that is searched and listed. */
const searchedLength = 2_000

const searchText = ({ computer, tool }: PageTool): string =>
  [tool.name, computer.name, tool.bundleId ?? "", truncate(tool.description, searchedLength)].join("\n").toLowerCase()

/** The tools that contain every word, by Computer and name. */
const searchTools = (tools: ReadonlyArray<PageTool>, search: string): ReadonlyArray<PageTool> => {
  const words = search.toLowerCase().split(/\s+/)
  return tools.filter((one) => {
    const text = searchText(one)
    return words.every((word) => text.includes(word))
  })
}

interface ToolsViewProps {
  readonly address: OfficeAddress
  readonly parameters: RouteParameters
}

/** All tools of an office, with a search and the details of one. */
export const ToolsView = ({ address, parameters }: ToolsViewProps) => {
  const { errors, isLoading, starting, tools } = useOfficeTools(address)
  const search = parameters["q"] ?? ""
  const found = useMemo(() => searchTools(tools, search), [tools, search])
  const chosen = tools.find(
    ({ computer, tool }) => tool.name === parameters["tool"] && computer.name === parameters["computer"]
  )
  const select = ({ computer, tool }: PageTool) => replaceParameters({ tool: tool.name, computer: computer.name })
  const tryIt = chosen && { tool: chosen.tool.name, computer: chosen.computer.name }
  return (
    <>
      <ToolNotes errors={errors} starting={starting} />
      <div class="field">
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
        <div class="columns">
          <VirtualList label="Tools" items={found} keyOf={({ key }) => key} selected={chosen?.key} onSelect={select}>
            {({ computer, tool }) => (
              <>
                <span class="grow">
                  <Name of={tool.name} /> <span class="note">{<Name of={tool.description} length={120} />}</span>
                </span>
                {isAppOnly(tool.meta) && <span class="tag">for its app</span>}
                <span class="tag">
                  <Name of={computer.name} length={40} />
                </span>
              </>
            )}
          </VirtualList>
          <section class="card" aria-label="Tool">
            {chosen === undefined ? (
              <p class="note">Choose a tool to see its parameters.</p>
            ) : (
              <>
                <ToolDetails of={chosen} />
                <p>
                  <a class="button" href={officeHash(address, "try", tryIt)}>
                    Try this tool
                  </a>
                </p>
              </>
            )}
          </section>
        </div>
      )}
    </>
  )
}
