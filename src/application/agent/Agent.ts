import {
  Context,
  Duration,
  Effect,
  Layer,
  PubSub,
  Result,
  type Scope,
  Semaphore,
  Stream,
  SubscriptionRef
} from "effect"
import type { ApprovalView } from "../../domain/approvals/ApprovalView.ts"
import type { Notification, ComputerPart } from "../../domain/model/Notification.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { defaultToolTimeoutSeconds } from "../../domain/model/fields.ts"
import { unknownEvent } from "../../domain/model/ProtocolError.ts"
import {
  joinOffice,
  type JoinFailed,
  type MemberOptions,
  type MemberStatus,
  type OfficeMember
} from "../member/OfficeMember.ts"
import { decodeBody, jsonBody } from "../ports/Body.ts"
import type { MessageHandler, TransportClient } from "../ports/Transport.ts"
import { type AgentError, BadReply } from "./AgentErrors.ts"
import { makeLocalTasks } from "./tasks/localTasks.ts"
import type { ToolTask } from "./tasks/toolTasks.ts"
import { type AgentRequests, makeAgentRequests, type ToolList, type ToolRequest } from "./AgentRequests.ts"
import { makeKnownPeers } from "./mcpChannel.ts"
import {
  type AmbiguousTool,
  type UnknownTool,
  type ComputerView,
  applyNotice,
  applyUpdate,
  initialView,
  type OfficeView,
  ownerIn,
  searchTool,
  type ToolSearch
} from "./OfficeView.ts"
import { makeAgentQueries, type AgentQueries } from "./AgentQueries.ts"
import { approvalsFeature } from "../../domain/model/messages/mcp.ts"
import { type CallStatuses, makeCallStatuses } from "./callStatuses.ts"
import { makeOpenApprovals } from "./approvals/openApprovals.ts"
import { startCountdown } from "../shared/startCountdown.ts"
import { makeRefresher } from "../shared/Refresher.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

/** An event of the office or of the Agent's connection. */
export type AgentEvent =
  | Notification
  | { readonly _tag: "Joined" }
  | { readonly _tag: "Disconnected"; readonly reason: string }

/** Name and office of an Agent. */
export interface AgentOptions extends Omit<MemberOptions, "role" | "features"> {
  /**
   * Keeps the tools and desktops of all Computers in the view, and the approvals for which calls wait; the default. Otherwise the
   * Agent reads only the tools for which it is asked to search, and what it has read.
   */
  readonly followsComputers?: boolean
}

/** Buffered events per subscriber; the oldest are dropped first. */
const eventBacklog = 1024

/** A tool call. Without `computer`, the Agent finds the one Computer that has the tool. */
export interface ToolCall extends Omit<ToolRequest, "computer"> {
  readonly computer?: ComputerName | undefined
}

export interface AgentShape extends Omit<AgentRequests, "callTool" | "startTool">, AgentQueries {
  /**
   * Calls a tool once, without retries, and reads the blobs of its result. Failed tools and timeouts are results with
   * `isError`. Interrupting the effect cancels the call on the Computer.
   */
  readonly callTool: (call: ToolCall) => Effect.Effect<ToolResult, AgentError | AmbiguousTool | UnknownTool>
  /**
   * Starts a call that runs on while this Agent is disconnected or restarts. At a Computer that does not support that, it
   * runs as long as this Agent.
   */
  readonly startTool: (
    call: Omit<ToolCall, "blobs">
  ) => Effect.Effect<ToolTask, AgentError | AmbiguousTool | UnknownTool>
  /** The view once it shows which Computers have a tool; of one Computer alone where the search names it. */
  readonly searchTool: (search: ToolSearch) => Effect.Effect<OfficeView>
  /** Members, tools and desktops as last seen; notifications keep them current. */
  readonly view: Effect.Effect<OfficeView>
  /** The current view, then every change. */
  readonly changes: Stream.Stream<OfficeView>
  /** The current view of one Computer, then every change; `undefined` while it is absent. */
  readonly changesOf: (computer: ComputerName) => Stream.Stream<ComputerView | undefined>
  /** Events from now on. */
  readonly events: Stream.Stream<AgentEvent>
  /**
   * The calls of this Agent that wait for an approval, at Computers whose owners let Agents decide, and the open questions
   * of its calls, which have an `input`; now, then with every change. `decideApproval` decides about them.
   */
  readonly approvals: Stream.Stream<ReadonlyArray<ApprovalView>>
  /** Keeps the MCP servers of all Computers in the view from now on. */
  readonly followServers: Effect.Effect<void>
  /** Waits until all running refreshes of the view have completed. */
  readonly settled: Effect.Effect<void>
  /** The current connection status, then every change. */
  readonly status: Stream.Stream<MemberStatus>
  /** The underlying member, for events that this version does not know. */
  readonly member: OfficeMember
  /** The statuses of calls, for requests that `member` forwards. */
  readonly statuses: CallStatuses
}

/** The parts of a view that are fetched one by one; the tools bring the servers that start. */
type ViewPart = Exclude<keyof ComputerView, Exclude<keyof ToolList, "tools">>

/**
 * Requests of the view in progress. An Agent may have 256 requests in progress, and calls need theirs. Tool lists do not wait
 * for other parts of Computers that hang.
 */
const maxRefreshes = { tools: 96, others: 32 }

const invalidatedPart: { readonly [P in ComputerPart]: ViewPart } = {
  config: "tools",
  toolList: "tools",
  desktop: "desktop",
  finder: "documents",
  skills: "skills"
}

const membersKey = "members"
const refreshKey = (part: ViewPart, computer: ComputerName): string => `${part} ${computer}`

type ViewParts = Effect.Success<ReturnType<typeof makeViewParts>>

const makeViewParts = Effect.fnUntraced(function* (followsComputers: boolean) {
  return {
    followsComputers,
    view: yield* SubscriptionRef.make(initialView([])),
    refresher: yield* makeRefresher(),
    toolPermits: yield* Semaphore.make(maxRefreshes.tools),
    otherPermits: yield* Semaphore.make(maxRefreshes.others),
    peers: makeKnownPeers(),
    followsServers: false
  }
})

const makeViewUpdater = (parts: ViewParts, requests: AgentRequests) => {
  const { otherPermits, refresher, toolPermits, view } = parts
  type Fetch = (computer: ComputerName) => Effect.Effect<Partial<ComputerView>, AgentError>
  const fetchers: { readonly [P in ViewPart]: Fetch } = {
    tools: requests.getToolList,
    servers: (computer) => Effect.map(requests.mcpServers(computer), (servers) => ({ servers })),
    desktop: (computer) => Effect.map(requests.getDesktop(computer), (desktop) => ({ desktop })),
    documents: (computer) => Effect.map(requests.findDocuments(computer), ({ documents }) => ({ documents })),
    skills: (computer) => Effect.map(requests.skills(computer), (skills) => ({ skills }))
  }
  const refreshPart = (part: ViewPart, computer: ComputerName): Effect.Effect<void> =>
    refresher.refresh(
      refreshKey(part, computer),
      Effect.gen(function* () {
        const permits = part === "tools" ? toolPermits : otherPermits
        const fetched = yield* permits.withPermit(fetchers[part](computer))
        yield* SubscriptionRef.update(view, (known) => applyUpdate(known, computer, fetched))
        if (part === "tools") yield* refreshServers(computer)
      }).pipe(Effect.catch(({ message: reason }) => Effect.logDebug("view refresh failed", { part, computer, reason })))
    )
  const refreshServers = (computer: ComputerName) =>
    Effect.suspend(() => (parts.followsServers ? refreshPart("servers", computer) : Effect.void))
  const refreshComputer = (computer: ComputerName) =>
    parts.followsComputers
      ? Effect.andThen(refreshPart("tools", computer), refreshPart("desktop", computer))
      : Effect.void
  /** Fetches the members after every join: the Server does not announce members that joined earlier. */
  const refreshAll = refresher.refresh(
    membersKey,
    Effect.gen(function* () {
      const fresh = initialView(yield* requests.members)
      yield* SubscriptionRef.set(view, fresh)
      yield* Effect.forEach(fresh.computers.keys(), refreshComputer, { discard: true })
    }).pipe(
      // A disconnected member fetches the list again after its rejoin.
      Effect.catch(({ _tag, message: reason }) =>
        _tag === "Disconnected"
          ? Effect.logDebug("member list failed", { reason })
          : Effect.logWarning("member list failed", { reason })
      )
    )
  )
  return { refreshAll, refreshComputer, refreshPart, refreshServers }
}

type ViewUpdater = ReturnType<typeof makeViewUpdater>

/** Makes the handler of the notifications of the office, which `onNotice` receives once the view shows them. */
const makeMessageHandler = (
  { line }: OfficeMember,
  { followsComputers, peers, view }: ViewParts,
  { refreshComputer, refreshPart }: ViewUpdater,
  statuses: CallStatuses,
  publish: (notice: Notification) => Effect.Effect<void>
): MessageHandler => {
  const onNotice = Effect.fnUntraced(function* (notice: Notification) {
    if (notice._tag === "Entered" || notice._tag === "Left") peers.computers.delete(notice.membership.name)
    yield* SubscriptionRef.update(view, (known) => applyNotice(known, notice))
    yield* publish(notice)
    if (notice._tag === "Updated") {
      const { computers } = yield* SubscriptionRef.get(view)
      const part = invalidatedPart[notice.part]
      const isRead = computers.get(notice.computer)?.[part] !== undefined
      if (followsComputers || isRead) yield* refreshPart(part, notice.computer)
    }
    if (notice._tag === "Entered" && notice.membership.role === "computer") {
      yield* refreshComputer(notice.membership.name)
    }
  })
  return Effect.fnUntraced(function* (event, body) {
    if (event === line.callStatus.notification) {
      const report = decodeBody(body, line.decodeCallStatus)
      yield* Result.isSuccess(report)
        ? statuses.receive(report.success)
        : Effect.logDebug("call status ignored", { reason: report.failure.message })
      return []
    }
    const notice = decodeBody(body, (wire) => line.decodeNotification(event, wire))
    if (Result.isSuccess(notice)) return yield* Effect.as(onNotice(notice.success), [])
    yield* Effect.logDebug("message ignored", { event, reason: notice.failure.message })
    return [jsonBody(line.encodeProtocolError(unknownEvent(event)))]
  })
}

const makeToolSearch = ({ refresher, view }: ViewParts, { refreshPart }: ViewUpdater) => {
  const { awaitKeys, isRefreshing } = refresher
  const search: AgentShape["searchTool"] = (wanted) => {
    const { computer } = wanted
    const ofWanted = (known: OfficeView): OfficeView =>
      computer === undefined
        ? known
        : { ...known, computers: new Map([...known.computers].filter(([name]) => name === computer)) }
    const isWanted = (key: string): boolean =>
      computer === undefined ? key.startsWith(refreshKey("tools", "")) : key === refreshKey("tools", computer)
    return searchTool(wanted, {
      view: Effect.map(SubscriptionRef.get(view), ofWanted),
      changes: Stream.map(SubscriptionRef.changes(view), ofWanted),
      settled: awaitKeys((key) => key === membersKey || isWanted(key)),
      refresh: Effect.forEach(
        (name) => (isRefreshing(refreshKey("tools", name)) ? Effect.void : refreshPart("tools", name)),
        { discard: true }
      )
    })
  }

  /** Finds the Computer of a call, within the timeout of the call. */
  const locate = Effect.fnUntraced(function* (call: ToolCall) {
    const { computer, onStatus, timeout = defaultToolTimeoutSeconds, tool } = call
    if (computer !== undefined) return { ...call, computer }
    const remaining = yield* startCountdown(Duration.seconds(timeout))
    const office = yield* search({ tool, timeout: Duration.seconds(timeout), awaitsServers: true, onStatus })
    const owner = yield* ownerIn(office, tool)
    const left = Math.max(1, Math.ceil(Duration.toSeconds(yield* remaining)))
    return { ...call, computer: owner, timeout: Math.min(timeout, left) }
  })
  return { search, locate }
}

const make = Effect.fnUntraced(function* (
  options: AgentOptions
): Effect.fn.Return<AgentShape, JoinFailed, Scope.Scope | TransportClient> {
  const { followsComputers = true, name, office } = options
  const hub = yield* Effect.acquireRelease(PubSub.unbounded<AgentEvent>(), PubSub.shutdown)
  const parts = yield* makeViewParts(followsComputers)
  const { peers, refresher, view } = parts
  const openApprovals = yield* makeOpenApprovals((computer) => {
    const features = peers.computers.get(computer)
    return features === undefined || features.includes(approvalsFeature)
  })
  const statuses = makeCallStatuses(followsComputers ? openApprovals.observer : undefined)
  const publish = (event: AgentEvent) => Effect.asVoid(PubSub.publish(hub, event))

  const member = yield* joinOffice({ ...options, role: "agent", features: ["call_status"] }, (self) => {
    const updater = makeViewUpdater(parts, makeAgentRequests(self, { name, office, peers }))
    return {
      onMessage: makeMessageHandler(self, parts, updater, statuses, publish),
      onJoined: Effect.andThen(publish({ _tag: "Joined" }), updater.refreshAll),
      onLost: (reason) =>
        Effect.suspend(() => {
          peers.serverPassesMcp = undefined
          peers.computers.clear()
          return Effect.andThen(openApprovals.clear, publish({ _tag: "Disconnected", reason }))
        })
    }
  })

  const requests = makeAgentRequests(member, { name, office, statuses, peers })
  yield* openApprovals.follow(requests)
  const updater = makeViewUpdater(parts, requests)
  const { locate, search } = makeToolSearch(parts, updater)
  const startLocally = yield* makeLocalTasks(requests.callTool)
  const changes = SubscriptionRef.changes(view)

  return {
    ...requests,
    ...(yield* makeAgentQueries(requests)),
    callTool: (call) => Effect.flatMap(locate(call), requests.callTool),
    startTool: Effect.fnUntraced(function* (call) {
      const request = yield* locate(call)
      return yield* Effect.catchTag(requests.startTool(request), "McpSessionError", ({ message, reason }) =>
        reason === "unsupported" ? startLocally(request) : Effect.fail(new BadReply({ message }))
      )
    }),
    searchTool: search,
    view: SubscriptionRef.get(view),
    changes,
    changesOf: (computer) =>
      changes.pipe(
        Stream.map(({ computers }) => computers.get(computer)),
        Stream.changesWith(Object.is)
      ),
    events: Stream.unwrap(
      Effect.map(PubSub.subscribe(hub), (subscription) =>
        Stream.buffer(Stream.fromSubscription(subscription), { capacity: eventBacklog, strategy: "sliding" })
      )
    ),
    approvals: openApprovals.changes,
    followServers: Effect.suspend(() => {
      parts.followsServers = true
      const { computers } = SubscriptionRef.getUnsafe(view)
      return Effect.forEach(computers.keys(), updater.refreshServers, { discard: true })
    }),
    settled: refresher.awaitIdle,
    status: SubscriptionRef.changes(member.status),
    member,
    statuses
  }
})

/** The Agent of an office: calls tools, reads desktops and documents, and tracks the members. */
export class Agent extends Context.Service<Agent, AgentShape>()("a2c-smcp/application/agent/Agent") {
  /** Joins an office for the lifetime of the layer and rejoins it after a lost connection. */
  static readonly layer = (options: AgentOptions): Layer.Layer<Agent, JoinFailed, TransportClient> =>
    Layer.effect(Agent, make(options))
}
