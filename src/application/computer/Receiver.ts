import { Effect, Result } from "effect"
import type { Line } from "../../domain/protocol/lines.ts"
import type { CallRow } from "../../domain/protocol/v0_2/events.ts"
import type { SmcpTool, ToolResult } from "../../domain/protocol/v0_2/tools.ts"
import { computerNotFound, internal, type Refusal, tooLarge, unknownEvent } from "../../domain/refusal.ts"
import { toolFailed } from "../../domain/tools/result.ts"
import { withoutTransformed } from "../../domain/tools/vrl.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import { type Body, decodeBody, jsonBody } from "../ports/Body.ts"
import type { Receive } from "../ports/Transport.ts"
import { asServed } from "../tracing.ts"
import type { Desktop } from "./Desktop.ts"
import type { Documents } from "./Documents.ts"
import { fitting } from "./fitting.ts"
import type { SessionPool } from "./SessionPool.ts"
import type { ToolCalls } from "./ToolCalls.ts"

/** The parts of a Computer that answer for it. */
export interface Parts {
  readonly name: string
  readonly pool: SessionPool
  readonly calls: ToolCalls
  readonly desktop: Desktop
  readonly documents: Documents
}

type Calls = Line["calls"]

/** The answer to one request, from its body to the body that goes back. */
type Serve = (body: Body) => Effect.Effect<Body, Refusal>

/** What a member of an office does with the requests and notices that come to a Computer. */
export const receiverFor = (
  { calls, desktop, documents, name, pool }: Parts,
  { fits, line, maxBytes }: OfficeMember
): Receive => {
  const refusal = (given: Refusal): Body => jsonBody(line.writeRefusal(given))

  /** An answer, or what is said instead of one that the connection cannot carry (case 152). */
  const bounded = (body: Body): Body => (fits(body) ? body : refusal(tooLarge(maxBytes())))

  /** A row of the table with its handler: how the event is served, under each of its names. */
  const serving = <
    Request extends { readonly computer: string; readonly agent: string; readonly reqId: string },
    Reply
  >(
    { aliases, event, reply, request }: CallRow<Request, Reply>,
    handle: (request: Request) => Effect.Effect<Reply, Refusal>,
    write: (reply: Reply) => Effect.Effect<Body> = (given) =>
      Effect.succeed(bounded(jsonBody(reply.encode(given))))
  ): ReadonlyArray<readonly [string, Serve]> => {
    const serve: Serve = (body) =>
      Effect.fromResult(decodeBody(body, request.decode)).pipe(
        Effect.filterOrFail(
          ({ computer }) => computer === name,
          ({ computer }) => computerNotFound(computer)
        ),
        Effect.flatMap((given) =>
          asServed(
            event,
            { "a2c.computer": name, "a2c.agent": given.agent },
            given.reqId,
            Effect.flatMap(handle(given), write)
          )
        )
      )
    return [event, ...aliases].map((spelling) => [spelling, serve])
  }

  /** A tool's result, as much of it as the connection can carry. */
  const writeResult = (result: ToolResult): Effect.Effect<Body> => {
    const bodyOf = (given: ToolResult) => jsonBody(line.calls.toolCall.reply.encode(given))
    const whole = bodyOf(result)
    if (fits(whole)) return Effect.succeed(whole)
    const without = bodyOf(withoutTransformed(result))
    return Effect.succeed(
      fits(without) ? without : bodyOf(toolFailed("The answer is larger than a message may be"))
    )
  }

  /** A list that is the answer, as much of it as the connection can carry. */
  const writeList = <A>(
    event: string,
    items: ReadonlyArray<A>,
    ownerOf: (item: A) => string,
    write: (items: ReadonlyArray<A>) => unknown
  ): Effect.Effect<Body> => {
    const fitted = fitting(items, ownerOf, (some) => jsonBody(write(some)), fits)
    if (fitted === undefined) return Effect.succeed(refusal(tooLarge(maxBytes())))
    const { body, left } = fitted
    if (left.length === 0) return Effect.succeed(body)
    return Effect.as(Effect.logWarning("left out: larger than a message may be", { event, left }), body)
  }
  const { getDesktop, getTools } = line.calls
  const serverOf = (tool: SmcpTool): string => pool.catalogue().entries.get(tool.name)?.server ?? ""
  /** The first line of what is shown of a window is its URI. */
  const uriOf = (shown: string): string => shown.split("\n", 1)[0] ?? ""

  const rows: { readonly [K in keyof Calls]: ReadonlyArray<readonly [string, Serve]> } = {
    toolCall: serving(line.calls.toolCall, calls.call, writeResult),
    getTools: serving(
      getTools,
      ({ reqId }) =>
        Effect.sync(() => ({ tools: [...pool.catalogue().entries.values()].map(({ tool }) => tool), reqId })),
      ({ reqId, tools }) =>
        writeList(getTools.event, tools, serverOf, (some) =>
          getTools.reply.encode({ tools: [...some], reqId })
        )
    ),
    getConfig: serving(line.calls.getConfig, () => Effect.sync(() => pool.setup().config)),
    getDesktop: serving(
      getDesktop,
      ({ desktopSize, reqId, window }) =>
        Effect.map(
          desktop.show({
            ...(desktopSize !== undefined && { size: desktopSize }),
            ...(window !== undefined && { window })
          }),
          (desktops) => ({ desktops, reqId })
        ),
      ({ desktops, reqId }) =>
        writeList(getDesktop.event, desktops, uriOf, (some) =>
          getDesktop.reply.encode({ desktops: [...some], reqId })
        )
    ),
    getDpe: serving(line.calls.getDpe, documents.dpe),
    getResources: serving(line.calls.getResources, documents.resources),
    getFinder: serving(line.calls.getFinder, (request) =>
      Effect.map(documents.find(request), (page) => ({ ...page, reqId: request.reqId }))
    )
  }
  const served = new Map(Object.values(rows).flat())

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
        Effect.catch((given) => Effect.succeed(refusal(given))),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logError("request failed", { event }, defect), refusal(internal("Internal error")))
        ),
        Effect.map((answer) => [answer])
      )
    }
    if (event.startsWith("notify:")) return Effect.as(notified(event, body), [])
    return Effect.succeed([refusal(unknownEvent(event))])
  }
}
