import { Effect, SubscriptionRef } from "effect"
import { stringOrEmpty } from "../../domain/json.ts"
import { formatFailedCall } from "../../domain/packs/params/paramsProblems.ts"
import type { InspectedPart } from "../../domain/page/Inspection.ts"
import type { McpSession } from "../ports/McpSession.ts"
import { toolNotFoundError, toolsOnlySession, watchTools } from "../shared/toolsOnlySession.ts"
import { withParts } from "../shared/page/partsResource.ts"
import type { PackTable, PackView } from "./PackTable.ts"

const definitions = ({ tools }: PackTable) => [...tools.values()].map(({ definition }) => definition)

const describePack = ({ name, status }: PackView): InspectedPart => ({
  kind: "pack",
  name,
  state: status._tag.toLowerCase(),
  ...(status._tag === "Failed" && { reason: status.reason }),
  offers: status._tag === "Ready" ? status.tools.map((tool) => stringOrEmpty(tool["name"])) : []
})

/** Changes with what a Computer lists, and with the failed packs: it reads the parts again when the tools change. */
const toolsText = (table: PackTable): string =>
  JSON.stringify([definitions(table), table.views.filter(({ status }) => status._tag === "Failed")])

/** Combines all tools of all packs into one MCP peer. */
export const makePackSession = (tableRef: SubscriptionRef.SubscriptionRef<PackTable>): McpSession => ({
  ...withParts(toolsOnlySession("a2c-tools"), () => SubscriptionRef.getUnsafe(tableRef).views.map(describePack)),
  listTools: () =>
    Effect.map(SubscriptionRef.get(tableRef), (table) => ({ items: definitions(table), nextCursor: undefined })),
  callTool: (name, params, options = {}) =>
    Effect.suspend(() => {
      const tool = SubscriptionRef.getUnsafe(tableRef).tools.get(name)
      if (tool === undefined) return Effect.fail(toolNotFoundError(name))
      const call = { tool: tool.originalName, params, form: false, files: {} }
      return Effect.catch(tool.running.call(call, options), (error) =>
        Effect.succeed({ content: [{ type: "text", text: formatFailedCall(error) }], isError: true })
      )
    }),
  watch: watchTools(
    Effect.succeed(SubscriptionRef.changes(tableRef)),
    Effect.map(SubscriptionRef.get(tableRef), toolsText)
  )
})
