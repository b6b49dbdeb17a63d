import { Data, Duration, Effect, Result, Schema } from "effect"
import type { FinderPage } from "../../domain/documents/finder.ts"
import { checkDpeUri } from "../../domain/documents/dpe.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { CallRow } from "../../domain/protocol/v0_2/events.ts"
import type { ComputerConfig } from "../../domain/protocol/v0_2/config.ts"
import type { GetDpeRet } from "../../domain/protocol/v0_2/calls.ts"
import type { SessionInfo } from "../../domain/protocol/v0_2/office.ts"
import type { SmcpTool, ToolResult } from "../../domain/protocol/v0_2/tools.ts"
import { explain } from "../../domain/explain.ts"
import { badRequest, codes, Refusal } from "../../domain/refusal.ts"
import { toolTimedOut } from "../../domain/tools/result.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import { type Body, jsonBody } from "../ports/Body.ts"
import type { Answer } from "../ports/Transport.ts"
import { asRequest } from "../tracing.ts"

/** The connection was lost, or is not there; nothing is known of what the request did. */
export class Disconnected extends Data.TaggedError("Disconnected")<{ readonly message: string }> {}

/** The Server did not answer in time. */
export class Unanswered extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

/** The answer is not what the protocol promises. */
export class BadReply extends Data.TaggedError("BadReply")<{ readonly message: string }> {}

/** Why a request of an Agent has no result. A {@link Refusal} is the other side's word, the others are ours. */
export type AgentError = Refusal | Disconnected | Unanswered | BadReply

/** A tool to call. `timeout` in whole seconds, 1…3600; a minute unless given. */
export interface ToolRequest {
  readonly computer: string
  readonly tool: string
  readonly params?: JsonObject
  readonly timeout?: number
}

/** One page of an MCP server's resources, objects as their server listed them. */
export interface ResourcePage {
  readonly resources: ReadonlyArray<JsonObject>
  readonly nextCursor?: string
}

/** Where a document can be fetched, and what is known of it; `size` in bytes. */
export type LocatedDocument = Omit<typeof GetDpeRet.Type, "reqId">

/** Everything an Agent can ask. */
export interface AgentRequests {
  /** Everybody in the office. */
  readonly members: Effect.Effect<ReadonlyArray<SessionInfo>, AgentError>
  /**
   * Calls a tool. A failed tool is a result with `isError`, not an error; so is a call that took too long.
   * Interrupting the effect cancels the call where it runs.
   */
  readonly callTool: (request: ToolRequest) => Effect.Effect<ToolResult, AgentError>
  readonly getTools: (computer: string) => Effect.Effect<ReadonlyArray<SmcpTool>, AgentError>
  readonly getConfig: (computer: string) => Effect.Effect<ComputerConfig, AgentError>
  /** The desktop, at most `size` windows of it, or the one `window` of this exact URI. */
  readonly getDesktop: (
    computer: string,
    options?: { readonly size?: number; readonly window?: string }
  ) => Effect.Effect<ReadonlyArray<string>, AgentError>
  /** Where a `dpe://` document can be fetched; `timeout` in whole seconds. */
  readonly getDpe: (
    computer: string,
    uri: string,
    options?: { readonly timeout?: number }
  ) => Effect.Effect<LocatedDocument, AgentError>
  readonly getResources: (
    computer: string,
    mcpServer: string,
    cursor?: string
  ) => Effect.Effect<ResourcePage, AgentError>
  readonly findDocuments: (
    computer: string,
    query?: {
      readonly keywords?: ReadonlyArray<string>
      readonly fileType?: string
      readonly offset?: number
      readonly limit?: number
    }
  ) => Effect.Effect<FinderPage, AgentError>
}

/** How long a tool call may take unless its request says, in seconds. */
const defaultToolSeconds = 60

/** How long we wait for an answer that names no time: longer than the Server does, so that its word arrives first. */
const patience = Duration.seconds(35)

/** How much longer than the Computer's own time we wait for a document. */
const dpeSeconds = { usual: 60, slack: 10 }

const firstOf = (answer: Answer): Result.Result<unknown, AgentError> => {
  const [body] = answer
  return body === undefined ? Result.fail(new BadReply({ message: "The answer is empty" })) : body.whole()
}

/** A request with a value that the protocol does not allow. */
const unsendable = (error: unknown): Refusal =>
  badRequest(Schema.isSchemaError(error) ? explain(error) : String(error))

/** Requests over a seat in an office, in the name of its Agent. */
export const makeRequests = (member: OfficeMember, agent: string, office: string): AgentRequests => {
  const { calls, cancel, offices } = member.line

  const send = (event: string, body: Body, deadline: Duration.Duration) =>
    member.ask(event, body, deadline).pipe(
      Effect.mapError((error): AgentError => {
        switch (error._tag) {
          case "LinkClosed":
            return new Disconnected({ message: error.message })
          case "NoAnswer":
            return new Unanswered({ message: `No answer within ${Duration.toSeconds(error.after)} seconds` })
          case "NotSent":
            return error.refusal
          case "NotPermitted":
            return new Refusal({ code: codes.forbidden, message: error.message })
        }
      })
    )

  /** Sends a request and reads its reply, or the refusal that came instead. */
  const request = <Request extends { readonly reqId: string }, Reply>(
    row: Pick<CallRow<Request, Reply>, "event" | "request" | "reply">,
    given: Request,
    deadline: Duration.Duration
  ): Effect.Effect<Reply, AgentError> =>
    Effect.try({ try: () => row.request.encode(given), catch: unsendable }).pipe(
      Effect.flatMap((wire) => send(row.event, jsonBody(wire), deadline)),
      Effect.flatMap((answer) =>
        Effect.fromResult(
          Result.gen(function* () {
            const value = yield* firstOf(answer)
            const refusal = member.line.readRefusal(value)
            if (refusal !== undefined) return yield* Result.fail(refusal)
            const reply = yield* Result.mapError(
              row.reply.decode(value),
              (why) => new BadReply({ message: why })
            )
            const echoed = (reply as { readonly reqId?: unknown }).reqId
            return echoed === undefined || echoed === given.reqId
              ? reply
              : yield* Result.fail(new BadReply({ message: "The answer belongs to another request" }))
          })
        )
      )
    )

  const ask = <Request extends { readonly reqId: string }, Reply>(
    row: Pick<CallRow<Request, Reply>, "event" | "request" | "reply">,
    make: (base: { readonly agent: string; readonly reqId: string }) => Request,
    deadline = patience
  ) =>
    asRequest(row.event, { "a2c.office": office }, (reqId) => request(row, make({ agent, reqId }), deadline))

  const callTool = ({ computer, params = {}, timeout = defaultToolSeconds, tool }: ToolRequest) => {
    const about = { "a2c.office": office, "a2c.computer": computer, "gen_ai.tool.name": tool }
    return asRequest(calls.toolCall.event, about, (reqId) => {
      const told = jsonBody(cancel.request.encode({ agent, reqId }))
      const giveUp = Effect.ignore(member.tell(cancel.event, told))
      return request(
        calls.toolCall,
        { agent, reqId, computer, toolName: tool, params, timeout },
        Duration.seconds(timeout)
      ).pipe(
        Effect.onInterrupt(() => giveUp),
        Effect.catchTag("Unanswered", () => Effect.as(giveUp, toolTimedOut("agent")))
      )
    })
  }

  return {
    members: Effect.map(
      ask(offices.list, (base) => ({ ...base, officeId: office })),
      ({ sessions }) => sessions
    ),
    callTool,
    getTools: (computer) =>
      Effect.map(
        ask(calls.getTools, (base) => ({ ...base, computer })),
        ({ tools }) => tools
      ),
    getConfig: (computer) => ask(calls.getConfig, (base) => ({ ...base, computer })),
    getDesktop: (computer, { size, window } = {}) =>
      Effect.map(
        ask(calls.getDesktop, (base) => ({
          ...base,
          computer,
          ...(size !== undefined && { desktopSize: size }),
          ...(window !== undefined && { window })
        })),
        ({ desktops }) => desktops
      ),
    getDpe: (computer, uri, { timeout } = {}) => {
      const checked = checkDpeUri(uri)
      if (Result.isFailure(checked)) {
        const { message } = checked.failure
        return Effect.fail(new Refusal({ code: codes.invalidDpeUri, message, extra: { uri } }))
      }
      return Effect.map(
        ask(
          calls.getDpe,
          (base) => ({ ...base, computer, uri, ...(timeout !== undefined && { timeout }) }),
          Duration.seconds((timeout ?? dpeSeconds.usual) + dpeSeconds.slack)
        ),
        ({ reqId: _, ...found }) => found
      )
    },
    getResources: (computer, mcpServer, cursor) =>
      Effect.map(
        ask(calls.getResources, (base) => ({
          ...base,
          computer,
          mcpServer,
          ...(cursor !== undefined && { cursor })
        })),
        ({ reqId: _, ...page }) => page
      ),
    findDocuments: (computer, query = {}) =>
      Effect.map(
        ask(calls.getFinder, (base) => ({ offset: 0, limit: 20, ...base, computer, ...query })),
        ({ reqId: _, ...page }) => page
      )
  }
}
