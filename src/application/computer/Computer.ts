import { Context, Effect, Layer, Result, type Scope, type Stream, SubscriptionRef } from "effect"
import type { Part } from "../../domain/office/notice.ts"
import type { Line } from "../../domain/protocol/lines.ts"
import type { ComputerConfig } from "../../domain/protocol/v0_2/config.ts"
import type { CallRow } from "../../domain/protocol/v0_2/events.ts"
import { computerNotFound, internal, type Refusal, tooLarge, unknownEvent } from "../../domain/refusal.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import { toolFailed } from "../../domain/tools/result.ts"
import { joinOffice, type JoinFailed, type MemberStatus, type OfficeMember } from "../member/OfficeMember.ts"
import { type Body, decodeBody, jsonBody } from "../ports/Body.ts"
import type { McpConnector } from "../ports/McpSession.ts"
import type { Receive, TransportClient } from "../ports/Transport.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import { makeDesktop } from "./Desktop.ts"
import { makeDocuments } from "./Documents.ts"
import type { Inputs } from "./Inputs.ts"
import type { ServerState } from "./Offer.ts"
import { makeSessionPool } from "./SessionPool.ts"
import { makeToolCalls, type ToolCallRecord } from "./ToolCalls.ts"

/** Who the Computer is, where, and what it drives. */
export interface ComputerOptions {
  readonly office: string
  readonly name: string
  readonly config: ComputerConfig
  /** Keep trying while the Server cannot be reached at first; otherwise that is a failure. */
  readonly patient?: boolean
}

interface ComputerShape {
  /** Every configured MCP server and where it stands. */
  readonly servers: Effect.Effect<ReadonlyMap<string, ServerState>>
  /** What the office can call, and what is hidden and why. */
  readonly catalogue: Effect.Effect<Catalogue>
  /** The last calls that reached a server, oldest first. */
  readonly history: Effect.Effect<ReadonlyArray<ToolCallRecord>>
  /** Where the Computer stands with the Server, now and after every change. */
  readonly status: Stream.Stream<MemberStatus>
  /** The seat itself, for events that this version does not know. */
  readonly member: OfficeMember
}

type Calls = Line["calls"]

/** What a Computer answers: one handler for every request of the event table. */
type Handlers = {
  readonly [K in keyof Calls]: Calls[K] extends CallRow<infer Request, infer Reply>
    ? (request: Request) => Effect.Effect<Reply, Refusal>
    : never
}

/** The answer to one request, from its body to the value that goes back. */
type Serve = (body: Body) => Effect.Effect<unknown, Refusal>

/** A row of the table with its handler: how the event is served, under each of its names. */
const serving = <Request extends { readonly computer: string }, Reply>(
  name: string,
  { aliases, event, reply, request }: CallRow<Request, Reply>,
  handle: (request: Request) => Effect.Effect<Reply, Refusal>
): ReadonlyArray<readonly [string, Serve]> => {
  const serve: Serve = (body) =>
    Effect.fromResult(decodeBody(body, request.decode)).pipe(
      Effect.filterOrFail(
        ({ computer }) => computer === name,
        ({ computer }) => computerNotFound(computer)
      ),
      Effect.flatMap(handle),
      Effect.map(reply.encode)
    )
  return [event, ...aliases].map((spelling) => [spelling, serve])
}

const table = (name: string, calls: Calls, handlers: Handlers): ReadonlyMap<string, Serve> => {
  const rows: { readonly [K in keyof Calls]: ReadonlyArray<readonly [string, Serve]> } = {
    toolCall: serving(name, calls.toolCall, handlers.toolCall),
    getTools: serving(name, calls.getTools, handlers.getTools),
    getConfig: serving(name, calls.getConfig, handlers.getConfig),
    getDesktop: serving(name, calls.getDesktop, handlers.getDesktop),
    getDpe: serving(name, calls.getDpe, handlers.getDpe),
    getResources: serving(name, calls.getResources, handlers.getResources),
    getFinder: serving(name, calls.getFinder, handlers.getFinder)
  }
  return new Map(Object.values(rows).flat())
}

const make = Effect.fnUntraced(function* ({
  config,
  name,
  office,
  patient
}: ComputerOptions): Effect.fn.Return<
  ComputerShape,
  JoinFailed,
  Scope.Scope | TransportClient | McpConnector | Inputs
> {
  const { startupPatience } = yield* ComputerSettings
  let seat: OfficeMember | undefined

  /** Tells the office that a part has changed; nobody is told while there is no office. */
  const announce = (part: Part) =>
    Effect.suspend(() => {
      if (seat === undefined) return Effect.void
      const { event, request } = seat.line.reports[part]
      return Effect.ignore(seat.tell(event, jsonBody(request.encode({ computer: name }))))
    })

  const pool = yield* makeSessionPool(config, announce)
  const calls = yield* makeToolCalls(pool)
  const used = () => calls.history().map(({ server }) => server)
  const desktop = yield* makeDesktop(pool, used)
  const documents = yield* makeDocuments(pool, used)

  const handlers: Handlers = {
    toolCall: calls.call,
    getTools: ({ reqId }) =>
      Effect.sync(() => ({ tools: [...pool.catalogue().entries.values()].map(({ tool }) => tool), reqId })),
    getConfig: () => Effect.succeed(config),
    getDesktop: ({ desktopSize, reqId, window }) =>
      Effect.map(
        desktop.show({
          ...(desktopSize !== undefined && { size: desktopSize }),
          ...(window !== undefined && { window })
        }),
        (desktops) => ({ desktops, reqId })
      ),
    getDpe: documents.dpe,
    getResources: documents.resources,
    getFinder: (request) => Effect.map(documents.find(request), (page) => ({ ...page, reqId: request.reqId }))
  }

  const receiverFor = (member: OfficeMember): Receive => {
    const { line } = member
    const served = table(name, line.calls, handlers)
    const refusal = (given: Refusal): Body => jsonBody(line.writeRefusal(given))

    /** What is said instead of an answer the connection cannot carry (case 152). */
    const bounded = (event: string, body: Body): Body => {
      if (member.fits(body)) return body
      const why = "The answer is larger than a message may be"
      return event === line.calls.toolCall.event
        ? jsonBody(line.calls.toolCall.reply.encode(toolFailed(why)))
        : refusal(tooLarge(member.maxBytes()))
    }

    const notified = (event: string, body: Body): Effect.Effect<void> => {
      const notice = decodeBody(body, (wire) => line.readNotice(event, wire))
      if (Result.isFailure(notice)) {
        return Effect.logDebug("message ignored", { event, reason: notice.failure.message })
      }
      if (notice.success._tag === "Cancelled") return calls.cancel(notice.success.reqId)
      const agentLeft = notice.success._tag === "Left" && notice.success.seat.role === "agent"
      return agentLeft ? calls.reset : Effect.void
    }

    return (event, body) => {
      const serve = served.get(event)
      if (serve !== undefined) {
        return serve(body).pipe(
          Effect.match({
            onSuccess: (value) => bounded(event, jsonBody(value)),
            onFailure: refusal
          }),
          Effect.catchDefect((defect) =>
            Effect.as(
              Effect.logError("request failed", { event }, defect),
              refusal(internal("Internal error"))
            )
          ),
          Effect.map((answer) => [answer])
        )
      }
      if (event.startsWith("notify:")) return Effect.as(notified(event, body), [])
      return Effect.succeed([refusal(unknownEvent(event))])
    }
  }

  yield* Effect.timeoutOption(pool.started, startupPatience)
  const member = yield* joinOffice(
    { role: "computer", office, name, ...(patient !== undefined && { patient }) },
    (given) => ({
      receive: receiverFor(given),
      onJoined: Effect.sync(() => {
        seat = given
      }),
      onLost: () => calls.reset
    })
  )

  return {
    servers: Effect.sync(pool.states),
    catalogue: Effect.sync(pool.catalogue),
    history: Effect.sync(calls.history),
    status: SubscriptionRef.changes(member.status),
    member
  }
})

/** The acting side of an office: drives MCP servers and offers their tools, windows and documents. */
export class Computer extends Context.Service<Computer, ComputerShape>()(
  "a2c-smcp/application/computer/Computer"
) {
  /** Starts the servers, joins the office, and stays for as long as the layer lives. */
  static readonly layer = (
    options: ComputerOptions
  ): Layer.Layer<Computer, JoinFailed, TransportClient | McpConnector | Inputs> =>
    Layer.effect(Computer, make(options))
}
