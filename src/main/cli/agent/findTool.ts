import { Duration, Effect, Stream } from "effect"
import { Agent } from "../../../application/agent/Agent.ts"
import type { OnCallStatus } from "../../../application/agent/callStatuses.ts"
import { AmbiguousTool, type OfficeView } from "../../../application/agent/OfficeView.ts"
import { formatServerNames } from "../../../domain/model/CallStatus.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import { appUriOf } from "../../../domain/tools/appTools.ts"
import { didYouMean } from "../../repl/didYouMean.ts"
import { failCommand } from "../CommandFailed.ts"

export interface OfficeTool {
  readonly computer: string
  readonly tool: Tool
}

interface Search {
  readonly name: string
  readonly computer: string | undefined
  /** How long the search waits for servers that start; it does not wait by default. */
  readonly timeout?: Duration.Duration
  readonly onStatus?: OnCallStatus
}

const computersIn = ({ computers }: OfficeView, computer: string | undefined) =>
  [...computers].filter(([name]) => computer === undefined || name === computer)

const toolsIn = (view: OfficeView, computer: string | undefined): ReadonlyArray<OfficeTool> =>
  computersIn(view, computer).flatMap(([owner, { tools = [] }]) => tools.map((tool) => ({ computer: owner, tool })))

/** True for a tool with an app, as far as the view knows the tools. */
export const hasApp = (view: OfficeView, name: string, computer: string | undefined): boolean =>
  toolsIn(view, computer).some(({ tool }) => tool.name === name && appUriOf(tool.meta) !== undefined)

const startingIn = (view: OfficeView, computer: string | undefined) =>
  computersIn(view, computer).flatMap(([owner, { startingServers: servers }]) =>
    servers.length === 0 ? [] : [{ _tag: "WaitingForServers", computer: owner, servers } as const]
  )

/** The view of the office once it has the tool, or no server that starts may have it, or the time is over. */
const awaitView = Effect.fnUntraced(function* ({ computer, name, onStatus, timeout = Duration.zero }: Search) {
  const { changes, settled, view } = yield* Agent
  yield* settled
  let current = yield* view
  const isUndecided = (next: OfficeView) =>
    startingIn(next, computer).length > 0 && !toolsIn(next, computer).some(({ tool }) => tool.name === name)
  if (!isUndecided(current) || Duration.isZero(timeout)) return current
  for (const status of startingIn(current, computer)) yield* onStatus?.(status) ?? Effect.void
  const awaited = Stream.takeUntil(changes, (next) => !isUndecided(next))
  yield* Effect.timeoutOption(
    Stream.runForEach(awaited, (next) => Effect.sync(() => void (current = next))),
    timeout
  )
  return current
})

/** Finds a tool of one Computer, or the only one of this name, in the view of the office once it is complete. */
export const findTool = Effect.fnUntraced(function* (search: Search) {
  const { computer, name } = search
  const view = yield* awaitView(search)
  const tools = toolsIn(view, computer)
  const [found, ...others] = tools.filter(({ tool }) => tool.name === name)
  if (found !== undefined && others.length === 0) return found
  if (found !== undefined) {
    return yield* new AmbiguousTool({ tool: name, owners: [found, ...others].map((one) => one.computer).toSorted() })
  }
  const known = [...view.computers.keys()]
  if (computer !== undefined && !known.includes(computer)) {
    return yield* failCommand(`No Computer '${computer}' is in this office${didYouMean(computer, known)}`)
  }
  const names = tools.map(({ tool }) => tool.name)
  const starting = startingIn(view, computer).flatMap(({ servers }) => servers)
  const hint = starting.length === 0 ? "" : `; MCP servers that are still starting: ${formatServerNames(starting)}`
  const missing =
    computer === undefined
      ? `No Computer of this office has a tool ${JSON.stringify(name)}`
      : `The Computer '${computer}' has no tool '${name}'`
  return yield* failCommand(`${missing}${hint}${didYouMean(name, names)}`)
})
