import { Data, Duration, Effect, Result, Schema } from "effect"
import type { FinderPage } from "../../domain/documents/findDocuments.ts"
import { parseStrictDpeUri } from "../../domain/documents/DpeUri.ts"
import { definedOnly } from "../../domain/definedOnly.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { CallDefinition } from "../../domain/wire/lines.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { DocumentLocation, ResourcePage } from "../../domain/model/requests.ts"
import type { SessionInfo } from "../../domain/model/Membership.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { formatSchemaError } from "../../domain/validation.ts"
import { badRequest, errorCodes, ProtocolError } from "../../domain/model/ProtocolError.ts"
import { toolTimedOut } from "../../domain/tools/errorResults.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import { jsonBody } from "../ports/Body.ts"
import type { Reply } from "../ports/Transport.ts"
import { withClientSpan } from "../shared/tracing.ts"

/** The member is not connected. The effect of a request in flight is unknown. */
export class Disconnected extends Data.TaggedError("Disconnected")<{ readonly message: string }> {}

/** The Server did not reply in time. */
export class ServerTimeout extends Data.TaggedError("ServerTimeout")<{ readonly message: string }> {}

/** The reply violates the protocol. */
export class BadReply extends Data.TaggedError("BadReply")<{ readonly message: string }> {}

/** Why a request failed. A {@link ProtocolError} comes from the peer, the other errors from this side. */
export type AgentError = ProtocolError | Disconnected | ServerTimeout | BadReply

/** A tool call; `timeout` in whole seconds, 1…3600, 60 by default. */
export interface ToolRequest {
  readonly computer: string
  readonly tool: string
  readonly params?: JsonObject
  readonly timeout?: number
}

/** The requests of an Agent. */
export interface AgentRequests {
  /** All members of the office. */
  readonly members: Effect.Effect<ReadonlyArray<SessionInfo>, AgentError>
  /**
   * Calls a tool. Failed tools and timeouts are results with `isError`. Interrupting the effect cancels the call on the
   * Computer.
   */
  readonly callTool: (request: ToolRequest) => Effect.Effect<ToolResult, AgentError>
  readonly getTools: (computer: string) => Effect.Effect<ReadonlyArray<Tool>, AgentError>
  readonly getConfig: (computer: string) => Effect.Effect<ComputerConfig, AgentError>
  /** The desktop: at most `size` windows, or the window with exactly this URI. */
  readonly getDesktop: (
    computer: string,
    options?: { readonly size?: number; readonly window?: string }
  ) => Effect.Effect<ReadonlyArray<string>, AgentError>
  /** The location of a `dpe://` document; `timeout` in whole seconds. */
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

const defaultToolSeconds = 60

/** Timeout of requests without a `timeout` field: longer than the Server's, whose error then arrives first. */
const defaultTimeout = Duration.seconds(35)

/** The Agent waits `marginSeconds` longer than the Computer may take to locate a document. */
const dpeTimeout = { defaultSeconds: 60, marginSeconds: 10 }

const acknowledgedValue = ([body]: Reply): Result.Result<unknown, AgentError> =>
  body === undefined ? Result.fail(new BadReply({ message: "The reply is empty" })) : body.value()

/** Maps an encoding failure: the caller passed a value that the protocol does not allow. */
const toBadRequest = (error: unknown): ProtocolError =>
  badRequest(Schema.isSchemaError(error) ? formatSchemaError(error) : String(error))

const toAgentError = (error: Effect.Error<ReturnType<OfficeMember["request"]>>): AgentError => {
  switch (error._tag) {
    case "LinkClosed":
      return new Disconnected({ message: error.message })
    case "RequestTimeout":
      return new ServerTimeout({ message: `No reply within ${Duration.toSeconds(error.timeout)} seconds` })
    case "SendFailed":
      return error.error
    case "NotPermitted":
      return new ProtocolError({ code: errorCodes.forbidden, message: error.message })
  }
}

const withoutReqId = <A extends { readonly reqId: string }>({ reqId: _, ...rest }: A): Omit<A, "reqId"> => rest

type Definition<Request, Reply> = Pick<CallDefinition<Request, Reply>, "event" | "request" | "reply">

/** Builds the requests of an Agent on its membership. */
export const makeAgentRequests = (member: OfficeMember, agent: string, office: string): AgentRequests => {
  const { calls, cancel, serverRequests } = member.line

  const decodeReply = <Reply>(
    { reply }: Pick<Definition<never, Reply>, "reply">,
    reqId: string,
    received: unknown
  ): Result.Result<Reply, AgentError> => {
    const error = member.line.decodeProtocolError(received)
    if (error !== undefined) return Result.fail(error)
    return Result.flatMap(
      Result.mapError(reply.decode(received), (message): AgentError => new BadReply({ message })),
      (decoded) => {
        const echoed = (decoded as { readonly reqId?: unknown }).reqId
        return echoed === undefined || echoed === reqId
          ? Result.succeed(decoded)
          : Result.fail(new BadReply({ message: "The reply has another req_id" }))
      }
    )
  }

  /** Sends a request and decodes its reply, or the protocol error in place of the reply. */
  const send = <Request extends { readonly reqId: string }, Reply>(
    definition: Definition<Request, Reply>,
    payload: Request,
    timeout: Duration.Duration
  ): Effect.Effect<Reply, AgentError> =>
    Effect.try({ try: () => jsonBody(definition.request.encode(payload)), catch: toBadRequest }).pipe(
      Effect.flatMap((body) => Effect.mapError(member.request(definition.event, body, timeout), toAgentError)),
      Effect.flatMap((reply) =>
        Effect.fromResult(
          Result.flatMap(acknowledgedValue(reply), (value) => decodeReply(definition, payload.reqId, value))
        )
      )
    )

  const request = <Request extends { readonly reqId: string }, Reply>(
    definition: Definition<Request, Reply>,
    makePayload: (base: { readonly agent: string; readonly reqId: string }) => Request,
    timeout = defaultTimeout
  ) =>
    withClientSpan(definition.event, { "a2c.office": office }, (reqId) =>
      send(definition, makePayload({ agent, reqId }), timeout)
    )

  const callTool = ({ computer, params = {}, timeout = defaultToolSeconds, tool }: ToolRequest) => {
    const attributes = { "a2c.office": office, "a2c.computer": computer, "gen_ai.tool.name": tool }
    return withClientSpan(calls.toolCall.event, attributes, (reqId) => {
      const cancelBody = jsonBody(cancel.request.encode({ agent, reqId }))
      const sendCancel = Effect.ignore(member.notify(cancel.event, cancelBody))
      return send(
        calls.toolCall,
        { agent, reqId, computer, toolName: tool, params, timeout },
        Duration.seconds(timeout)
      ).pipe(
        Effect.onInterrupt(() => sendCancel),
        Effect.catchTag("ServerTimeout", () => Effect.as(sendCancel, toolTimedOut("agent")))
      )
    })
  }

  return {
    members: Effect.map(
      request(serverRequests.list, (base) => ({ ...base, officeId: office })),
      ({ sessions }) => sessions
    ),
    callTool,
    getTools: (computer) =>
      Effect.map(
        request(calls.getTools, (base) => ({ ...base, computer })),
        ({ tools }) => tools
      ),
    getConfig: (computer) => request(calls.getConfig, (base) => ({ ...base, computer })),
    getDesktop: (computer, { size, window } = {}) =>
      Effect.map(
        request(calls.getDesktop, (base) => ({
          ...base,
          computer,
          ...definedOnly({ desktopSize: size, window })
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
        request(
          calls.getDpe,
          (base) => ({ ...base, computer, uri, ...definedOnly({ timeout }) }),
          Duration.seconds((timeout ?? dpeTimeout.defaultSeconds) + dpeTimeout.marginSeconds)
        ),
        withoutReqId
      )
    },
    getResources: (computer, mcpServer, cursor) =>
      Effect.map(
        request(calls.getResources, (base) => ({ ...base, computer, mcpServer, ...definedOnly({ cursor }) })),
        withoutReqId
      ),
    findDocuments: (computer, query = {}) =>
      Effect.map(
        request(calls.getFinder, (base) => ({ offset: 0, limit: 20, ...base, computer, ...query })),
        withoutReqId
      )
  }
}
