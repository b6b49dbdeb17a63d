import { Context, Duration, Effect, Layer, PubSub, Result, type Scope, Stream, SubscriptionRef } from "effect"
import type { Notice, Part } from "../../domain/office/notice.ts"
import type { ToolResult } from "../../domain/protocol/v0_2/tools.ts"
import { unknownEvent } from "../../domain/refusal.ts"
import { joinOffice, type JoinFailed, type MemberStatus, type OfficeMember } from "../member/OfficeMember.ts"
import { decodeBody, jsonBody } from "../ports/Body.ts"
import type { Receive, TransportClient } from "../ports/Transport.ts"
import { type AgentError, type AgentRequests, makeRequests, type ToolRequest } from "./AgentRequests.ts"
import { type ComputerView, follow, learn, type OfficeView, viewOf } from "./OfficeView.ts"
import { makeReading, type Reading } from "./Reading.ts"
import { ownerOf, type OwnerUnclear } from "./ToolOwner.ts"
import { makeRefresher } from "../Refresher.ts"

/** What an Agent can listen to. */
export type AgentEvent =
  | Notice
  | { readonly _tag: "Joined" }
  | { readonly _tag: "Lost"; readonly reason: string }

/** Who the Agent is, and where. */
export interface AgentOptions {
  readonly office: string
  readonly name: string
  /** Keep trying while the Server cannot be reached, or lets nobody in right now; otherwise that is a failure. */
  readonly patient?: boolean
}

/** How many events wait for a listener that lags; older ones are dropped first. */
const eventBacklog = 1024

/** How long a call without a Computer waits for what is not known of the office yet. */
const ownerPatience = Duration.seconds(10)

/** A tool to call. Without a `computer` it is the one that has the tool. */
export interface ToolCall extends Omit<ToolRequest, "computer"> {
  readonly computer?: string | undefined
}

interface AgentShape extends Omit<AgentRequests, "callTool">, Reading {
  /**
   * Calls a tool. A failed tool is a result with `isError`, not an error; so is a call that took too long.
   * Interrupting the effect cancels the call where it runs. Nothing is ever called twice.
   */
  readonly callTool: (call: ToolCall) => Effect.Effect<ToolResult, AgentError | OwnerUnclear>
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
  patient
}: AgentOptions): Effect.fn.Return<AgentShape, JoinFailed, Scope.Scope | TransportClient> {
  const view = yield* SubscriptionRef.make(viewOf([]))
  const hub = yield* Effect.acquireRelease(PubSub.sliding<AgentEvent>(eventBacklog), PubSub.shutdown)
  const { refresh, settled } = yield* makeRefresher()
  const publish = (event: AgentEvent) => Effect.asVoid(PubSub.publish(hub, event))

  const keeping = (requests: AgentRequests) => {
    const update = (
      what: string,
      computer: string,
      fetch: Effect.Effect<Partial<ComputerView>, AgentError>
    ) =>
      refresh(
        `${what} ${computer}`,
        Effect.matchEffect(fetch, {
          onSuccess: (news) => SubscriptionRef.update(view, (known) => learn(known, computer, news)),
          onFailure: (error) =>
            Effect.logDebug("view not refreshed", { what, computer, reason: error.message })
        })
      )
    const tools = (computer: string) =>
      update(
        "tools",
        computer,
        Effect.map(requests.getTools(computer), (found) => ({ tools: found }))
      )
    const desktop = (computer: string) =>
      update(
        "desktop",
        computer,
        Effect.map(requests.getDesktop(computer), (found) => ({ desktop: found }))
      )
    const documents = (computer: string) =>
      update(
        "documents",
        computer,
        Effect.map(requests.findDocuments(computer), (found) => ({ documents: found.documents }))
      )
    const newcomer = (computer: string) => Effect.andThen(tools(computer), desktop(computer))
    const part: { readonly [P in Part]: (computer: string) => Effect.Effect<void> } = {
      config: tools,
      toolList: tools,
      desktop,
      finder: documents
    }
    /** Learns who is here; needed after every join, since nobody tells about those who were here before. */
    const everything = refresh(
      "members",
      Effect.matchEffect(requests.members, {
        onSuccess: (members) => {
          const found = viewOf(members)
          return Effect.andThen(
            SubscriptionRef.set(view, found),
            Effect.forEach(found.computers.keys(), newcomer, { discard: true })
          )
        },
        // Who was disconnected asks again when it is back, or has left.
        onFailure: ({ _tag, message: reason }) =>
          _tag === "Disconnected"
            ? Effect.logDebug("members not known", { reason })
            : Effect.logWarning("members not known", { reason })
      })
    )
    const notice = Effect.fnUntraced(function* (given: Notice) {
      yield* SubscriptionRef.update(view, (known) => follow(known, given))
      yield* publish(given)
      if (given._tag === "Entered" && given.seat.role === "computer") yield* newcomer(given.seat.name)
      if (given._tag === "Updated") yield* part[given.part](given.computer)
    })
    return { everything, notice, tools }
  }

  const member = yield* joinOffice(
    { role: "agent", office, name, ...(patient !== undefined && { patient }) },
    (seat) => {
      const { everything, notice } = keeping(makeRequests(seat, name, office))
      const receive: Receive = (event, body) => {
        const read = decodeBody(body, (wire) => seat.line.readNotice(event, wire))
        return Result.match(read, {
          onSuccess: (given) => Effect.as(notice(given), []),
          onFailure: ({ message }) =>
            Effect.as(Effect.logDebug("message ignored", { event, reason: message }), [
              jsonBody(seat.line.writeRefusal(unknownEvent(event)))
            ])
        })
      }
      return {
        receive,
        onJoined: Effect.andThen(publish({ _tag: "Joined" }), everything),
        onLost: (reason) => publish({ _tag: "Lost", reason })
      }
    }
  )

  const requests = makeRequests(member, name, office)
  const { tools } = keeping(requests)
  const look = Effect.andThen(Effect.timeoutOption(settled, ownerPatience), SubscriptionRef.get(view))
  const refreshed = Effect.flatMap(SubscriptionRef.get(view), ({ computers }) =>
    Effect.andThen(Effect.forEach(computers.keys(), tools, { discard: true }), look)
  )

  return {
    ...requests,
    ...(yield* makeReading(requests)),
    callTool: ({ computer, ...call }) =>
      Effect.flatMap(
        computer === undefined ? ownerOf(call.tool, look, refreshed) : Effect.succeed(computer),
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
    settled,
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
