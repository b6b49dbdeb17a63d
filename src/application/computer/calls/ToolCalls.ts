import {
  Cause,
  Clock,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberMap,
  Hash,
  Option,
  Ref,
  Result,
  type Scope
} from "effect"
import type { ToolCallRequest } from "../../../domain/model/requests.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { type JsonObject, maxJsonDepth } from "../../../domain/json.ts"
import { badRequest, errorCodes, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import {
  confirmationRequired,
  toolCancelled,
  toolDisabled,
  toolError,
  toolFailed,
  toolNotFound,
  toolTimedOut
} from "../../../domain/tools/errorResults.ts"
import { fromMcpResult } from "../../../domain/tools/mcpConversion.ts"
import { vrlScript } from "../../../domain/tools/vrl.ts"
import type { McpSessionError } from "../../ports/McpSession.ts"
import { SchemaValidator } from "../../ports/SchemaValidator.ts"
import { VrlEngine } from "../../ports/VrlEngine.ts"
import { makeRequestId } from "../../shared/requestId.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { RunningMcpServer } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { transformResult } from "./transformResult.ts"

/** A call that reached a server, for ordering desktops by use (seed 001). */
export interface ToolCallRecord {
  readonly timestamp: number
  readonly reqId: string
  readonly server: string
  readonly tool: string
  readonly success: boolean
}

/** A call that comes by no office. */
export interface LocalCall {
  /** The name the office calls the tool by. */
  readonly tool: string
  readonly params: JsonObject
  /** How long it may take; a minute unless given. */
  readonly timeout?: Duration.Duration
  /** Who asks, if it is nobody at the Computer itself: for them consent is needed, as for Agents. */
  readonly requester?: string
}

/** Runs the tools of a Computer. */
export interface ToolCalls {
  /** Runs a call. A request repeated under the same id is the same call and has the same result (spec §6.2). */
  readonly call: (request: ToolCallRequest) => Effect.Effect<ToolResult, ProtocolError>
  /** Runs a call that comes by no office. The Computer's own people have consented by asking. */
  readonly callLocally: (call: LocalCall) => Effect.Effect<ToolResult>
  /** Stops the call of this request, if it runs here. */
  readonly cancel: (reqId: string) => Effect.Effect<void>
  /** Stops all calls and forgets the results of earlier ones: their Agent has gone. */
  readonly reset: Effect.Effect<void>
  /** The calls that reached a server, oldest first. */
  readonly history: () => ReadonlyArray<ToolCallRecord>
}

/** How many calls are remembered for ordering servers by use. */
const maxHistory = 10

/** How long results are kept for a repeat of their request (spec §6.2), of how many requests, and how much of them. */
const resultCache = {
  ttlMillis: Duration.toMillis("5 minutes"),
  maxRequests: 256,
  maxCharacters: 32 * 1024 * 1024
}

/** One request that is running or done. */
interface CachedCall {
  readonly fingerprint: string
  readonly fiber: Fiber.Fiber<ToolResult>
  /** When it began, or ended if it has, in milliseconds since 1970. */
  updatedAt: number
  /** About how many characters its result holds; nothing while it runs. */
  size: number
}

/** What tells one call from another, whatever the size of its parameters. */
const fingerprintOf = ({ params, toolName }: ToolCallRequest): string => {
  const text = JSON.stringify(params)
  return JSON.stringify([toolName, text.length, Hash.string(text)])
}

/** The characters of the texts and the binary of a result, which is where its size is. */
const estimateSize = (value: unknown, depth = maxJsonDepth): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null || depth === 0) return 8
  return Object.values(value).reduce<number>((sum, member) => sum + estimateSize(member, depth - 1), 0)
}

/** What a call is about, whoever made it. */
type Call = Pick<ToolCallRequest, "agent" | "params" | "reqId" | "toolName">

/** How long a call of the Computer's own people may take when they do not say. */
const defaultTimeout = Duration.minutes(1)

const callKey = (agent: string, reqId: string): string => JSON.stringify([reqId, agent])
const hasRequestId = (key: string, reqId: string): boolean => key.startsWith(`[${JSON.stringify(reqId)},`)

/** A failure of an MCP server as the office hears it (spec §6.4, §6.6). */
const failureResult = (server: string, { reason, message }: McpSessionError): ToolResult => {
  switch (reason) {
    case "unauthorized":
      return toolError(errorCodes.authorizationRequired, `MCP server '${server}' asks for authorization`, {
        mcp_server: server,
        auth_hint: {
          action: "user_authorization_required",
          message: `The owner of this Computer must authorize '${server}'`
        }
      })
    case "forbidden":
      return toolError(errorCodes.authorizationFailed, `MCP server '${server}' does not permit this`, {
        mcp_server: server,
        auth_hint: {
          action: "user_authorization_required",
          message: `The rights granted to '${server}' do not cover this tool`
        }
      })
    case "protocol":
    case "closed":
    case "unavailable":
    case "unsupported":
      return toolFailed(message)
  }
}

/** Runs calls on the servers of a pool; all of them stop with the scope. */
export const makeToolCalls = Effect.fnUntraced(function* (
  servers: ServerSupervisor
): Effect.fn.Return<ToolCalls, never, Scope.Scope> {
  const { confirm, onProgress } = yield* ComputerSettings
  const clock = yield* Clock.Clock
  const running = yield* FiberMap.make<string, ToolResult>()
  /** What began, or ended, longest ago stands first. */
  const cache = new Map<string, CachedCall>()
  const history = yield* Ref.make<ReadonlyArray<ToolCallRecord>>([])
  const validator = yield* Effect.serviceOption(SchemaValidator)
  const engine = yield* Effect.serviceOption(VrlEngine)
  const unusableSchemas = new WeakSet<JsonObject>()

  const record = ({ reqId }: Call, { originalName: tool, server }: CatalogueEntry, success: boolean) =>
    Effect.flatMap(Clock.currentTimeMillis, (timestamp) =>
      Ref.update(history, (records) =>
        [...records, { timestamp, reqId, server, tool, success }].slice(-maxHistory)
      )
    )

  /** Why the parameters do not fit the tool's schema; a schema that nobody can use checks nothing. */
  const validateParams = Effect.fnUntraced(function* ({ params, toolName }: Call, { tool }: CatalogueEntry) {
    if (Option.isNone(validator)) return undefined
    const errors = yield* Effect.catch(validator.value.check(tool.paramsSchema, params), ({ message }) => {
      if (unusableSchemas.has(tool.paramsSchema)) return Effect.succeed([])
      unusableSchemas.add(tool.paramsSchema)
      const fields = { tool: toolName, reason: message }
      return Effect.as(Effect.logWarning("parameters are not checked: the schema is unusable", fields), [])
    })
    if (errors.length === 0) return undefined
    const list = errors.map((error) => `\n- ${error}`).join("")
    return toolFailed(`Tool '${toolName}' was not called: its arguments do not fit its schema.${list}`)
  })

  const requestConsent = Effect.fnUntraced(function* (
    { agent, params, reqId, toolName: tool }: Call,
    { autoApply, server }: CatalogueEntry
  ) {
    if (autoApply) return undefined
    if (confirm === undefined) {
      return confirmationRequired(
        `Tool '${tool}' needs confirmation and this Computer has nobody to ask. ` +
          "Its owner can approve it (auto_apply, --approve)."
      )
    }
    const granted = yield* Effect.catchCause(
      Effect.suspend(() => confirm({ agent, reqId, server, tool, params })),
      (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logWarning("confirmation failed", { tool }, cause), false)
    )
    return granted ? undefined : confirmationRequired(`Tool '${tool}' was not confirmed`)
  })

  const invoke = Effect.fnUntraced(
    function* ({ params, reqId, toolName: tool }: Call, entry: CatalogueEntry, server: RunningMcpServer) {
      const outcome = yield* Effect.result(
        server.session.callTool(entry.originalName, params, {
          onProgress: (step) => onProgress({ ...step, reqId, tool })
        })
      )
      const result = Result.flatMap(
        Result.mapError(outcome, (failure) => failureResult(entry.server, failure)),
        (raw) =>
          Result.mapError(fromMcpResult(raw), (message) =>
            toolFailed(`The tool's result is malformed: ${message}`)
          )
      )
      return Result.merge(result)
    },
    (running, call, entry) =>
      Effect.onExit(running, (exit) => record(call, entry, Exit.isSuccess(exit) && !exit.value.isError))
  )

  /** The result with what the server's script makes of it, if there is one and it is done in time. */
  const applyScript = (
    result: ToolResult,
    { params }: Call,
    { originalName: tool }: CatalogueEntry,
    { config }: RunningMcpServer,
    limit: Duration.Duration
  ): Effect.Effect<ToolResult> => {
    const script = vrlScript(config.vrl)
    if (script === undefined || Option.isNone(engine)) return Effect.succeed(result)
    return Effect.timeoutOrElse(transformResult(engine.value, script, result, { tool, params }), {
      duration: limit,
      orElse: () => Effect.as(Effect.logWarning("result not transformed in time", { tool }), result)
    })
  }

  /** A call that breaks down is a failed call; only interruption keeps it from having a result. */
  const defectsAsFailures = (running: Effect.Effect<ToolResult>, { reqId, toolName: tool }: Call) =>
    Effect.catchCauseIf(
      running,
      (cause) => !Cause.hasInterruptsOnly(cause),
      (cause) =>
        Effect.as(Effect.logError("tool call failed", { tool, reqId }, cause), toolFailed("Internal error"))
    )

  const execute = Effect.fnUntraced(function* (
    call: Call,
    timeout: Duration.Duration,
    checkConsent: (entry: CatalogueEntry) => Effect.Effect<ToolResult | undefined>
  ) {
    const { toolName } = call
    const { entries, forbidden } = servers.catalogue()
    const entry = entries.get(toolName)
    if (entry === undefined) return forbidden.has(toolName) ? toolDisabled(toolName) : toolNotFound(toolName)
    const invalid = yield* validateParams(call, entry)
    if (invalid !== undefined) return invalid
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(timeout)
    const remaining = Effect.map(Clock.currentTimeMillis, (now) =>
      Duration.millis(Math.max(0, deadline - now))
    )
    const denial = yield* Effect.timeoutOption(checkConsent(entry), yield* remaining)
    if (Option.isNone(denial)) return confirmationRequired(`Tool '${toolName}' was not confirmed in time`)
    if (denial.value !== undefined) return denial.value
    // What was agreed to may have been forbidden, or given another name, while somebody thought about it.
    const current = servers.catalogue().entries.get(toolName)
    if (current?.server !== entry.server || current.originalName !== entry.originalName)
      return toolDisabled(toolName)
    const server = servers.find(entry.server)
    if (server === undefined) return toolFailed(`MCP server '${entry.server}' is not running`)
    const result = yield* Effect.timeoutOption(invoke(call, entry, server), yield* remaining)
    return Option.isNone(result)
      ? toolTimedOut("computer")
      : yield* applyScript(result.value, call, entry, server, yield* remaining)
  }, defectsAsFailures)

  /** Forgets what is too old or too much, the oldest first; what still runs is never forgotten. */
  const evict = (now: number) => {
    let characters = [...cache.values()].reduce((sum, { size }) => sum + size, 0)
    for (const [key, { size, updatedAt }] of cache) {
      const isOverLimit = cache.size > resultCache.maxRequests || characters > resultCache.maxCharacters
      if (!isOverLimit && now - updatedAt < resultCache.ttlMillis) break
      if (FiberMap.hasUnsafe(running, key)) continue
      cache.delete(key)
      characters -= size
    }
  }

  /** The fiber of a call: a new one, or the one that an equal request has started before. */
  const startOrJoin = Effect.fnUntraced(function* (request: ToolCallRequest) {
    const key = callKey(request.agent, request.reqId)
    const fingerprint = fingerprintOf(request)
    const now = yield* Clock.currentTimeMillis
    evict(now)
    const existing = cache.get(key)
    if (existing !== undefined) {
      return existing.fingerprint === fingerprint
        ? existing.fiber
        : yield* badRequest("This req_id was used for another call")
    }
    const timeout = Duration.seconds(request.timeout)
    const fiber = yield* FiberMap.run(
      running,
      key,
      execute(request, timeout, (entry) => requestConsent(request, entry)),
      // Known before it starts: whatever it sets off may want to stop it.
      { startImmediately: false }
    )
    const cached: CachedCall = { fingerprint, fiber, updatedAt: now, size: 0 }
    cache.set(key, cached)
    fiber.addObserver((exit) => {
      cached.size = Exit.isSuccess(exit) ? estimateSize(exit.value) : 0
      cached.updatedAt = clock.currentTimeMillisUnsafe()
      if (cache.get(key) !== cached) return
      cache.delete(key)
      cache.set(key, cached)
    })
    return fiber
  })

  const call = Effect.fnUntraced(function* (request: ToolCallRequest) {
    const exit = yield* Effect.flatMap(startOrJoin(request), Fiber.await)
    return Exit.isSuccess(exit) ? exit.value : toolCancelled()
  })

  const callLocally = Effect.fnUntraced(function* ({
    requester,
    params,
    timeout = defaultTimeout,
    tool
  }: LocalCall) {
    const reqId = yield* makeRequestId
    const call = { agent: requester ?? "", params, reqId, toolName: tool }
    return yield* execute(call, timeout, (entry) =>
      requester === undefined ? Effect.undefined : requestConsent(call, entry)
    )
  })

  return {
    call,
    callLocally,
    cancel: (reqId) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...running].filter(([key]) => hasRequestId(key, reqId)),
          ([key]) => FiberMap.remove(running, key),
          { discard: true }
        )
      ),
    // Forgotten first: what begins while the others end is remembered.
    reset: Effect.suspend(() => {
      cache.clear()
      return FiberMap.clear(running)
    }),
    history: () => Ref.getUnsafe(history)
  }
})
