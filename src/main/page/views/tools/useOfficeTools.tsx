import type { OfficeAddress, PageMember } from "../../../../domain/page/PageEvent.ts"
import { computerKey } from "../../../../domain/page/PageState.ts"
import type { OfficeRoute } from "../../../../domain/page/route.ts"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { pageState } from "../../connection/store.ts"
import { type ComputerReplies, useComputerReplies } from "../../connection/useReplies.ts"
import { formatServerNames } from "../../../../domain/model/CallStatus.ts"
import { Name } from "../../parts/Text.tsx"

/** A tool with its Computer and the rule of consent, where it is known. */
export interface PageTool {
  /** Unique in the office. */
  readonly key: string
  readonly computer: PageMember
  readonly tool: Tool
  readonly consent?: string
}

interface PageTools extends Pick<ComputerReplies<unknown>, "isLoading" | "errors"> {
  readonly tools: ReadonlyArray<PageTool>
  /** MCP servers that start, with their Computers. */
  readonly starting: ReadonlyArray<{ readonly computer: string; readonly servers: ReadonlyArray<string> }>
}

/** Fetches the tools of all Computers of an office, and again when they change. */
export const useOfficeTools = (address: OfficeAddress): PageTools => {
  const { inspections } = pageState.value
  const { replies, ...progress } = useComputerReplies<"GetTools">(address, (computer) => ({
    _tag: "GetTools",
    ...address,
    computer
  }))
  const tools = replies.flatMap(({ computer, reply }) => {
    const consent = inspections.get(computerKey(address, computer.name))?.consent ?? []
    return reply.tools.map((tool, index): PageTool => {
      const rule = consent.find((one) => one.tool === tool.name)?.rule
      const key = JSON.stringify([computer.name, tool.name, index])
      return { key, computer, tool, ...(rule !== undefined && { consent: rule }) }
    })
  })
  return {
    ...progress,
    tools,
    starting: replies.flatMap(({ computer, reply }) =>
      reply.startingServers.length === 0 ? [] : [{ computer: computer.name, servers: reply.startingServers }]
    )
  }
}

/** The tool that the parameters of an address name. */
export const findTool = (tools: ReadonlyArray<PageTool>, { computer, tool }: OfficeRoute["parameters"]) =>
  tools.find((one) => one.tool.name === tool && one.computer.name === computer)

/** States which tools are missing, and why. */
export const ToolNotes = ({ errors, starting }: Pick<PageTools, "errors" | "starting">) => (
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
