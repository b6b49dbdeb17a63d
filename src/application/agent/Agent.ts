import { Context, Duration, Effect, Layer, PubSub, Result, type Scope, Stream, SubscriptionRef } from "effect"
import type { Notification, ComputerPart } from "../../domain/model/Notification.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { unknownEvent } from "../../domain/model/ProtocolError.ts"
import { joinOffice, type JoinFailed, type MemberStatus, type OfficeMember } from "../member/OfficeMember.ts"
import { decodeBody, jsonBody } from "../ports/Body.ts"
import type { MessageHandler, TransportClient } from "../ports/Transport.ts"
import { type AgentError, type AgentRequests, makeAgentRequests, type ToolRequest } from "./AgentRequests.ts"
import { type ComputerView, applyNotice, applyUpdate, type OfficeView, initialView } from "./OfficeView.ts"
import { makeAgentQueries, type AgentQueries } from "./AgentQueries.ts"
import { findToolOwner, type AmbiguousTool } from "./findToolOwner.ts"
import { makeRefresher } from "../shared/Refresher.ts"

/** What an Agent can listen to. */
export type AgentEvent =
  | Notification
  | { readonly _tag: "Joined" }
  | { readonly _tag: "Lost"; readonly reason: string }

/** Who the Agent is, and where. */
export interface AgentOptions {
  readonly office: string
  readonly name: string
  /** Keep trying while the Server cannot be reached, or lets nobody in right now; otherwise that is a failure. */
  readonly retryInitialConnect?: boolean
}

/** How many events wait for a listener that lags; older ones are dropped first. */
const eventBacklog = 1024

/** How long a call without a Computer waits for what is not known of the office yet. */
const toolOwnerTimeout = Duration.seconds(10)

/** A tool to call. Without a `computer` it is the one that has the tool. */
export interface ToolCall extends Omit<ToolRequest, "computer"> {
  readonly computer?: string | undefined
}

interface AgentShape extends Omit<AgentRequests, "callTool">, AgentQueries {
  /**
   * Calls a tool. A failed tool is a result with `isError`, not an error; so is a call that took too long.
   * Interrupting the effect cancels the call where it runs. Nothing is ever called twice.
   */
  readonly callTool: (call: ToolCall) => Effect.Effect<ToolResult, AgentError | AmbiguousTool>
  /** What is known of the office right now: members, tools and desktops, kept fresh by notifications. */
  readonly view: Effect.Effect<OfficeView>
  /** The view now, and again after every change. */
  readonly changes: Stream.Stream<OfficeView>
  /** The same of one Computer; `undefined` while it is not there. */
  readonly changesOf: (computer: string) => Stream.Stream<ComputerView | undefined>
  /** Events from now on. */
  readonly events: Stream.Stream<AgentEvent>
  /** Waits until everything that is being fetched for the view has come. */
  readonly settled: Effect.Effect<void>
  /** Where the Agent stands with the Server, now and after every change. */
  readonly status: Stream.Stream<MemberStatus>
  /** The seat itself, for events that this version does not know. */
  readonly member: OfficeMember
}

const make = Effect.fnUntraced(function* ({
  name,
  office,
  retryInitialConnect
}: AgentOptions): Effect.fn.Return<AgentShape, JoinFailed, Scope.Scope | TransportClient> {
  const view = yield* SubscriptionRef.make(initialView([]))
  const hub = yield* Effect.acquireRelease(PubSub.sliding<AgentEvent>(eventBacklog), PubSub.shutdown)
  const { refresh, awaitIdle } = yield* makeRefresher()
  const publish = (event: AgentEvent) => Effect.asVoid(PubSub.publish(hub, event))

  const makeViewUpdater = (requests: AgentRequests) => {
    const refreshPart = (
      what: string,
      computer: string,
      fetch: Effect.Effect<Partial<ComputerView>, AgentError>
    ) =>
      refresh(
        `${what} ${computer}`,
        Effect.matchEffect(fetch, {
          onSuccess: (fetched) =>
            SubscriptionRef.update(view, (known) => applyUpdate(known, computer, fetched)),
          onFailure: (error) =>
            Effect.logDebug("view not refreshed", { what, computer, reason: error.message })
        })
      )
    const refreshTools = (computer: string) =>
      refreshPart(
        "tools",
        computer,
        Effect.map(requests.getTools(computer), (found) => ({ tools: found }))
      )
    const refreshDesktop = (computer: string) =>
      refreshPart(
        "desktop",
        computer,
        Effect.map(requests.getDesktop(computer), (found) => ({ desktop: found }))
      )
    const refreshDocuments = (computer: string) =>
      refreshPart(
        "documents",
        computer,
        Effect.map(requests.findDocuments(computer), (found) => ({ documents: found.documents }))
      )
    const refreshComputer = (computer: string) =>
      Effect.andThen(refreshTools(computer), refreshDesktop(computer))
    const refreshByPart: { readonly [P in ComputerPart]: (computer: string) => Effect.Effect<void> } = {
      config: refreshTools,
      toolList: refreshTools,
      desktop: refreshDesktop,
      finder: refreshDocuments
    }
    /** Learns who is here; needed after every join, since nobody tells about those who were here before. */
    const refreshAll = refresh(
      "members",
      Effect.matchEffect(requests.members, {
        onSuccess: (members) => {
          const found = initialView(members)
          return Effect.andThen(
            SubscriptionRef.set(view, found),
            Effect.forEach(found.computers.keys(), refreshComputer, { discard: true })
          )
        },
        // Who was disconnected asks again when it is back, or has left.
        onFailure: ({ _tag, message: reason }) =>
          _tag === "Disconnected"
            ? Effect.logDebug("members not known", { reason })
            : Effect.logWarning("members not known", { reason })
      })
    )
    const onNotice = Effect.fnUntraced(function* (notice: Notification) {
      yield* SubscriptionRef.update(view, (known) => applyNotice(known, notice))
      yield* publish(notice)
      if (notice._tag === "Entered" && notice.membership.role === "computer")
        yield* refreshComputer(notice.membership.name)
      if (notice._tag === "Updated") yield* refreshByPart[notice.part](notice.computer)
    })
    return { onNotice, refreshAll, refreshTools }
  }

  const member = yield* joinOffice(
    { role: "agent", office, name, ...(retryInitialConnect !== undefined && { retryInitialConnect }) },
    (self) => {
      const { onNotice, refreshAll } = makeViewUpdater(makeAgentRequests(self, name, office))
      const onMessage: MessageHandler = (event, body) => {
        const decoded = decodeBody(body, (wire) => self.line.decodeNotification(event, wire))
        return Result.match(decoded, {
          onSuccess: (notice) => Effect.as(onNotice(notice), []),
          onFailure: ({ message }) =>
            Effect.as(Effect.logDebug("message ignored", { event, reason: message }), [
              jsonBody(self.line.encodeProtocolError(unknownEvent(event)))
            ])
        })
      }
      return {
        onMessage,
        onJoined: Effect.andThen(publish({ _tag: "Joined" }), refreshAll),
        onLost: (reason) => publish({ _tag: "Lost", reason })
      }
    }
  )

  const requests = makeAgentRequests(member, name, office)
  const { refreshTools } = makeViewUpdater(requests)
  const settledView = Effect.andThen(
    Effect.timeoutOption(awaitIdle, toolOwnerTimeout),
    SubscriptionRef.get(view)
  )
  const refreshedView = Effect.flatMap(SubscriptionRef.get(view), ({ computers }) =>
    Effect.andThen(Effect.forEach(computers.keys(), refreshTools, { discard: true }), settledView)
  )

  return {
    ...requests,
    ...(yield* makeAgentQueries(requests)),
    callTool: ({ computer, ...call }) =>
      Effect.flatMap(
        computer === undefined
          ? findToolOwner(call.tool, settledView, refreshedView)
          : Effect.succeed(computer),
        (owner) => requests.callTool({ ...call, computer: owner })
      ),
    view: SubscriptionRef.get(view),
    changes: SubscriptionRef.changes(view),
    changesOf: (computer) =>
      SubscriptionRef.changes(view).pipe(
        Stream.map(({ computers }) => computers.get(computer)),
        Stream.changesWith((one, other) => one === other)
      ),
    events: Stream.fromPubSub(hub),
    settled: awaitIdle,
    status: SubscriptionRef.changes(member.status),
    member
  }
})

/** The thinking side of an office: calls tools, sees desktops, knows who is there. */
export class Agent extends Context.Service<Agent, AgentShape>()("a2c-smcp/application/agent/Agent") {
  /** Joins an office for as long as the layer lives; comes back by itself when the connection is lost. */
  static readonly layer = (options: AgentOptions): Layer.Layer<Agent, JoinFailed, TransportClient> =>
    Layer.effect(Agent, make(options))
}
