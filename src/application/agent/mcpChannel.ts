import { Duration, Effect, Result } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import {
  defaultMcpTimeoutSeconds,
  McpOutcome,
  type McpServerInfo,
  mcpServerListCodec,
  mcpFeature
} from "../../domain/model/messages/mcp.ts"
import { mcpToolName } from "../../domain/model/messages/mcpNames.ts"
import { errorCodeOf } from "../../domain/tools/errorResults.ts"
import { makeDecoder } from "../../domain/validation.ts"
import type { Calls } from "../../domain/wire/calls.ts"
import { McpSessionError, sessionError } from "../ports/McpSession.ts"
import { type AgentError, checkReply } from "./AgentErrors.ts"
import type { OfficeRequests, RequestBase } from "./officeRequests.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

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
  /** The features that Computers announce with their tools. */
  readonly computers: Map<string, ReadonlyArray<string>>
}

/** Makes what is known at the start of a connection: nothing. */
export const makeKnownPeers = (): KnownPeers => ({ serverPassesMcp: undefined, computers: new Map() })

/** A request to the MCP servers of a Computer; `server` is missing for one that the Computer answers itself. */
type ChannelRequest = Pick<McpServerRequest, "params" | "timeout"> & {
  readonly method: string
  readonly server?: string
}

interface ChannelParts extends Pick<OfficeRequests, "request"> {
  readonly calls: Pick<Calls, "mcp" | "toolCall">
  /** Both record what peers know. */
  readonly getToolList: (computer: ComputerName) => Effect.Effect<unknown, AgentError>
  readonly members: Effect.Effect<unknown, AgentError>
}

const decodeOutcome = makeDecoder(McpOutcome)
const noOutcome: McpOutcome = {}

const unsupported = sessionError("unsupported", "The Computer does not pass requests to its MCP servers")

const toMcpResult = ({ failure, result = {} }: McpOutcome): Effect.Effect<JsonObject, McpSessionError> =>
  failure === undefined ? Effect.succeed(result) : Effect.fail(new McpSessionError({ reason: "protocol", ...failure }))

/** Makes the requests to the MCP servers of Computers, which take the way that the Server of the office passes. */
export const makeMcpChannel = ({ calls, getToolList, members, request }: ChannelParts, peers: KnownPeers) => {
  const sendMcp = Effect.fnUntraced(function* (
    computer: ComputerName,
    { timeout = defaultMcpTimeoutSeconds, ...asked }: ChannelRequest
  ): Effect.fn.Return<JsonObject, AgentError | McpSessionError> {
    const waitTime = Duration.seconds(timeout + marginSeconds)
    if (peers.serverPassesMcp === undefined) yield* members
    if (peers.serverPassesMcp !== true) {
      // Every Server passes tool calls.
      const toCall = (base: RequestBase) => ({ ...base, computer, toolName: mcpToolName, params: asked, timeout })
      const result = yield* request(calls.toolCall, toCall, waitTime)
      const outcome = Result.getOrElse(decodeOutcome(result.structuredContent), () => noOutcome)
      // A Computer of another implementation gives any error result.
      const isOutcome = (outcome.result ?? outcome.failure) !== undefined && errorCodeOf(result) === undefined
      return yield* isOutcome ? toMcpResult(outcome) : unsupported
    }
    if (!peers.computers.has(computer)) yield* getToolList(computer)
    if (peers.computers.get(computer)?.includes(mcpFeature) !== true) return yield* unsupported
    const toRequest = (base: RequestBase) => ({ ...base, computer, timeout, ...asked })
    return yield* toMcpResult(yield* request(calls.mcp, toRequest, waitTime))
  })

  return {
    sendMcp,
    /** Empty for Computers of other implementations. */
    listMcpServers: Effect.fnUntraced(
      function* (computer: ComputerName) {
        const listed = yield* sendMcp(computer, { method: "servers/list", params: {} })
        const { omitted = [], servers } = yield* checkReply(mcpServerListCodec.decode(listed))
        if (omitted.length > 0) {
          yield* Effect.logWarning("MCP servers omitted from listing", { computer, reasons: omitted.slice(0, 10) })
        }
        return servers
      },
      Effect.catchTag("McpSessionError", () => Effect.succeed<ReadonlyArray<McpServerInfo>>([]))
    )
  }
}
