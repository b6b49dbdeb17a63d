import { Effect } from "effect"
import { Agent } from "../../../application/agent/Agent.ts"
import { AmbiguousTool } from "../../../application/agent/OfficeView.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import { didYouMean } from "../../repl/didYouMean.ts"
import { failCommand } from "../CommandFailed.ts"

export interface OfficeTool {
  readonly computer: string
  readonly tool: Tool
}

/** Finds a tool of one Computer, or the only one of this name, in the view of the office once it is complete. */
export const findTool = Effect.fnUntraced(function* (name: string, computer: string | undefined) {
  const { getTools, settled, view } = yield* Agent
  if (computer !== undefined) {
    const tools = yield* getTools(computer)
    const tool = tools.find((one) => one.name === name)
    const names = tools.map((one) => one.name)
    return tool === undefined
      ? yield* failCommand(`The Computer '${computer}' has no tool '${name}'${didYouMean(name, names)}`)
      : { computer, tool }
  }
  yield* settled
  const tools = [...(yield* view).computers].flatMap(([owner, { tools: offered = [] }]) =>
    offered.map((tool): OfficeTool => ({ computer: owner, tool }))
  )
  const [found, ...others] = tools.filter(({ tool }) => tool.name === name)
  if (found !== undefined && others.length === 0) return found
  if (found !== undefined) {
    return yield* new AmbiguousTool({ tool: name, owners: [found, ...others].map((one) => one.computer).toSorted() })
  }
  const names = tools.map(({ tool }) => tool.name)
  return yield* failCommand(`No Computer of this office has a tool ${JSON.stringify(name)}${didYouMean(name, names)}`)
})
