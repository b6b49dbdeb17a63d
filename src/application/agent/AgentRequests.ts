import { Duration, Effect, Result, Schema, type Scope } from "effect"
import type { ApprovalAnswer } from "../../domain/approvals/Approval.ts"
import type { ApprovalView } from "../../domain/approvals/ApprovalView.ts"
import type { FinderPage } from "../../domain/documents/findDocuments.ts"
import { parseStrictDpeUri } from "../../domain/documents/DpeUri.ts"
import { chunkSizeFor } from "../../domain/blobs/chunks.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { CallDefinition } from "../../domain/wire/ProtocolLine.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import { defaultDpeTimeoutSeconds, defaultToolTimeoutSeconds, maxIdentifierLength } from "../../domain/model/fields.ts"
import { type DocumentLocation, finderPageSizes, type ResourcePage } from "../../domain/model/messages/requests.ts"
import type { SessionInfo } from "../../domain/model/Membership.ts"
import type { SkillRef } from "../../domain/model/messages/skills.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { mcpFeature, type McpServerInfo } from "../../domain/model/messages/mcp.ts"
import { formatSchemaError } from "../../domain/validation.ts"
import { badRequest, errorCodes, payloadTooLarge, ProtocolError } from "../../domain/model/ProtocolError.ts"
import { isAppOnly } from "../../domain/tools/appTools.ts"
import { rejectRoundedIntegers, toolTimedOut } from "../../domain/tools/errorResults.ts"
import { toExactTools } from "../../domain/tools/listings/exactTools.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import { type AgentError, BadReply, Disconnected, ServerTimeout } from "./AgentErrors.ts"
import { type BlobOptions, type BlobUnreadable, type FetchedBlob, readBlob, restoreBlobs } from "./blobs.ts"
import { type KnownPeers, makeKnownPeers, makeMcpChannel, type McpServerRequest } from "./mcpChannel.ts"
import { completeSkillFile, type SkillContent } from "./skillContent.ts"
import { type PutBlobOptions, sendUpload, type UploadedFile, type UploadFailed, uploadsUnsupported } from "./uploads.ts"
import { announcedModes, answerStatuses, type CallAnswers } from "./approvals/callAnswers.ts"
import { makeToolTask, type ToolTask } from "./tasks/toolTasks.ts"
import { type CallStatuses, makeCallStatuses, type OnCallStatus } from "./callStatuses.ts"
import { jsonBody } from "../ports/Body.ts"
import type { McpSessionError } from "../ports/McpSession.ts"
import type { ExtendTimeout } from "../ports/Transport.ts"
import { makeListingReport } from "../shared/listings/listingReport.ts"
import { withClientSpan } from "../shared/tracing.ts"

/** A tool call; `timeout` in whole seconds, 1…3600, 60 by default. */
export interface ToolRequest extends CallAnswers {
  readonly computer: string
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

/** The tools of a Computer, and its MCP servers that start, or start again, and may have more. */
export interface ToolList {
  readonly tools: ReadonlyArray<Tool>
  readonly startingServers: ReadonlyArray<string>
  readonly restartingServers: ReadonlyArray<string>
}

/** The requests of an Agent. */
export interface AgentRequests {
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
  readonly task: (
    computer: string,
    id: string,
    options?: CallAnswers & { readonly onStatus?: OnCallStatus | undefined }
  ) => ToolTask
  /** The tools for a model, without those that only apps call. */
  readonly getTools: (computer: string) => Effect.Effect<ReadonlyArray<Tool>, AgentError>
  /** All tools, with the servers that start. */
  readonly getToolList: (computer: string) => Effect.Effect<ToolList, AgentError>
  /**
   * The MCP servers of a Computer with their instructions, prompts, resource templates, and the details of their tools.
   * Empty for Computers of other implementations.
   */
  readonly mcpServers: (computer: string) => Effect.Effect<ReadonlyArray<McpServerInfo>, AgentError>
  /**
   * Sends a request to an MCP server and gives its result unchanged. Fails with the server's error, or as `unsupported`
   * at Computers of other implementations.
   */
  readonly mcpRequest: (
    computer: string,
    request: McpServerRequest
  ) => Effect.Effect<JsonObject, AgentError | McpSessionError>
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
  /**
   * The calls of this Agent that wait for an approval at a Computer, and their open questions; or the whole one with this
   * id. Where the owner does not let Agents decide, it gives the questions only, or fails with 403 without one, as
   * `decideApproval` does.
   */
  readonly getApprovals: (
    computer: string,
    approvalId?: string
  ) => Effect.Effect<ReadonlyArray<ApprovalView>, AgentError>
  /**
   * Decides about a call of this Agent, or answers its question: with the `content` of its form. The first answer counts:
   * a later one fails with 409. One that does not fit the form fails with 400, and the question stays open.
   */
  readonly decideApproval: (
    computer: string,
    approvalId: string,
    answer: ApprovalAnswer
  ) => Effect.Effect<ApprovalView, AgentError>
  /** Reads the content of a blob handle, verified; a handle is valid at its Computer only. */
  readonly blob: (
    computer: string,
    handle: string,
    options?: BlobOptions
  ) => Effect.Effect<FetchedBlob, AgentError | BlobUnreadable>
  /**
   * Puts a file of at least one byte on a Computer that accepts uploads; needs the protocol 0.4. The Computer removes the
   * parts of an interrupted upload.
   */
  readonly putBlob: (
    computer: string,
    bytes: Uint8Array,
    options?: PutBlobOptions
  ) => Effect.Effect<UploadedFile, AgentError | UploadFailed>
  /** The skills of a Computer. */
  readonly skills: (computer: string) => Effect.Effect<ReadonlyArray<SkillRef>, AgentError>
  /** Reads a file of a skill, verified: `SKILL.md` without its front matter, or the file at `relPath`. */
  readonly readSkill: (
    computer: string,
    name: string,
    relPath?: string,
    options?: BlobOptions
  ) => Effect.Effect<SkillContent, AgentError | BlobUnreadable>
}

/** Timeout of requests without a `timeout` field: longer than the Server's, whose error then arrives first. */
const defaultTimeout = Duration.seconds(35)

/** Time in seconds that the Agent waits longer than the Computer may take to locate a document. */
const dpeMarginSeconds = 10

/** A text of the maximum length, instead of an id that is not known yet. */
const longestIdentifier = "x".repeat(maxIdentifierLength)

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

/** `statuses` receives those of the calls. */
export const makeAgentRequests = (
  member: OfficeMember,
  agent: string,
  office: string,
  statuses: CallStatuses = makeCallStatuses(),
  peers: KnownPeers = makeKnownPeers()
): AgentRequests => {
  const { calls, cancel, decodeProtocolError, serverRequests } = member.line
  const report = makeListingReport({ office })

  /** Sends a request and decodes its reply, or the protocol error instead of the reply. */
  const send = Effect.fnUntraced(function* <Request extends { readonly reqId: string }, Reply>(
    { event, reply, request: { encode } }: Definition<Request, Reply>,
    payload: Request,
    timeout: Duration.Duration,
    extend?: ExtendTimeout
  ): Effect.fn.Return<Reply, AgentError> {
    const body = yield* Effect.try({ try: () => jsonBody(encode(payload)), catch: toBadRequest })
    const [acknowledged] = yield* Effect.mapError(member.request(event, body, timeout, extend), toAgentError)
    if (acknowledged === undefined) return yield* new BadReply({ message: "The reply is empty" })
    const received = yield* Effect.fromResult(acknowledged.value())
    const error = decodeProtocolError(received)
    if (error !== undefined) return yield* error
    const decoded = yield* Effect.mapError(
      Effect.fromResult(reply.decode(received)),
      (message) => new BadReply({ message })
    )
    const { omitted, reqId, ...rest } = decoded as {
      readonly omitted?: ReadonlyArray<string>
      readonly reqId?: unknown
    }
    if (reqId !== undefined && reqId !== payload.reqId) {
      return yield* new BadReply({ message: "The reply has another req_id" })
    }
    if (omitted === undefined) return decoded
    const { computer } = payload as { readonly computer?: string }
    yield* report(event, { items: [], omitted: omitted.map((reason) => ({ name: String(computer), reason })) })
    return { ...rest, reqId } as Reply
  })

  const request = <Request extends { readonly reqId: string }, Reply>(
    definition: Definition<Request, Reply>,
    makePayload: (base: { readonly agent: string; readonly reqId: string }) => Request,
    timeout = defaultTimeout
  ) =>
    withClientSpan(definition.event, { "a2c.office": office }, (reqId) =>
      send(definition, makePayload({ agent, reqId }), timeout)
    )

  /** Reads a blob in chunks whose messages the Server accepts. */
  const blob: AgentRequests["blob"] = (computer, blobHandle, options) => {
    const readChunk = (chunkOffset: number) => {
      const texts = [blobHandle, longestIdentifier, longestIdentifier]
      const maxChunkBytes = Math.max(1, chunkSizeFor(member.maxBytes(), texts))
      return request(calls.getBlob, (base) => ({ ...base, computer, blobHandle, chunkOffset, maxChunkBytes }))
    }
    return readBlob(readChunk, options)
  }

  const putBlob: AgentRequests["putBlob"] = (computer, bytes, options = {}) => {
    const { putBlob: definition } = calls
    if (definition === undefined) return Effect.fail(uploadsUnsupported(member.line.name))
    if (bytes.length === 0) return Effect.fail(badRequest("An upload needs at least one byte"))
    const texts = [agent, computer, options.nameHint ?? "", longestIdentifier, longestIdentifier]
    const chunkSize = chunkSizeFor(member.maxBytes(), texts)
    if (chunkSize === 0) return Effect.fail(payloadTooLarge(member.maxBytes()))
    return sendUpload(
      (chunk) => request(definition, (base) => ({ ...base, computer, ...chunk })),
      bytes,
      chunkSize,
      options
    )
  }

  const getApprovals: AgentRequests["getApprovals"] = (computer, approvalId) =>
    request(calls.getApprovals, (base) => ({ ...base, computer, ...definedOnly({ approvalId }) })).pipe(
      Effect.map(({ approvals }) => approvals)
    )

  const decideApproval: AgentRequests["decideApproval"] = (computer, approvalId, answer) =>
    request(calls.decideApproval, (base) => ({ ...base, computer, approvalId, ...answer })).pipe(
      Effect.map(({ approval }) => approval)
    )

  /** What receives the statuses of a call and answers what it waits for. */
  const receiverOf = (
    computer: string,
    { onStatus, ...answers }: CallAnswers & { readonly onStatus?: OnCallStatus | undefined }
  ): Effect.Effect<OnCallStatus | undefined, never, Scope.Scope> =>
    answers.onInput === undefined && answers.onApproval === undefined
      ? Effect.succeed(onStatus)
      : answerStatuses({ getApprovals, decideApproval }, computer, { ...answers, onStatus })

  const callTool = ({
    blobs = "fetch",
    computer,
    onStatus,
    params = {},
    timeout = defaultToolTimeoutSeconds,
    tool,
    ...answers
  }: ToolRequest) => {
    const rejected = rejectRoundedIntegers(tool, params)
    if (rejected !== undefined) return Effect.succeed(rejected)
    const attributes = { "a2c.office": office, "a2c.computer": computer, "gen_ai.tool.name": tool }
    const called = withClientSpan(calls.toolCall.event, attributes, (reqId) => {
      const cancelBody = jsonBody(cancel.request.encode({ agent, reqId }))
      const sendCancel = Effect.ignore(member.notify(cancel.event, cancelBody))
      const modes = announcedModes(answers)
      const call = { agent, reqId, computer, toolName: tool, params, timeout }
      const payload = modes.length === 0 ? call : { ...call, inputModes: modes }
      const calling = (receive: OnCallStatus | undefined) =>
        statuses
          .listen({ reqId, computer, onStatus: receive }, (extend) =>
            send(calls.toolCall, payload, Duration.seconds(timeout), extend)
          )
          .pipe(
            Effect.onInterrupt(() => sendCancel),
            Effect.catchTag("ServerTimeout", () => Effect.as(sendCancel, toolTimedOut("agent")))
          )
      return answers.onInput === undefined && answers.onApproval === undefined
        ? calling(onStatus)
        : Effect.scoped(Effect.flatMap(receiverOf(computer, { ...answers, onStatus }), calling))
    })
    if (blobs === "keep") return called
    return Effect.flatMap(called, (result) =>
      restoreBlobs(result, (handle, limits) => blob(computer, handle, limits), timeout)
    )
  }

  const getToolList = (computer: string) =>
    request(
      calls.getTools,
      (base): typeof base & { readonly computer: string; readonly features: ReadonlyArray<string> } => ({
        ...base,
        computer,
        features: [mcpFeature]
      })
    ).pipe(
      Effect.flatMap(({ features = [], restartingServers = [], startingServers = [], tools }) => {
        peers.computers.set(computer, features.includes(mcpFeature))
        const { rounded, tools: exact } = toExactTools(computer, tools)
        const list: ToolList = { tools: exact, startingServers, restartingServers }
        return Effect.as(report("tools", { items: [], omitted: [], rounded }), list)
      })
    )

  const members = request(serverRequests.list, (base) => ({ ...base, officeId: office })).pipe(
    Effect.map(({ features = [], sessions }) => {
      peers.serverPassesMcp = features.includes(mcpFeature)
      return sessions
    })
  )

  const { listMcpServers, sendMcp } = makeMcpChannel({ calls, request, getToolList, members }, peers)

  const task: AgentRequests["task"] = (computer, id, hooks = {}) =>
    makeToolTask(
      {
        line: member.line,
        statuses,
        send: (method, params, timeout) => sendMcp(computer, { method, params, ...definedOnly({ timeout }) }),
        restore: (result) =>
          restoreBlobs(result, (handle, limits) => blob(computer, handle, limits), defaultToolTimeoutSeconds)
      },
      { computer, id, receiver: receiverOf(computer, hooks) }
    )

  const startTool: AgentRequests["startTool"] = ({
    computer,
    params = {},
    timeout = defaultToolTimeoutSeconds,
    tool,
    ...hooks
  }) => {
    const modes = announcedModes(hooks)
    const announced = modes.length === 0 ? {} : { inputModes: modes }
    const attributes = { "a2c.office": office, "a2c.computer": computer, "gen_ai.tool.name": tool }
    return withClientSpan("tasks/start", attributes, (id) =>
      Effect.as(
        sendMcp(computer, { method: "tasks/start", params: { id, tool, params, timeout, ...announced } }),
        task(computer, id, hooks)
      )
    )
  }

  return {
    members,
    callTool,
    startTool,
    task,
    mcpRequest: sendMcp,
    mcpServers: listMcpServers,
    getToolList,
    getTools: (computer) =>
      Effect.map(getToolList(computer), ({ tools }) => tools.filter(({ meta }) => !isAppOnly(meta))),
    getConfig: (computer) => request(calls.getConfig, (base) => ({ ...base, computer })),
    getDesktop: (computer, { size: desktopSize, window } = {}) =>
      request(calls.getDesktop, (base) => ({ ...base, computer, ...definedOnly({ desktopSize, window }) })).pipe(
        Effect.map(({ desktops }) => desktops)
      ),
    getDpe: (computer, uri, { timeout } = {}) => {
      const checked = parseStrictDpeUri(uri)
      if (Result.isFailure(checked)) {
        const { message } = checked.failure
        return Effect.fail(new ProtocolError({ code: errorCodes.invalidDpeUri, message, extra: { uri } }))
      }
      return request(
        calls.getDpe,
        (base) => ({ ...base, computer, uri, ...definedOnly({ timeout }) }),
        Duration.seconds((timeout ?? defaultDpeTimeoutSeconds) + dpeMarginSeconds)
      ).pipe(Effect.map(withoutReqId))
    },
    getResources: (computer, mcpServer, cursor) =>
      request(calls.getResources, (base) => ({ ...base, computer, mcpServer, ...definedOnly({ cursor }) })).pipe(
        Effect.map(withoutReqId)
      ),
    findDocuments: (computer, query = {}) =>
      request(calls.getFinder, (base) => ({
        offset: 0,
        limit: finderPageSizes.default,
        ...base,
        computer,
        ...query
      })).pipe(Effect.map(withoutReqId)),
    getApprovals,
    decideApproval,
    blob,
    putBlob,
    skills: (computer) =>
      request(calls.getSkills, (base): typeof base & { readonly computer: string } => ({ ...base, computer })).pipe(
        Effect.map(({ skills }) => skills)
      ),
    readSkill: (computer, name, relPath, options) =>
      request(calls.getSkill, (base) => ({ ...base, computer, name, ...definedOnly({ relPath }) })).pipe(
        Effect.flatMap((file) => completeSkillFile(file, (handle) => blob(computer, handle, options)))
      )
  }
}
