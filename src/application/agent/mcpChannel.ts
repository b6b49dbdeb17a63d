import { Duration, Effect, Result } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import {
  defaultMcpTimeoutSeconds,
  McpOutcome,
  type McpServerInfo,
  mcpServerListCodec
} from "../../domain/model/messages/mcp.ts"
import { mcpToolName } from "../../domain/model/messages/mcpNames.ts"
import { definedOnly } from "../../domain/objects.ts"
import { errorCodeOf } from "../../domain/tools/errorResults.ts"
import { makeDecoder } from "../../domain/validation.ts"
import type { Calls } from "../../domain/wire/calls.ts"
import type { CallDefinition } from "../../domain/wire/defineCall.ts"
import { McpSessionError } from "../ports/McpSession.ts"
import { type AgentError, BadReply } from "./AgentErrors.ts"
import type { ComputerName, RequestId } from "../../domain/model/ids.ts"

/** Time in seconds that the Agent waits longer than a Computer for an MCP server. */
const marginSeconds = 5

/** A request to an MCP server of a Computer, by the identity of the server in the office. */
export interface McpServerRequest {
  readonly server: string
  readonly method: "prompts/get" | "completion/complete" | "resources/read"
  readonly params: JsonObject
  /** In whole seconds; 30 by default. */
  readonly timeout?: number
}

/** What peers of the current connection know beyond the protocol. */
export interface KnownPeers {
  /** The Server passes `client:mcp`; others pass tool calls only. Unknown before the first list of the members. */
  serverPassesMcp: boolean | undefined
  /** Computers that serve requests to their MCP servers, or do not. */
  readonly computers: Map<string, boolean>
}

/** Makes what is known at the start of a connection: nothing. */
export const makeKnownPeers = (): KnownPeers => ({ serverPassesMcp: undefined, computers: new Map() })

/** A request to the MCP servers of a Computer; `server` is missing for one that the Computer answers itself. */
type ChannelRequest = Pick<McpServerRequest, "params" | "timeout"> & {
  readonly method: string
  readonly server?: string
}

interface ChannelParts {
  readonly calls: Pick<Calls, "mcp" | "toolCall">
  readonly request: <Request extends { readonly agent: string; readonly reqId: RequestId }, Reply>(
    definition: Pick<CallDefinition<Request, Reply>, "event" | "request" | "reply">,
    makePayload: (base: { readonly agent: string; readonly reqId: RequestId }) => Request,
    timeout?: Duration.Duration
  ) => Effect.Effect<Reply, AgentError>
  /** Both record what peers know. */
  readonly getToolList: (computer: ComputerName) => Effect.Effect<unknown, AgentError>
  readonly members: Effect.Effect<unknown, AgentError>
}

const decodeOutcome = makeDecoder(McpOutcome)
const noOutcome: McpOutcome = {}

const unsupported = new McpSessionError({
  reason: "unsupported",
  message: "The Computer does not pass requests to its MCP servers"
})

/** Gives the result of an MCP server, or fails with its error. */
const toMcpResult = ({ failure, result }: McpOutcome): Effect.Effect<JsonObject, McpSessionError> => {
  if (failure === undefined) return Effect.succeed(result ?? {})
  return Effect.fail(new McpSessionError({ reason: "protocol", ...failure }))
}

/** Makes the requests to the MCP servers of Computers, which take the way that the Server of the office passes. */
export const makeMcpChannel = ({ calls, getToolList, members, request }: ChannelParts, peers: KnownPeers) => {
  /** Sends a request as a tool call: every Server passes those. */
  const sendAsCall = (computer: ComputerName, params: JsonObject, timeout: number) =>
    request(
      calls.toolCall,
      (base) => ({ ...base, computer, toolName: mcpToolName, params, timeout }),
      Duration.seconds(timeout + marginSeconds)
    ).pipe(
      Effect.flatMap((result) => {
        const { failure, result: found } = Result.getOrElse(decodeOutcome(result.structuredContent), () => noOutcome)
        // A Computer of another implementation gives any error result.
        const isOutcome = (found ?? failure) !== undefined && errorCodeOf(result) === undefined
        return isOutcome ? toMcpResult({ ...definedOnly({ failure, result: found }) }) : Effect.fail(unsupported)
      })
    )

  const sendMcp = Effect.fnUntraced(function* (
    computer: ComputerName,
    { timeout = defaultMcpTimeoutSeconds, ...asked }: ChannelRequest
  ): Effect.fn.Return<JsonObject, AgentError | McpSessionError> {
    if (peers.serverPassesMcp === undefined) yield* members
    if (peers.serverPassesMcp !== true) return yield* sendAsCall(computer, asked, timeout)
    if (!peers.computers.has(computer)) yield* getToolList(computer)
    if (peers.computers.get(computer) !== true) return yield* unsupported
    const margin = Duration.seconds(timeout + marginSeconds)
    return yield* toMcpResult(yield* request(calls.mcp, (base) => ({ ...base, computer, timeout, ...asked }), margin))
  })

  return {
    sendMcp,
    /** Empty for Computers of other implementations. */
    listMcpServers: (computer: ComputerName): Effect.Effect<ReadonlyArray<McpServerInfo>, AgentError> =>
      sendMcp(computer, { method: "servers/list", params: {} }).pipe(
        Effect.flatMap((result) =>
          Effect.mapError(Effect.fromResult(mcpServerListCodec.decode(result)), (message) => new BadReply({ message }))
        ),
        Effect.tap(({ omitted = [] }) =>
          omitted.length === 0
            ? Effect.void
            : Effect.logWarning("MCP servers omitted from listing", { computer, reasons: omitted.slice(0, 10) })
        ),
        Effect.map(({ servers }) => servers),
        Effect.catchTag("McpSessionError", () => Effect.succeed([]))
      )
  }
}
