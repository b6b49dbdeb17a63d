import { type Duration, Effect } from "effect"
import { Agent } from "../../../application/agent/Agent.ts"
import type { OnCallStatus } from "../../../application/agent/callStatuses.ts"
import {
  AmbiguousTool,
  formatUnknownTools,
  type OfficeView,
  unknownToolsIn
} from "../../../application/agent/OfficeView.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import { appUriOf } from "../../../domain/tools/appTools.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { failCommand } from "../../CommandFailed.ts"

export interface FoundTool {
  readonly computer: string
  readonly tool: Tool
}

interface Search {
  readonly name: string
  readonly computer: string | undefined
  readonly timeout: Duration.Duration
  /** Waits for servers that start and may have the tool. */
  readonly awaitsServers: boolean
  readonly onStatus?: OnCallStatus
}

const computersIn = ({ computers }: OfficeView, computer: string | undefined) =>
  [...computers].filter(([name]) => computer === undefined || name === computer)

const toolsIn = (view: OfficeView, computer: string | undefined): ReadonlyArray<FoundTool> =>
  computersIn(view, computer).flatMap(([owner, { tools = [] }]) => tools.map((tool) => ({ computer: owner, tool })))

/** True for a tool with an app, as far as the view knows the tools. */
export const hasApp = (view: OfficeView, name: string, computer: string | undefined): boolean =>
  toolsIn(view, computer).some(({ tool }) => tool.name === name && appUriOf(tool.meta) !== undefined)

/** Finds a tool of one Computer, or the only one of this name. */
export const findTool = Effect.fnUntraced(function* (search: Search) {
  const { computer, name, ...options } = search
  const agent = yield* Agent
  const view = yield* agent.searchTool({ ...options, computer, tool: name })
  const tools = toolsIn(view, computer)
  const [found, ...others] = tools.filter(({ tool }) => tool.name === name)
  if (found !== undefined && others.length === 0) return found
  if (found !== undefined) {
    return yield* new AmbiguousTool({ tool: name, owners: [found, ...others].map((one) => one.computer).toSorted() })
  }
  const known = [...(yield* agent.view).computers.keys()]
  if (computer !== undefined && !known.includes(computer)) {
    return yield* failCommand(`No Computer '${computer}' is in this office${didYouMean(computer, known)}`)
  }
  const names = tools.map(({ tool }) => tool.name)
  const hint = formatUnknownTools(unknownToolsIn(view))
  const missing =
    computer === undefined
      ? `No Computer of this office has a tool ${JSON.stringify(name)}`
      : `The Computer '${computer}' has no tool '${name}'`
  return yield* failCommand(`${missing}${hint}${didYouMean(name, names)}`)
})
