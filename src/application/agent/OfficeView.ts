import { Data, Duration, Effect, Stream } from "effect"
import {
  type CallStatus,
  type FailingServer,
  formatFailures,
  formatServerNames,
  truncateFailures
} from "../../domain/model/CallStatus.ts"
import type { Notification } from "../../domain/model/Notification.ts"
import type { DocumentSummary, SkillRef } from "../../domain/model/messages/requests.ts"
import type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
import type { Role } from "../../domain/model/Membership.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolList } from "./AgentRequests.ts"
import { notifyListener, type OnCallStatus } from "./callStatuses.ts"
import { formatSome } from "../../domain/errorMessage.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

/** An Agent's view of one Computer; parts are `undefined` until fetched. */
export interface ComputerView extends Omit<ToolList, "tools"> {
  readonly tools: ReadonlyArray<Tool> | undefined
  /** Its MCP servers; fetched with the tools where an observer wants them. */
  readonly servers: ReadonlyArray<McpServerInfo> | undefined
  readonly desktop: ReadonlyArray<string> | undefined
  /** The first page of its documents; fetched after a change notification. */
  readonly documents: ReadonlyArray<DocumentSummary> | undefined
  /** Its skills; fetched after a change notification. */
  readonly skills: ReadonlyArray<SkillRef> | undefined
}

/** An Agent's view of its office. */
export interface OfficeView {
  readonly members: ReadonlyArray<{ readonly name: string; readonly role: Role }>
  readonly computers: ReadonlyMap<string, ComputerView>
}

/** A Computer of which nothing was fetched. */
export const unknownComputer: ComputerView = {
  tools: undefined,
  startingServers: [],
  restartingServers: [],
  failingServers: [],
  servers: undefined,
  desktop: undefined,
  documents: undefined,
  skills: undefined
}

/** Builds a view from the members alone. */
export const initialView = (members: OfficeView["members"]): OfficeView => ({
  members,
  computers: new Map(members.filter(({ role }) => role === "computer").map(({ name }) => [name, unknownComputer]))
})

/** Applies fetched parts of a Computer; equal parts stay the same objects. Ignores a Computer that has left. */
export const applyUpdate = (view: OfficeView, computer: ComputerName, update: Partial<ComputerView>): OfficeView => {
  const known = view.computers.get(computer)
  if (known === undefined) return view
  const isChanged = (part: string, value: unknown) =>
    JSON.stringify(value) !== JSON.stringify(known[part as keyof ComputerView])
  const changed = Object.fromEntries(Object.entries(update).filter(([part, value]) => isChanged(part, value)))
  if (Object.keys(changed).length === 0) return view
  return { ...view, computers: new Map(view.computers).set(computer, { ...known, ...changed }) }
}

/** Applies a notification about a member that entered or left; ignores others. */
export const applyNotice = (view: OfficeView, notice: Notification): OfficeView => {
  if (notice._tag !== "Entered" && notice._tag !== "Left") return view
  const { name, role } = notice.membership
  const members = view.members.filter((member) => member.name !== name || member.role !== role)
  const computers = new Map(view.computers)
  if (role === "computer") computers.delete(name)
  if (notice._tag === "Left") return { members, computers }
  if (role === "computer") computers.set(name, unknownComputer)
  return { members: [...members, { name, role }], computers }
}

/** Where tools may be that a search does not see: at MCP servers that start, or do not, and at silent Computers. */
type UnknownTools = { readonly [Place in "starting" | "restarting" | "silent"]: ReadonlyArray<string> } & {
  readonly failing: ReadonlyArray<FailingServer>
}

/** Where the tools may be that are not in a view. */
export const unknownToolsIn = ({ computers }: OfficeView): UnknownTools => ({
  starting: [...computers.values()].flatMap(({ startingServers }) => startingServers),
  restarting: [...computers.values()].flatMap(({ restartingServers }) => restartingServers),
  failing: [...computers.values()].flatMap(({ failingServers }) => failingServers),
  silent: [...computers].flatMap(([name, { tools }]) => (tools === undefined ? [name] : []))
})

/** Says which tools the search did not see. */
export const formatUnknownTools = ({ failing, restarting, silent, starting }: UnknownTools): string =>
  [
    restarting.length === 0 ? "" : `; MCP servers that are restarting, try again: ${formatServerNames(restarting)}`,
    starting.length === 0 ? "" : `; MCP servers that are still starting: ${formatServerNames(starting)}`,
    silent.length === 0 ? "" : `; Computers that did not list their tools: ${formatSome(silent)}`,
    formatFailures(truncateFailures(failing))
  ].join("")

/** Several Computers, the owners, have a tool of this name. */
export class AmbiguousTool extends Data.TaggedError("AmbiguousTool")<{
  readonly tool: string
  readonly owners: ReadonlyArray<string>
}> {
  override get message(): string {
    return `Several Computers have a tool ${JSON.stringify(this.tool)}: name one of ${formatSome(this.owners)}`
  }
}

/** No Computer has a tool of this name; the other members state where it may be. */
export class UnknownTool extends Data.TaggedError("UnknownTool")<
  UnknownTools & { readonly tool: string; readonly hasComputers: boolean }
> {
  override get message(): string {
    return this.hasComputers
      ? `No Computer of this office has a tool ${JSON.stringify(this.tool)}${formatUnknownTools(this)}`
      : `The office has no Computer, so there is no tool ${JSON.stringify(this.tool)}`
  }
}

const ownersOf = ({ computers }: OfficeView, tool: string): ReadonlyArray<string> =>
  [...computers].flatMap(([name, { tools }]) => (tools?.some((known) => known.name === tool) ? [name] : []))

/** Statuses of one call without a Computer: an office can have many Computers. */
const maxStatuses = 10

const startingStatuses = ({ computers }: OfficeView): ReadonlyArray<CallStatus> =>
  [...computers]
    .filter(([, { startingServers }]) => startingServers.length > 0)
    .slice(0, maxStatuses)
    .map(([computer, { startingServers: servers }]) => ({ _tag: "WaitingForServers", computer, servers }))

/** How long a search with an owner waits for the Computers that have not listed their tools. */
const silentTimeout = Duration.seconds(2)

/** How long a search without an owner waits for tool lists. */
const listsTimeout = Duration.seconds(10)

export interface ToolSearch {
  readonly tool: string
  /** The only Computer whose tools count; all by default. */
  readonly computer?: ComputerName | undefined
  /** How long the search takes at most. */
  readonly timeout: Duration.Duration
  /** Waits while servers start that may have the tool. */
  readonly awaitsServers: boolean
  readonly onStatus?: OnCallStatus | undefined
}

interface ToolLists {
  readonly view: Effect.Effect<OfficeView>
  readonly changes: Stream.Stream<OfficeView>
  /** Waits until no list is being fetched. */
  readonly settled: Effect.Effect<void>
  /** Fetches the lists of these Computers again, except those that are being fetched. */
  readonly refresh: (computers: ReadonlyArray<string>) => Effect.Effect<void>
}

/**
 * Gives the view once it shows which Computers have the tool: with all tool lists, or two seconds after one of them has the
 * tool. Fetches missing lists once more, and all lists when no Computer has the tool.
 */
export const searchTool = Effect.fnUntraced(function* (
  { awaitsServers, onStatus = () => Effect.void, timeout, tool }: ToolSearch,
  { changes, refresh, settled, view }: ToolLists
) {
  const hasOwner = (current: OfficeView) => ownersOf(current, tool).length > 0
  const mayAppear = (current: OfficeView) => !hasOwner(current) && unknownToolsIn(current).starting.length > 0
  const allLists = Effect.gen(function* () {
    yield* Effect.timeoutOption(settled, silentTimeout)
    const current = yield* view
    const wanted = hasOwner(current) ? unknownToolsIn(current).silent : [...current.computers.keys()]
    if (wanted.length > 0) yield* Effect.andThen(refresh(wanted), settled)
  })
  const owned = Effect.andThen(Stream.runDrain(Stream.takeUntil(changes, hasOwner)), Effect.sleep(silentTimeout))
  const search = Effect.gen(function* () {
    yield* Effect.timeoutOption(Effect.raceFirst(allLists, owned), listsTimeout)
    const current = yield* view
    if (!awaitsServers || !mayAppear(current)) return
    for (const status of startingStatuses(current)) yield* notifyListener(onStatus, status)
    yield* Stream.runDrain(Stream.takeUntil(changes, (next) => !mayAppear(next)))
  })
  yield* Effect.timeoutOption(search, timeout)
  return yield* view
})

/** The one Computer that has the tool. */
export const ownerIn = (view: OfficeView, tool: string): Effect.Effect<string, AmbiguousTool | UnknownTool> => {
  const owners = ownersOf(view, tool).toSorted()
  const [owner, ...others] = owners
  if (owner === undefined) {
    return new UnknownTool({ tool, hasComputers: view.computers.size > 0, ...unknownToolsIn(view) })
  }
  return others.length === 0 ? Effect.succeed(owner) : new AmbiguousTool({ tool, owners })
}
