import { Duration, Effect } from "effect"
import type { FailingServer } from "../../domain/model/CallStatus.ts"
import { chunkSizeFor } from "../../domain/blobs/chunks.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { JsonObject } from "../../domain/json.ts"
import { defaultToolTimeoutSeconds, maxIdentifierLength } from "../../domain/model/fields.ts"
import type { SessionInfo } from "../../domain/model/Membership.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { mcpFeature, type McpServerInfo } from "../../domain/model/messages/mcp.ts"
import { badRequest, payloadTooLarge } from "../../domain/model/ProtocolError.ts"
import { isAppOnly } from "../../domain/tools/appTools.ts"
import { rejectRoundedIntegers, toolTimedOut } from "../../domain/tools/errorResults.ts"
import { toExactTools } from "../../domain/tools/listings/mcpListings.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import { jsonBody } from "../ports/Body.ts"
import type { McpSessionError } from "../ports/McpSession.ts"
import { withNewRequestId } from "../shared/tracing.ts"
import type { AgentError } from "./AgentErrors.ts"
import { announcedModes, answerStatuses, type CallAnswers } from "./approvals/callAnswers.ts"
import {
  type BlobOptions,
  type BlobUnreadable,
  completeSkillFile,
  type FetchedBlob,
  readBlob,
  restoreBlobs,
  type SkillContent,
  type PutBlobOptions,
  sendUpload,
  type UploadChunk,
  type UploadedFile,
  type UploadFailed,
  uploadsUnsupported
} from "./blobs.ts"
import { type CallStatuses, makeCallStatuses, type OnCallStatus } from "./callStatuses.ts"
import { type KnownPeers, makeKnownPeers, makeMcpChannel, type McpServerRequest } from "./mcpChannel.ts"
import { makeOfficeRequests, type OfficeRequests, type RequestMethod, type RequestMethods } from "./officeRequests.ts"
import { makeToolTask, type ToolTask } from "./tasks/toolTasks.ts"
import type { ComputerName, RequestId } from "../../domain/model/ids.ts"

/** A tool call; `timeout` in whole seconds, 1…3600, 60 by default. */
export interface ToolRequest extends CallAnswers {
  readonly computer: ComputerName
  readonly tool: string
  readonly params?: JsonObject
  readonly timeout?: number
  /** Receives the reasons why the call waits; needs a Computer and a Server that report them. */
  readonly onStatus?: OnCallStatus | undefined
  /**
   * Computers send large binary data as blobs. `fetch`, the default, reads them after the call, again within `timeout`,
   * and restores the data; a blob that cannot be read keeps its handle. `keep` leaves all handles to the caller.
   */
  readonly blobs?: "fetch" | "keep"
}

/** What the caller of a tool answers, and where the statuses of its call go. */
type CallHooks = Pick<ToolRequest, keyof CallAnswers | "onStatus">

/** The tools of a Computer, and its MCP servers that may have more. */
export interface ToolList {
  readonly tools: ReadonlyArray<Tool>
  readonly startingServers: ReadonlyArray<string>
  /** Those that have ended and start again. */
  readonly restartingServers: ReadonlyArray<string>
  /** Those that do not start. */
  readonly failingServers: ReadonlyArray<FailingServer>
}

/** The requests of an Agent. */
export interface AgentRequests extends RequestMethods {
  /** All members of the office. */
  readonly members: Effect.Effect<ReadonlyArray<SessionInfo>, AgentError>
  /**
   * Calls a tool, and reads the blobs of its result. Failed tools and timeouts are results with `isError`. Interruption
   * cancels the call on the Computer.
   */
  readonly callTool: (request: ToolRequest) => Effect.Effect<ToolResult, AgentError>
  /**
   * Starts a call that runs on while this Agent is disconnected or restarts, where its Computer supports that; elsewhere it
   * fails as `unsupported`. `timeout` in whole seconds, 60 by default.
   */
  readonly startTool: (request: Omit<ToolRequest, "blobs">) => Effect.Effect<ToolTask, AgentError | McpSessionError>
  /** The handle of a task that this Agent started, also in an earlier process. */
  readonly task: (computer: ComputerName, id: string, options?: CallHooks) => ToolTask
  /** The tools for a model, without those that only apps call. */
  readonly getTools: (computer: ComputerName) => Effect.Effect<ReadonlyArray<Tool>, AgentError>
  /** All tools, with the servers that start. */
  readonly getToolList: (computer: ComputerName) => Effect.Effect<ToolList, AgentError>
  /**
   * The MCP servers of a Computer with their instructions, prompts, resource templates, and the details of their tools.
   * Empty for Computers of other implementations.
   */
  readonly mcpServers: (computer: ComputerName) => Effect.Effect<ReadonlyArray<McpServerInfo>, AgentError>
  /**
   * Sends a request to an MCP server and gives its result unchanged. Fails with the server's error, or as `unsupported`
   * at Computers of other implementations.
   */
  readonly mcpRequest: (
    computer: ComputerName,
    request: McpServerRequest
  ) => Effect.Effect<JsonObject, AgentError | McpSessionError>
  /** Sends the request of a method by its fields, and gives the whole reply. */
  readonly request: RequestMethod
  /** Reads the content of a blob handle, verified; a handle is valid at its Computer only. */
  readonly blob: (
    computer: ComputerName,
    handle: string,
    options?: BlobOptions
  ) => Effect.Effect<FetchedBlob, AgentError | BlobUnreadable>
  /**
   * Puts a file of at least one byte on a Computer that accepts uploads; needs the protocol 0.4. The Computer removes the
   * parts of an interrupted upload.
   */
  readonly putBlob: (
    computer: ComputerName,
    bytes: Uint8Array,
    options?: PutBlobOptions
  ) => Effect.Effect<UploadedFile, AgentError | UploadFailed>
  /** Reads a file of a skill, verified: `SKILL.md` without its front matter, or the file at `relPath`. */
  readonly readSkill: (
    computer: ComputerName,
    name: string,
    relPath?: string,
    options?: BlobOptions
  ) => Effect.Effect<SkillContent, AgentError | BlobUnreadable>
}

/** A text of the maximum length, instead of an id that is not known yet. */
const longestIdentifier = "x".repeat(maxIdentifierLength)

interface RequestsOptions {
  readonly name: string
  readonly office: string
  readonly statuses?: CallStatuses
  readonly peers?: KnownPeers
}

/** Makes the transfers of files in chunks whose messages the Server accepts. */
const makeTransfers = (
  { line: { calls, name: lineName }, maxBytes }: OfficeMember,
  agent: string,
  { request }: OfficeRequests
): Pick<AgentRequests, "blob" | "putBlob" | "readSkill"> => {
  const blob: AgentRequests["blob"] = (computer, blobHandle, options) =>
    readBlob((chunkOffset) => {
      const texts = [blobHandle, longestIdentifier, longestIdentifier]
      const maxChunkBytes = Math.max(1, chunkSizeFor(maxBytes(), texts))
      return request(calls.getBlob, (base) => ({ ...base, computer, blobHandle, chunkOffset, maxChunkBytes }))
    }, options)

  return {
    blob,
    putBlob: (computer, bytes, options = {}) => {
      const { putBlob } = calls
      if (putBlob === undefined) return Effect.fail(uploadsUnsupported(lineName))
      if (bytes.length === 0) return Effect.fail(badRequest("An upload needs at least one byte"))
      const texts = [agent, computer, options.nameHint ?? "", longestIdentifier, longestIdentifier]
      const chunkSize = chunkSizeFor(maxBytes(), texts)
      if (chunkSize === 0) return Effect.fail(payloadTooLarge(maxBytes()))
      const send = (chunk: UploadChunk) => request(putBlob, (base) => ({ ...base, computer, ...chunk }))
      return sendUpload(send, bytes, chunkSize, options)
    },
    readSkill: (computer, name, relPath, options) =>
      Effect.flatMap(
        request(calls.getSkill, (base) => ({ ...base, computer, name, ...definedOnly({ relPath }) })),
        (file) => completeSkillFile(file, (handle) => blob(computer, handle, options))
      )
  }
}

/** Makes the requests for what an office has, which record what its peers know. */
const makeListings = (
  { calls, serverRequests }: OfficeMember["line"],
  office: string,
  { report, request }: OfficeRequests,
  peers: KnownPeers
): Pick<AgentRequests, "getToolList" | "getTools" | "members"> => {
  const getToolList: AgentRequests["getToolList"] = (computer) =>
    request(calls.getTools, (base) => ({ ...base, computer, features: [mcpFeature] })).pipe(
      Effect.flatMap(({ failingServers = [], features = [], restartingServers = [], startingServers = [], tools }) => {
        peers.computers.set(computer, features)
        const { rounded, tools: exact } = toExactTools(computer, tools)
        const list: ToolList = { tools: exact, startingServers, restartingServers, failingServers }
        return Effect.as(report("tools", { items: [], omitted: [], rounded }), list)
      })
    )

  return {
    getToolList,
    getTools: (computer) =>
      Effect.map(getToolList(computer), ({ tools }) => tools.filter(({ meta }) => !isAppOnly(meta))),
    members: request(serverRequests.list, (base) => ({ ...base, officeId: office })).pipe(
      Effect.map(({ features = [], sessions }) => {
        peers.serverPassesMcp = features.includes(mcpFeature)
        return sessions
      })
    )
  }
}

export const makeAgentRequests = (
  member: OfficeMember,
  { name: agent, office, peers = makeKnownPeers(), statuses = makeCallStatuses() }: RequestsOptions
): AgentRequests => {
  const { line } = member
  const { calls, cancel } = line
  const requests = makeOfficeRequests(member, { name: agent, office })
  const { methods, requestMethod } = requests
  const transfers = makeTransfers(member, agent, requests)
  const listings = makeListings(line, office, requests, peers)
  const { listMcpServers, sendMcp } = makeMcpChannel({ calls, request: requests.request, ...listings }, peers)

  const restore = (computer: ComputerName, result: ToolResult, timeout: number) =>
    restoreBlobs(result, (handle, limits) => transfers.blob(computer, handle, limits), timeout)

  const withCallId = <A, E>(
    name: string,
    { computer, tool }: ToolRequest,
    send: (reqId: RequestId) => Effect.Effect<A, E>
  ) => {
    const attributes = { "a2c.office": office, "a2c.computer": computer, "gen_ai.tool.name": tool }
    return withNewRequestId(name, attributes, send)
  }

  const task: AgentRequests["task"] = (computer, id, hooks = {}) =>
    makeToolTask({
      computer,
      id,
      line,
      statuses,
      receiver: answerStatuses(methods, computer, hooks),
      send: (method, params, timeout) => sendMcp(computer, { method, params, ...definedOnly({ timeout }) }),
      restore: (result) => restore(computer, result, defaultToolTimeoutSeconds)
    })

  return {
    ...methods,
    ...transfers,
    ...listings,
    request: requestMethod,
    callTool: (call) => {
      const { blobs = "fetch", computer, params = {}, timeout = defaultToolTimeoutSeconds, tool } = call
      const rejected = rejectRoundedIntegers(tool, params)
      if (rejected !== undefined) return Effect.succeed(rejected)
      const called = withCallId(calls.toolCall.event, call, (reqId) => {
        const cancelBody = jsonBody(cancel.request.encode({ agent, reqId }))
        const sendCancel = Effect.ignore(member.notify(cancel.event, cancelBody))
        const payload = { agent, reqId, computer, toolName: tool, params, timeout, ...announcedModes(call) }
        return answerStatuses(methods, computer, call).pipe(
          Effect.flatMap((onStatus) =>
            statuses.listen({ reqId, computer, onStatus }, (extend) =>
              requests.send(calls.toolCall, payload, Duration.seconds(timeout), extend)
            )
          ),
          Effect.scoped,
          Effect.onInterrupt(() => sendCancel),
          Effect.catchTag("ServerTimeout", () => Effect.as(sendCancel, toolTimedOut("agent")))
        )
      })
      return blobs === "keep" ? called : Effect.flatMap(called, (result) => restore(computer, result, timeout))
    },
    startTool: (call) => {
      const { computer, params = {}, timeout = defaultToolTimeoutSeconds, tool } = call
      return withCallId("tasks/start", call, (id) =>
        Effect.as(
          sendMcp(computer, { method: "tasks/start", params: { id, tool, params, timeout, ...announcedModes(call) } }),
          task(computer, id, call)
        )
      )
    },
    task,
    mcpRequest: sendMcp,
    mcpServers: listMcpServers
  }
}
