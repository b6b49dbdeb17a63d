import { Cause, Clock, Duration, Effect, Exit, Option, Ref, Result, Stream } from "effect"
import { type CallStatus, maxProgressMessageLength, truncateServerNames } from "../../../domain/model/CallStatus.ts"
import type { CallPlace } from "../../../domain/approvals/standingApprovals.ts"
import { type Caller, isInOffice, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import type { ToolCallRequest } from "../../../domain/wire/calls.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import {
  rejectRoundedIntegers,
  toolDisabled,
  toolError,
  toolFailed,
  toolNotFound,
  toolTimedOut
} from "../../../domain/tools/errorResults.ts"
import { listCallsWithin, listToolNames } from "../../../domain/tools/naming.ts"
import { fromMcpResult } from "../../../domain/tools/mcpConversion.ts"
import { vrlScript } from "../../../domain/tools/vrl.ts"
import type { InputResponder, McpProgress, McpSession, McpSessionError } from "../../ports/McpSession.ts"
import { SchemaValidator } from "../../ports/SchemaValidator.ts"
import { VrlEngine } from "../../ports/VrlEngine.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import { startCountdown } from "../../shared/startCountdown.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Approvals } from "../approvals/Approvals.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { rejectToolWhileRestarting } from "../servers/rejectWhileRestarting.ts"
import { openSession, type OfferedServer } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { type Call, reportOf, timeAfterWait } from "./Call.ts"
import { makeCallConsent } from "./CallConsent.ts"
import { makeCallExecutions } from "./CallExecutions.ts"
import { makeCallQuestions } from "./CallQuestions.ts"
import { makeCallTasks } from "./CallTasks.ts"
import { type CallReporter, reportDelay, silentReporter } from "./CallReporter.ts"
import { startExecutionTimer } from "./executionTimer.ts"
import { transformResult } from "./transformResult.ts"

/** A call that reached an MCP server; desktops are ordered by recent use (seed 001). */
export interface ToolCallRecord {
  readonly timestamp: number
  readonly reqId: string
  readonly server: string
  readonly tool: string
  /** A call is cancelled by its Agent, by the shell, or when the Computer leaves the office. */
  readonly outcome: "done" | "failed" | "cancelled" | "timed_out"
}

/** A call from outside the office. */
export interface LocalCall {
  /** The exposed name of the tool. */
  readonly tool: string
  readonly params: JsonObject
  /** One minute by default. */
  readonly timeout?: Duration.Duration
  /** The caller in whose name consent is requested; without it the call needs no consent. */
  readonly requester?: string
  /** Answers questions of the MCP server, beside the hook `onInput` of the settings. */
  readonly responder?: InputResponder | undefined
}

const maxHistory = 10

const defaultTimeout = Duration.minutes(1)

/** Maps a failure of an MCP server to a result (spec §6.4, §6.6). */
const failureResult = (server: string, { reason, message }: McpSessionError): ToolResult => {
  const authorizationResult = (code: number, text: string, hint: string) =>
    toolError(code, text, { mcp_server: server, auth_hint: { action: "user_authorization_required", message: hint } })
  if (reason === "unauthorized") {
    return authorizationResult(
      errorCodes.authorizationRequired,
      `MCP server '${server}' asks for authorization`,
      `The owner of this Computer must authorize '${server}'`
    )
  }
  if (reason === "forbidden") {
    return authorizationResult(
      errorCodes.authorizationFailed,
      `MCP server '${server}' does not permit this`,
      `The rights granted to '${server}' do not cover this tool`
    )
  }
  return toolFailed(message)
}

/** Milliseconds between two reports of the progress of a call. */
const progressInterval = 500

/** The outcome of a call to a server, without a result when it timed out. */
const outcomeOf = (exit: Exit.Exit<Option.Option<ToolResult>>): ToolCallRecord["outcome"] => {
  if (Exit.isFailure(exit)) return Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "failed"
  if (Option.isNone(exit.value)) return "timed_out"
  return exit.value.value.isError ? "failed" : "done"
}

/** Executes calls on the running MCP servers; all calls end with the scope. */
export const makeToolCalls = Effect.fnUntraced(function* (
  computer: string,
  servers: ServerSupervisor,
  approvals: Approvals,
  secrets: Secrets,
  officeReporter: CallReporter = silentReporter,
  currentOffice: () => CallPlace | undefined = () => undefined
) {
  const { onProgress } = yield* ComputerSettings
  const { run, cancel, endAgentCalls, reset } = yield* makeCallExecutions
  const history = yield* Ref.make<ReadonlyArray<ToolCallRecord>>([])
  const validator = yield* SchemaValidator
  const engine = yield* Effect.serviceOption(VrlEngine)
  const unusableSchemas = new WeakSet<JsonObject>()
  const consent = yield* makeCallConsent(computer, servers, approvals, currentOffice)
  const questions = yield* makeCallQuestions(computer, servers, approvals, currentOffice, secrets)

  const record = (
    { reqId }: Call,
    { originalName: tool, server }: CatalogueEntry,
    exit: Exit.Exit<Option.Option<ToolResult>>
  ) =>
    Effect.flatMap(Clock.currentTimeMillis, (timestamp) =>
      Ref.update(history, (records) =>
        [...records, { timestamp, reqId, server, tool, outcome: outcomeOf(exit) }].slice(-maxHistory)
      )
    )

  /** Validates the parameters; an unusable schema is logged once and skips validation. */
  const validateParams = Effect.fnUntraced(function* ({ params, toolName }: Call, { tool }: CatalogueEntry) {
    const errors = yield* Effect.catch(validator.check(tool.paramsSchema, params), ({ message }) => {
      if (unusableSchemas.has(tool.paramsSchema)) return Effect.succeed([])
      unusableSchemas.add(tool.paramsSchema)
      const fields = { tool: toolName, reason: message }
      return Effect.as(Effect.logWarning("tool schema invalid, parameters not validated", fields), [])
    })
    if (errors.length === 0) return undefined
    const list = errors.map((error) => `\n- ${error}`).join("")
    return toolFailed(`Tool '${toolName}' was not called: its arguments do not fit its schema.${list}`)
  })

  /** Waits for something, and reports the status of an Agent's call once this takes long. */
  const waitReporting = <A, E, R>(call: Call, waiting: Effect.Effect<A, E, R>, status: () => CallStatus) => {
    if (!isInOffice(call.caller)) return waiting
    const report = Effect.suspend(() => call.reporter.report(reportOf(call, status())))
    return Effect.raceFirst(waiting, Effect.andThen(Effect.delay(report, reportDelay), Effect.never))
  }

  /** Reports the progress of an Agent's call, the first step and then some of the next ones. */
  const makeProgressReport = (call: Call) => {
    let nextAt = 0
    return ({ message, progress, total }: McpProgress): Effect.Effect<void> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (!isInOffice(call.caller) || now < nextAt) return Effect.void
        nextAt = now + progressInterval
        const shown = message?.slice(0, maxProgressMessageLength).toWellFormed()
        const step = { progress, ...definedOnly({ total, message: shown }) }
        return call.reporter.report(reportOf(call, { _tag: "Progressing", computer, ...step }))
      })
  }

  /**
   * Opens the session of a lazy server for a call; fails with its result. A start may find another tool than the one that
   * was allowed.
   */
  const openFor = Effect.fnUntraced(function* (
    call: Call,
    entry: CatalogueEntry,
    server: OfferedServer,
    lazyControl: NonNullable<OfferedServer["lazyControl"]>,
    denialNow: Effect.Effect<ToolResult | undefined>
  ) {
    const { caller, toolName } = call
    const opening = Effect.mapError(openSession(server), (error) => failureResult(entry.serverId, error))
    const digest = consent.digestOf(entry)
    const session = yield* waitReporting(call, opening, () => ({
      _tag: "WaitingForServers",
      computer,
      servers: truncateServerNames([server.config.name])
    }))
    const isSameRun = session === lazyControl.live
    const isAllowed = caller._tag === "Owner" || isSameRun || consent.isUnchanged(toolName, digest)
    const denial = isAllowed ? yield* denialNow : toolDisabled(toolName)
    return denial === undefined ? session : yield* Effect.fail(denial)
  })

  const invokeAt = Effect.fnUntraced(function* (
    call: Call,
    entry: CatalogueEntry,
    session: McpSession,
    responder: InputResponder
  ) {
    const { params, reqId, toolName: tool } = call
    const report = makeProgressReport(call)
    const options = {
      responder,
      onProgress: (step: McpProgress) => Effect.andThen(onProgress({ ...step, reqId, tool }), report(step))
    }
    const outcome = yield* Effect.result(session.callTool(entry.originalName, params, options))
    return Result.isFailure(outcome)
      ? failureResult(entry.serverId, outcome.failure)
      : Result.getOrElse(fromMcpResult(outcome.success), (message) =>
          toolFailed(`The tool's result is malformed: ${message}`)
        )
  })

  /** Invokes a tool at its server, which is started for it when it is lazy. The policy may change during the start. */
  const invoke = (
    call: Call,
    entry: CatalogueEntry,
    server: OfferedServer,
    responder: InputResponder,
    denialNow: Effect.Effect<ToolResult | undefined>
  ): Effect.Effect<ToolResult> =>
    server.lazyControl === undefined
      ? invokeAt(call, entry, server.session, responder)
      : Effect.scoped(
          Effect.matchEffect(openFor(call, entry, server, server.lazyControl, denialNow), {
            onFailure: Effect.succeed,
            onSuccess: (session) => invokeAt(call, entry, session, responder)
          })
        )

  /** Turns defects into failed calls; only interruption leaves a call without a result. */
  const defectsAsFailures = (running: Effect.Effect<ToolResult>, { reqId, toolName: tool }: Call) =>
    Effect.catchCauseIf(
      running,
      (cause) => !Cause.hasInterruptsOnly(cause),
      (cause) => Effect.as(Effect.logError("tool call failed", { tool, reqId }, cause), toolFailed("Internal error"))
    )

  /** The result of a call whose server is restarting. */
  const restartingResult = (tool: string): Effect.Effect<ToolResult | undefined> =>
    Effect.match(rejectToolWhileRestarting(servers, tool), {
      onFailure: ({ extra, message }) => toolFailed(message, extra),
      onSuccess: () => undefined
    })

  /** Waits while a starting server may have an unknown tool. Leaves time to run the tool, or to say what is missing. */
  const awaitTool = (call: Call, timeout: Duration.Duration): Effect.Effect<unknown> => {
    const { toolName } = call
    const isDecided = () => {
      const { catalogue, starting } = servers.snapshot()
      return starting.length === 0 || catalogue.entries.has(toolName) || catalogue.forbidden.has(toolName)
    }
    if (isDecided()) return Effect.void
    const decided = Stream.runHead(Stream.filter(servers.changes, isDecided))
    return waitReporting(
      call,
      Effect.timeoutOption(decided, Duration.subtract(timeout, timeAfterWait(timeout))),
      () => ({
        _tag: "WaitingForServers",
        computer,
        servers: truncateServerNames(servers.snapshot().starting)
      })
    )
  }

  const execute = Effect.fnUntraced(function* (call: Call, timeout: Duration.Duration, local?: InputResponder) {
    const { params, toolName } = call
    const countdown = yield* startCountdown(timeout)
    yield* awaitTool(call, timeout)
    const { catalogue, starting } = servers.snapshot()
    const entry = catalogue.entries.get(toolName)
    if (entry === undefined) {
      if (catalogue.forbidden.has(toolName)) return toolDisabled(toolName)
      return (yield* restartingResult(toolName)) ?? toolNotFound(toolName, starting)
    }
    const { originalName, shortName } = entry
    const named = { originalName, shortName, tool: toolName, params }
    const within = listCallsWithin(named, servers.find(entry.server)?.config).flatMap(listToolNames)
    const forbidden = within.find((name) => catalogue.forbidden.has(name))
    if (forbidden !== undefined) return toolDisabled(forbidden)
    const invalid = rejectRoundedIntegers(toolName, params) ?? (yield* validateParams(call, entry))
    if (invalid !== undefined) return invalid
    const { denial, denialNow, extendedBy, remaining } = yield* consent.requireConsent(call, entry, countdown)
    if (denial !== undefined) return denial
    // The catalogue may have changed since the call arrived.
    const current = servers.snapshot().catalogue.entries.get(toolName)
    const server = servers.find(entry.server)
    if (current?.server !== entry.server || current.originalName !== entry.originalName || server === undefined) {
      return (yield* restartingResult(toolName)) ?? toolDisabled(toolName)
    }
    const timer = yield* startExecutionTimer(yield* remaining)
    const responder = questions({ call, entry, timer, extendedBy, responder: local })
    const result = yield* timer
      .bound(invoke(call, entry, server, responder, denialNow))
      .pipe(Effect.onExit((exit) => record(call, entry, exit)))
    if (Option.isNone(result)) return toolTimedOut("computer")
    const script = vrlScript(server.config.vrl)
    if (script === undefined || Option.isNone(engine)) return result.value
    const tool = entry.originalName
    return yield* Effect.timeoutOrElse(transformResult(engine.value, script, result.value, { tool, params }), {
      duration: yield* timer.remaining,
      orElse: () => Effect.as(Effect.logWarning("VRL transform timed out", { tool }), result.value)
    })
  }, defectsAsFailures)

  const tasks = yield* makeCallTasks(({ id: reqId, timeout, tool: toolName, ...call }, reporter) =>
    execute({ ...call, reqId, reporter, toolName }, Duration.seconds(timeout))
  )

  return {
    tasks,
    /** Executes a call of an Agent. A repeated request shares the result of the first one (spec §6.2). */
    call: (request: ToolCallRequest, caller: OfficeCaller) =>
      run(
        request,
        caller,
        execute({ ...request, caller, reporter: officeReporter }, Duration.seconds(request.timeout))
      ),
    callLocally: ({ params, requester, responder, timeout = defaultTimeout, tool: toolName }: LocalCall) =>
      Effect.flatMap(makeRequestId, (reqId) => {
        const caller: Caller = requester === undefined ? { _tag: "Owner" } : { _tag: "Local", name: requester }
        return execute({ caller, params, reporter: silentReporter, reqId, toolName }, timeout, responder)
      }),
    explain: consent.explain,
    cancel,
    endAgentCalls,
    reset,
    history: () => Ref.getUnsafe(history)
  }
})

export type ToolCalls = Effect.Success<ReturnType<typeof makeToolCalls>>
