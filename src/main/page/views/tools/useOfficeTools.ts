import { findOffice } from "../../../../domain/page/offices.ts"
import type { PageError } from "../../../../domain/page/PageCommand.ts"
import type { OfficeAddress, PageMember } from "../../../../domain/page/PageEvent.ts"
import { computerKey, partKey } from "../../../../domain/page/PageState.ts"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { pageState } from "../../connection/store.ts"
import { useReplies } from "../../connection/useReplies.ts"

/** A tool with its Computer and the rule of consent, where it is known. */
export interface OfficeTool {
  /** Unique in the office. */
  readonly key: string
  readonly computer: PageMember
  readonly tool: Tool
  readonly consent?: string
}

export interface OfficeTools {
  readonly tools: ReadonlyArray<OfficeTool>
  readonly isLoading: boolean
  readonly errors: ReadonlyArray<{ readonly computer: string; readonly error: PageError }>
  /** MCP servers that start, with their Computers. */
  readonly starting: ReadonlyArray<{ readonly computer: string; readonly servers: ReadonlyArray<string> }>
}

/** Fetches the tools of all Computers of an office, and again when they change. */
export const useOfficeTools = (address: OfficeAddress): OfficeTools => {
  const state = pageState.value
  const { computers } = findOffice(state, address)
  const updatesOf = (computer: string, part: string): number => state.updates.get(partKey(address, computer, part)) ?? 0
  const replies = useReplies<"GetTools">(
    computers.map(({ name, sid }) => ({
      key: name,
      version: [state.stream, sid, updatesOf(name, "toolList"), updatesOf(name, "config")].join(" "),
      command: { _tag: "GetTools", line: address.line, office: address.office, computer: name }
    }))
  )
  const fetched = computers.map((computer) => ({ computer, ...replies.get(computer.name) }))
  const tools = fetched.flatMap(({ computer, reply }) => {
    const consent = state.inspections.get(computerKey(address, computer.name))?.consent ?? []
    return (reply?.tools ?? []).map((tool, index): OfficeTool => {
      const rule = consent.find((one) => one.tool === tool.name)?.rule
      const key = JSON.stringify([computer.name, tool.name, index])
      return { key, computer, tool, ...(rule !== undefined && { consent: rule }) }
    })
  })
  return {
    tools,
    isLoading: fetched.some(({ error, reply }) => reply === undefined && error === undefined),
    errors: fetched.flatMap(({ computer, error }) => (error === undefined ? [] : [{ computer: computer.name, error }])),
    starting: fetched.flatMap(({ computer, reply }) =>
      reply === undefined || reply.startingServers.length === 0
        ? []
        : [{ computer: computer.name, servers: reply.startingServers }]
    )
  }
}
