import { Data, Duration, Effect, Result, Schema } from "effect"
import type { FinderPage } from "../../domain/documents/findDocuments.ts"
import { parseStrictDpeUri } from "../../domain/documents/DpeUri.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { CallDefinition } from "../../domain/wire/lines.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { DocumentLocation, ResourcePage } from "../../domain/model/requests.ts"
import type { SessionInfo } from "../../domain/model/SessionInfo.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { formatSchemaError } from "../../domain/validation.ts"
import { badRequest, errorCodes, ProtocolError } from "../../domain/model/ProtocolError.ts"
import { toolTimedOut } from "../../domain/tools/errorResults.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import { type Body, jsonBody } from "../ports/Body.ts"
import type { Reply } from "../ports/Transport.ts"
import { withClientSpan } from "../shared/tracing.ts"

/** The connection was lost, or is not there; nothing is known of what the request did. */
export class Disconnected extends Data.TaggedError("Disconnected")<{ readonly message: string }> {}

/** The Server did not answer in time. */
export class ServerTimeout extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

/** The answer is not what the protocol promises. */
export class BadReply extends Data.TaggedError("BadReply")<{ readonly message: string }> {}

/** Why a request of an Agent has no result. A {@link ProtocolError} is the other side's word, the others are ours. */
export type AgentError = ProtocolError | Disconnected | ServerTimeout | BadReply

/** A tool to call. `timeout` in whole seconds, 1…3600; a minute unless given. */
export interface ToolRequest {
  readonly computer: string
  readonly tool: string
  readonly params?: JsonObject
  readonly timeout?: number
}

/** Everything an Agent can ask. */
export interface AgentRequests {
  /** Everybody in the office. */
  readonly members: Effect.Effect<ReadonlyArray<SessionInfo>, AgentError>
  /**
   * Calls a tool. A failed tool is a result with `isError`, not an error; so is a call that took too long.
   * Interrupting the effect cancels the call where it runs.
   */
  readonly callTool: (request: ToolRequest) => Effect.Effect<ToolResult, AgentError>
  readonly getTools: (computer: string) => Effect.Effect<ReadonlyArray<Tool>, AgentError>
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
  ) => Effect.Effect<DocumentLocation, AgentError>
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
const defaultTimeout = Duration.seconds(35)

/** How much longer than the Computer's own time we wait for a document. */
const dpeTimeout = { defaultSeconds: 60, marginSeconds: 10 }

const acknowledgedValue = (reply: Reply): Result.Result<unknown, AgentError> => {
  const [body] = reply
  return body === undefined ? Result.fail(new BadReply({ message: "The answer is empty" })) : body.value()
}

/** A request with a value that the protocol does not allow. */
const toBadRequest = (error: unknown): ProtocolError =>
  badRequest(Schema.isSchemaError(error) ? formatSchemaError(error) : String(error))

/** Requests over a seat in an office, in the name of its Agent. */
export const makeAgentRequests = (member: OfficeMember, agent: string, office: string): AgentRequests => {
  const { calls, cancel, serverRequests } = member.line

  const send = (event: string, body: Body, timeout: Duration.Duration) =>
    member.request(event, body, timeout).pipe(
      Effect.mapError((error): AgentError => {
        switch (error._tag) {
          case "LinkClosed":
            return new Disconnected({ message: error.message })
          case "NoAnswer":
            return new ServerTimeout({
              message: `Timed out after ${Duration.toSeconds(error.timeout)} seconds`
            })
          case "NotSent":
            return error.error
          case "NotPermitted":
            return new ProtocolError({ code: errorCodes.forbidden, message: error.message })
        }
      })
    )

  /** Sends a request and reads its reply, or the refusal that came instead. */
  const sendAndDecode = <Request extends { readonly reqId: string }, Reply>(
    definition: Pick<CallDefinition<Request, Reply>, "event" | "request" | "reply">,
    payload: Request,
    timeout: Duration.Duration
  ): Effect.Effect<Reply, AgentError> =>
    Effect.try({ try: () => definition.request.encode(payload), catch: toBadRequest }).pipe(
      Effect.flatMap((wire) => send(definition.event, jsonBody(wire), timeout)),
      Effect.flatMap((reply) =>
        Effect.fromResult(
          Result.gen(function* () {
            const value = yield* acknowledgedValue(reply)
            const error = member.line.decodeProtocolError(value)
            if (error !== undefined) return yield* Result.fail(error)
            const decoded = yield* Result.mapError(
              definition.reply.decode(value),
              (message) => new BadReply({ message })
            )
            const echoed = (decoded as { readonly reqId?: unknown }).reqId
            return echoed === undefined || echoed === payload.reqId
              ? decoded
              : yield* Result.fail(new BadReply({ message: "The answer belongs to another request" }))
          })
        )
      )
    )

  const tracedRequest = <Request extends { readonly reqId: string }, Reply>(
    definition: Pick<CallDefinition<Request, Reply>, "event" | "request" | "reply">,
    make: (base: { readonly agent: string; readonly reqId: string }) => Request,
    timeout = defaultTimeout
  ) =>
    withClientSpan(definition.event, { "a2c.office": office }, (reqId) =>
      sendAndDecode(definition, make({ agent, reqId }), timeout)
    )

  const callTool = ({ computer, params = {}, timeout = defaultToolSeconds, tool }: ToolRequest) => {
    const attributes = { "a2c.office": office, "a2c.computer": computer, "gen_ai.tool.name": tool }
    return withClientSpan(calls.toolCall.event, attributes, (reqId) => {
      const cancelBody = jsonBody(cancel.request.encode({ agent, reqId }))
      const sendCancel = Effect.ignore(member.notify(cancel.event, cancelBody))
      return sendAndDecode(
        calls.toolCall,
        { agent, reqId, computer, toolName: tool, params, timeout },
        Duration.seconds(timeout)
      ).pipe(
        Effect.onInterrupt(() => sendCancel),
        Effect.catchTag("Unanswered", () => Effect.as(sendCancel, toolTimedOut("agent")))
      )
    })
  }

  return {
    members: Effect.map(
      tracedRequest(serverRequests.list, (base) => ({ ...base, officeId: office })),
      ({ sessions }) => sessions
    ),
    callTool,
    getTools: (computer) =>
      Effect.map(
        tracedRequest(calls.getTools, (base) => ({ ...base, computer })),
        ({ tools }) => tools
      ),
    getConfig: (computer) => tracedRequest(calls.getConfig, (base) => ({ ...base, computer })),
    getDesktop: (computer, { size, window } = {}) =>
      Effect.map(
        tracedRequest(calls.getDesktop, (base) => ({
          ...base,
          computer,
          ...(size !== undefined && { desktopSize: size }),
          ...(window !== undefined && { window })
        })),
        ({ desktops }) => desktops
      ),
    getDpe: (computer, uri, { timeout } = {}) => {
      const checked = parseStrictDpeUri(uri)
      if (Result.isFailure(checked)) {
        const { message } = checked.failure
        return Effect.fail(new ProtocolError({ code: errorCodes.invalidDpeUri, message, extra: { uri } }))
      }
      return Effect.map(
        tracedRequest(
          calls.getDpe,
          (base) => ({ ...base, computer, uri, ...(timeout !== undefined && { timeout }) }),
          Duration.seconds((timeout ?? dpeTimeout.defaultSeconds) + dpeTimeout.marginSeconds)
        ),
        ({ reqId: _, ...found }) => found
      )
    },
    getResources: (computer, mcpServer, cursor) =>
      Effect.map(
        tracedRequest(calls.getResources, (base) => ({
          ...base,
          computer,
          mcpServer,
          ...(cursor !== undefined && { cursor })
        })),
        ({ reqId: _, ...page }) => page
      ),
    findDocuments: (computer, query = {}) =>
      Effect.map(
        tracedRequest(calls.getFinder, (base) => ({ offset: 0, limit: 20, ...base, computer, ...query })),
        ({ reqId: _, ...page }) => page
      )
  }
}
