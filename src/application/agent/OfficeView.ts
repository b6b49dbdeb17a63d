import { Data, type Duration, Effect, Stream } from "effect"
import { type CallStatus, formatServerNames, truncateServerNames } from "../../domain/model/CallStatus.ts"
import type { Notification } from "../../domain/model/Notification.ts"
import type { DocumentSummary } from "../../domain/model/messages/requests.ts"
import type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
import type { Role } from "../../domain/model/Membership.ts"
import type { SkillRef } from "../../domain/model/messages/skills.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import { notifyListener, type OnCallStatus } from "./callStatuses.ts"
import { formatSome } from "../../domain/errorMessage.ts"

/** An Agent's view of one Computer; parts are `undefined` until fetched. */
export interface ComputerView {
  readonly tools: ReadonlyArray<Tool> | undefined
  /** Its MCP servers that start, as of the tool list: they may have more tools. */
  readonly startingServers: ReadonlyArray<string>
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

const unknownComputer: ComputerView = {
  tools: undefined,
  startingServers: [],
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
export const applyUpdate = (view: OfficeView, computer: string, update: Partial<ComputerView>): OfficeView => {
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

/** No Computer, or more than one, has a tool of this name. */
export class AmbiguousTool extends Data.TaggedError("AmbiguousTool")<{
  readonly tool: string
  /** The Computers that have the tool. */
  readonly owners: ReadonlyArray<string>
  /** MCP servers that are still starting and may have the tool. */
  readonly starting?: ReadonlyArray<string>
}> {
  override get message(): string {
    const tool = JSON.stringify(this.tool)
    const { starting = [] } = this
    const hint = starting.length === 0 ? "" : `; MCP servers that are still starting: ${formatServerNames(starting)}`
    return this.owners.length === 0
      ? `No Computer of this office has a tool ${tool}${hint}`
      : `Several Computers have a tool ${tool}: name one of ${formatSome(this.owners)}`
  }
}

const ownersOf = ({ computers }: OfficeView, tool: string): ReadonlyArray<string> =>
  [...computers].flatMap(([name, { tools }]) => (tools?.some((known) => known.name === tool) ? [name] : []))

const startingServersIn = ({ computers }: OfficeView): ReadonlyArray<string> =>
  [...computers.values()].flatMap(({ startingServers }) => startingServers)

/** True while no Computer has the tool and a starting server may have it. */
const mayAppear = (view: OfficeView, tool: string): boolean =>
  ownersOf(view, tool).length === 0 && startingServersIn(view).length > 0

/** Statuses of one call without a Computer: an office can have many Computers. */
const maxStatuses = 10

const startingStatuses = ({ computers }: OfficeView): ReadonlyArray<CallStatus> =>
  [...computers]
    .filter(([, { startingServers }]) => startingServers.length > 0)
    .slice(0, maxStatuses)
    .map(([computer, { startingServers: servers }]) => ({ _tag: "WaitingForServers", computer, servers }))

interface OwnerSearch {
  readonly tool: string
  readonly current: Effect.Effect<OfficeView>
  readonly refreshed: Effect.Effect<OfficeView>
  readonly changes: Stream.Stream<OfficeView>
  /** How long the search waits for servers that start. */
  readonly timeout: Duration.Duration
  readonly onStatus: OnCallStatus | undefined
}

/**
 * Finds the one Computer that has the tool. Refreshes the view once when it has no owner or lacks a tool list, and waits
 * while servers start that may have it.
 */
export const findToolOwner = Effect.fnUntraced(function* ({
  changes,
  current,
  onStatus = () => Effect.void,
  refreshed,
  timeout,
  tool
}: OwnerSearch): Effect.fn.Return<string, AmbiguousTool> {
  const first = yield* current
  const isConclusive =
    ownersOf(first, tool).length > 0 && [...first.computers.values()].every(({ tools }) => tools !== undefined)
  let view = isConclusive ? first : yield* refreshed
  if (mayAppear(view, tool)) {
    for (const status of startingStatuses(view)) yield* notifyListener(onStatus, status)
    const awaited = Stream.takeUntil(changes, (next) => !mayAppear(next, tool))
    yield* Effect.timeoutOption(
      Stream.runForEach(awaited, (next) => Effect.sync(() => void (view = next))),
      timeout
    )
  }
  const owners = ownersOf(view, tool).toSorted()
  const [owner, ...others] = owners
  if (owner !== undefined && others.length === 0) return owner
  return yield* new AmbiguousTool({ tool, owners, starting: truncateServerNames(startingServersIn(view)) })
})
