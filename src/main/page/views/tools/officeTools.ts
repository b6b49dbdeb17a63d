import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { computerKey } from "../../../../domain/page/PageState.ts"
import type { OfficeRoute } from "../../../../domain/page/route.ts"
import { useComputerReplies } from "../../connection/api.ts"
import { pageState } from "../../connection/store.ts"

/** Fetches the tools of all Computers of an office, and again when they change. */
export const useOfficeTools = (address: OfficeAddress) => {
  const { inspections } = pageState.value
  const fetched = useComputerReplies<"GetTools">(address, (computer) => ({
    _tag: "GetTools",
    ...address,
    computer
  }))
  const tools = fetched.flatMap(({ computer, reply }) => {
    const consent = inspections.get(computerKey(address, computer.name))?.consent ?? []
    return (reply?.tools ?? []).map((tool, index) => {
      const rule = consent.find((one) => one.tool === tool.name)?.rule
      const key = JSON.stringify([computer.name, tool.name, index])
      return { key, computer, tool, ...(rule !== undefined && { consent: rule }) }
    })
  })
  return { fetched, tools }
}

/** A tool with its Computer and the rule of consent, where it is known. `key` is unique in the office. */
export type PageTool = ReturnType<typeof useOfficeTools>["tools"][number]

export const findListedTool = (tools: ReadonlyArray<PageTool>, { computer, tool }: OfficeRoute["parameters"]) =>
  tools.find((one) => one.tool.name === tool && one.computer.name === computer)
