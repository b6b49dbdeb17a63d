import { Context, Duration, Effect, Layer, PubSub, type Scope, Semaphore, Stream, SubscriptionRef } from "effect"
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
import { type Body, decodeBody, jsonBody } from "../ports/Body.ts"
import type { MessageHandler, TransportClient } from "../ports/Transport.ts"
import { type AgentError, BadReply } from "./AgentErrors.ts"
import { makeLocalTasks } from "./tasks/localTasks.ts"
import type { ToolTask } from "./tasks/toolTasks.ts"
import { type AgentRequests, makeAgentRequests, type ToolRequest } from "./AgentRequests.ts"
import { makeKnownPeers } from "./mcpChannel.ts"
import {
  type AmbiguousTool,
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
import { type CallStatuses, makeCallStatuses } from "./callStatuses.ts"
import { makeOpenApprovals } from "./approvals/openApprovals.ts"
import { startCountdown } from "../shared/startCountdown.ts"
import { makeRefresher } from "../shared/Refresher.ts"

/** An event of the office or of the Agent's connection. */
export type AgentEvent =
  | Notification
  | { readonly _tag: "Joined" }
  | { readonly _tag: "Disconnected"; readonly reason: string }

/** Name and office of an Agent. */
export interface AgentOptions extends Omit<MemberOptions, "role" | "features"> {}

/** Buffered events per subscriber; the oldest are dropped first. */
const eventBacklog = 1024

/** A tool call. Without `computer`, the Agent finds the one Computer that has the tool. */
export interface ToolCall extends Omit<ToolRequest, "computer"> {
  readonly computer?: string | undefined
}

export interface AgentShape extends Omit<AgentRequests, "callTool" | "startTool">, AgentQueries {
  /**
   * Calls a tool once, without retries, and reads the blobs of its result. Failed tools and timeouts are results with
   * `isError`. Interrupting the effect cancels the call on the Computer.
   */
  readonly callTool: (call: ToolCall) => Effect.Effect<ToolResult, AgentError | AmbiguousTool>
  /**
   * Starts a call that runs on while this Agent is disconnected or restarts. At a Computer that does not support that, it
   * runs as long as this Agent.
   */
  readonly startTool: (call: Omit<ToolCall, "blobs">) => Effect.Effect<ToolTask, AgentError | AmbiguousTool>
  /** The view once it shows which Computers have a tool; of one Computer alone where the search names it. */
  readonly searchTool: (search: ToolSearch) => Effect.Effect<OfficeView>
  /** Members, tools and desktops as last seen; notifications keep them current. */
  readonly view: Effect.Effect<OfficeView>
  /** The current view, then every change. */
  readonly changes: Stream.Stream<OfficeView>
  /** The current view of one Computer, then every change; `undefined` while it is absent. */
  readonly changesOf: (computer: string) => Stream.Stream<ComputerView | undefined>
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
type ViewPart = Exclude<keyof ComputerView, "startingServers" | "restartingServers">

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
const refreshKey = (part: ViewPart, computer: string): string => `${part} ${computer}`
const isKeyOfTools = (key: string): boolean => key === membersKey || key.startsWith(refreshKey("tools", ""))

const make = Effect.fnUntraced(function* (
  options: AgentOptions
): Effect.fn.Return<AgentShape, JoinFailed, Scope.Scope | TransportClient> {
  const { name, office } = options
  const view = yield* SubscriptionRef.make(initialView([]))
  const hub = yield* Effect.acquireRelease(PubSub.sliding<AgentEvent>(eventBacklog), PubSub.shutdown)
  const { awaitIdle, awaitKeys, isRefreshing, refresh } = yield* makeRefresher()
  const toolRefreshes = yield* Semaphore.make(maxRefreshes.tools)
  const otherRefreshes = yield* Semaphore.make(maxRefreshes.others)
  const openApprovals = yield* makeOpenApprovals
  const statuses = makeCallStatuses(openApprovals.observer)
  const peers = makeKnownPeers()
  let followsServers = false
  const publish = (event: AgentEvent) => Effect.asVoid(PubSub.publish(hub, event))

  const makeViewUpdater = (requests: AgentRequests) => {
    type Fetch = (computer: string) => Effect.Effect<Partial<ComputerView>, AgentError>
    const fetchers: { readonly [P in ViewPart]: Fetch } = {
      tools: requests.getToolList,
      servers: (computer) => Effect.map(requests.mcpServers(computer), (servers) => ({ servers })),
      desktop: (computer) => Effect.map(requests.getDesktop(computer), (desktop) => ({ desktop })),
      documents: (computer) => Effect.map(requests.findDocuments(computer), ({ documents }) => ({ documents })),
      skills: (computer) => Effect.map(requests.skills(computer), (skills) => ({ skills }))
    }
    const refreshPart = (part: ViewPart, computer: string): Effect.Effect<void> =>
      refresh(
        refreshKey(part, computer),
        Effect.matchEffect((part === "tools" ? toolRefreshes : otherRefreshes).withPermit(fetchers[part](computer)), {
          onSuccess: (fetched) =>
            Effect.andThen(
              SubscriptionRef.update(view, (known) => applyUpdate(known, computer, fetched)),
              part === "tools" ? refreshServers(computer) : Effect.void
            ),
          onFailure: ({ message: reason }) => Effect.logDebug("view refresh failed", { part, computer, reason })
        })
      )
    const refreshServers = (computer: string) =>
      Effect.suspend(() => (followsServers ? refreshPart("servers", computer) : Effect.void))
    const refreshComputer = (computer: string) =>
      Effect.andThen(refreshPart("tools", computer), refreshPart("desktop", computer))
    /** Fetches the members after every join: the Server does not announce members that joined earlier. */
    const refreshAll = refresh(
      membersKey,
      Effect.matchEffect(requests.members, {
        onSuccess: Effect.fnUntraced(function* (members) {
          const found = initialView(members)
          yield* SubscriptionRef.set(view, found)
          yield* Effect.forEach(found.computers.keys(), refreshComputer, { discard: true })
        }),
        // A disconnected member fetches the list again after its rejoin.
        onFailure: ({ _tag, message: reason }) =>
          _tag === "Disconnected"
            ? Effect.logDebug("member list failed", { reason })
            : Effect.logWarning("member list failed", { reason })
      })
    )
    const onNotice = Effect.fnUntraced(function* (notice: Notification) {
      if (notice._tag === "Entered" || notice._tag === "Left") peers.computers.delete(notice.membership.name)
      yield* SubscriptionRef.update(view, (known) => applyNotice(known, notice))
      yield* publish(notice)
      if (notice._tag === "Updated") yield* refreshPart(invalidatedPart[notice.part], notice.computer)
      if (notice._tag === "Entered" && notice.membership.role === "computer") {
        yield* refreshComputer(notice.membership.name)
      }
    })
    return { onNotice, refreshAll, refreshPart, refreshServers }
  }

  const member = yield* joinOffice({ ...options, role: "agent", features: ["call_status"] }, (self) => {
    const { onNotice, refreshAll } = makeViewUpdater(makeAgentRequests(self, { name, office, peers }))
    const onCallStatus = (body: Body) =>
      Effect.matchEffect(Effect.fromResult(decodeBody(body, self.line.decodeCallStatus)), {
        onSuccess: statuses.receive,
        onFailure: ({ message: reason }) => Effect.logDebug("call status ignored", { reason })
      })
    const onMessage: MessageHandler = (event, body) => {
      if (event === self.line.callStatus.notification) return Effect.as(onCallStatus(body), [])
      return Effect.matchEffect(
        Effect.fromResult(decodeBody(body, (wire) => self.line.decodeNotification(event, wire))),
        {
          onSuccess: (notice) => Effect.as(onNotice(notice), []),
          onFailure: ({ message: reason }) =>
            Effect.as(Effect.logDebug("message ignored", { event, reason }), [
              jsonBody(self.line.encodeProtocolError(unknownEvent(event)))
            ])
        }
      )
    }
    return {
      onMessage,
      onJoined: Effect.andThen(publish({ _tag: "Joined" }), refreshAll),
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
  const { refreshPart, refreshServers } = makeViewUpdater(requests)
  const currentView = SubscriptionRef.get(view)
  const changes = SubscriptionRef.changes(view)

  const search: AgentShape["searchTool"] = (wanted) => {
    const { computer } = wanted
    const ofWanted = (known: OfficeView): OfficeView =>
      computer === undefined
        ? known
        : { ...known, computers: new Map([...known.computers].filter(([name]) => name === computer)) }
    const keyOfWanted = computer === undefined ? undefined : refreshKey("tools", computer)
    return searchTool(wanted, {
      view: Effect.map(currentView, ofWanted),
      changes: Stream.map(changes, ofWanted),
      settled: awaitKeys(
        (key) => key === membersKey || key === keyOfWanted || (computer === undefined && isKeyOfTools(key))
      ),
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
    const found = yield* search({ tool, timeout: Duration.seconds(timeout), awaitsServers: true, onStatus })
    const owner = yield* ownerIn(found, tool)
    const left = Math.max(1, Math.ceil(Duration.toSeconds(yield* remaining)))
    return { ...call, computer: owner, timeout: Math.min(timeout, left) }
  })

  const callTool: AgentShape["callTool"] = (call) => Effect.flatMap(locate(call), requests.callTool)

  const startLocally = yield* makeLocalTasks(requests.callTool)
  const startTool: AgentShape["startTool"] = Effect.fnUntraced(function* (call) {
    const request = yield* locate(call)
    return yield* Effect.catchTag(requests.startTool(request), "McpSessionError", ({ message, reason }) =>
      reason === "unsupported" ? startLocally(request) : Effect.fail(new BadReply({ message }))
    )
  })

  return {
    ...requests,
    ...(yield* makeAgentQueries(requests)),
    callTool,
    startTool,
    searchTool: search,
    view: currentView,
    changes,
    changesOf: (computer) =>
      changes.pipe(
        Stream.map(({ computers }) => computers.get(computer)),
        Stream.changesWith((one, other) => one === other)
      ),
    events: Stream.fromPubSub(hub),
    approvals: openApprovals.changes,
    followServers: Effect.suspend(() => {
      followsServers = true
      return Effect.flatMap(currentView, ({ computers }) =>
        Effect.forEach(computers.keys(), refreshServers, { discard: true })
      )
    }),
    settled: awaitIdle,
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
