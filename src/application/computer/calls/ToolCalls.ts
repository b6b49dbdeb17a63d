import { Clock, Duration, Effect, Exit, Fiber, FiberMap, Hash, Option, Ref } from "effect"
import { type Caller, callerKey, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import type { CallOutcome } from "../../../domain/calls/callState.ts"
import { estimateSize, findSurplus, type KeptResult } from "../../../domain/calls/tasksState.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ToolCallRequest } from "../../../domain/wire/calls.ts"
import { badRequest } from "../../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { toolCancelled, toolFailed, toolTimedOut } from "../../../domain/tools/errorResults.ts"
import type { InputResponder } from "../../ports/McpSession.ts"
import { answerOr } from "../../shared/questions/askUntilValid.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { type CallReporter, type ReceivedCall, endOf, silentReporter, startCall } from "./Call.ts"
import { type ConsentParts, makeCallConsent, makeDecisionAudit } from "./CallConsent.ts"
import { makeCallElicitations } from "./CallElicitations.ts"
import { makeCallTasks } from "./CallTasks.ts"
import { makeToolInvocation, makeToolLookup } from "./toolInvocation.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

/** A call that reached an MCP server; desktops are ordered by recent use (seed 001). */
export interface ToolCallRecord {
  readonly timestamp: number
  readonly reqId: RequestId
  readonly server: string
  readonly tool: string
  readonly outcome: CallOutcome
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

const limits = { count: 256, characters: 32 * 1024 * 1024, millis: Duration.toMillis("5 minutes") }

interface CachedCall extends KeptResult {
  readonly caller: OfficeCaller
  readonly fingerprint: string
  readonly fiber: Fiber.Fiber<ToolResult>
}

/** Identifies the call behind a `req_id` without storing its parameters. */
const fingerprintOf = ({ params, toolName }: ToolCallRequest): string => {
  const text = JSON.stringify(params)
  return JSON.stringify([toolName, text.length, Hash.string(text)])
}

const keyOf = (reqId: RequestId, caller: OfficeCaller): string =>
  JSON.stringify([reqId, callerKey(caller), caller.membership])

/**
 * Runs and cancels the executions of calls, and keeps their results for a while. Requests of one caller with the same
 * `req_id` share one execution (spec §6.2). Executions end with the scope.
 */
const makeCallExecutions = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const running = yield* FiberMap.make<string, ToolResult>()
  /** In the order in which they began, or else ended. */
  const cache = new Map<string, CachedCall>()

  const startOrJoin = Effect.fnUntraced(function* (
    request: ToolCallRequest,
    caller: OfficeCaller,
    execution: Effect.Effect<ToolResult>
  ) {
    const key = keyOf(request.reqId, caller)
    const fingerprint = fingerprintOf(request)
    const now = clock.currentTimeMillisUnsafe()
    for (const surplus of findSurplus(cache, limits, now)) cache.delete(surplus)
    const existing = cache.get(key)
    if (existing !== undefined) {
      return existing.fingerprint === fingerprint
        ? existing.fiber
        : yield* badRequest("This req_id was used for another call")
    }
    // The execution starts after it is registered: its effects may cancel it.
    const fiber = yield* FiberMap.run(running, key, execution, { startImmediately: false })
    const cached: CachedCall = { caller, fingerprint, fiber, state: { state: "working", updatedAt: now }, size: 0 }
    cache.set(key, cached)
    fiber.addObserver((exit) => {
      if (cache.get(key) !== cached) return
      const size = Exit.isSuccess(exit) ? estimateSize(exit.value) : 0
      cache.delete(key)
      cache.set(key, { ...cached, state: { state: "completed", updatedAt: clock.currentTimeMillisUnsafe() }, size })
    })
    return fiber
  })

  return {
    /**
     * Executes a request, or joins its running or completed execution. Interrupting a waiter does not stop the
     * execution. Fails when another call used the same `req_id`.
     */
    run: (request: ToolCallRequest, caller: OfficeCaller, execution: Effect.Effect<ToolResult>) =>
      Effect.map(Effect.flatMap(startOrJoin(request, caller, execution), Fiber.await), (exit) =>
        Exit.isSuccess(exit) ? exit.value : toolCancelled()
      ),
    cancel: (reqId: RequestId, caller: OfficeCaller): Effect.Effect<void> =>
      FiberMap.remove(running, keyOf(reqId, caller)),
    /** Cancels the calls of Agents, and drops their results. */
    endAgentCalls: Effect.suspend(() => {
      const keys = [...cache].flatMap(([key, { caller }]) => (caller._tag === "Agent" ? [key] : []))
      for (const key of keys) cache.delete(key)
      return Effect.forEach(keys, (key) => FiberMap.remove(running, key), { concurrency: "unbounded", discard: true })
    }),
    reset: Effect.suspend(() => {
      // The results are dropped first: a call that starts during the interruptions stays cached.
      cache.clear()
      return FiberMap.clear(running)
    })
  }
})

/** Executes calls on the running MCP servers; all calls end with the scope. */
export const makeToolCalls = Effect.fnUntraced(function* ({
  reporter,
  secrets,
  ...given
}: Omit<ConsentParts, "audit"> & {
  /** Tells the callers of the office. */
  readonly reporter: CallReporter
  readonly secrets: Secrets
}) {
  const { computer, servers } = given
  const { approvalTimeout } = yield* ComputerSettings
  const { run, cancel, endAgentCalls, reset } = yield* makeCallExecutions
  const history = yield* Ref.make<ReadonlyArray<ToolCallRecord>>([])
  const { find, findServer } = yield* makeToolLookup(computer, servers)
  const parts = { ...given, audit: yield* makeDecisionAudit(computer) }
  const consent = yield* makeCallConsent(parts)
  const elicitations = yield* makeCallElicitations(parts, secrets)
  const { invoke, transform } = yield* makeToolInvocation(computer, consent.makeToolCheck)

  const record = (call: Omit<ToolCallRecord, "timestamp">) =>
    Effect.flatMap(Clock.currentTimeMillis, (timestamp) =>
      Ref.update(history, (records) => [...records, { timestamp, ...call }].slice(-maxHistory))
    )

  const execute = Effect.fnUntraced(
    function* (request: ReceivedCall, timeout: Duration.Duration, local?: InputResponder) {
      const call = yield* startCall(request, { approvalTimeout, timeout })
      const entry = yield* find(call)
      const checkPolicy = yield* consent.requireConsent(call, entry)
      const server = yield* findServer(call, entry)
      const responder = elicitations({ call, entry, responder: local })
      const invocation = { call, entry, server, responder, checkPolicy }
      call.dispatch({ _tag: "Started" })
      const result = yield* Effect.onExit(call.bound(invoke(invocation)), (exit) => {
        const end = call.dispatch(endOf(exit))
        if (end?._tag !== "Record") return Effect.void
        return record({ reqId: call.reqId, server: entry.server, tool: entry.originalName, outcome: end.outcome })
      })
      return Option.isNone(result) ? toolTimedOut("computer") : yield* transform(invocation, result.value)
    },
    Effect.catch(Effect.succeed),
    // Defects are failed calls too: only interruption leaves a call without a result.
    (running, { reqId, toolName: tool }) =>
      answerOr(running, toolFailed("Internal error"), (cause) =>
        Effect.logError("tool call failed", { tool, reqId }, cause)
      )
  )

  const tasks = yield* makeCallTasks(({ id: reqId, timeout, tool: toolName, ...call }, taskReporter) =>
    execute({ ...call, reqId, reporter: taskReporter, toolName }, Duration.seconds(timeout))
  )

  return {
    tasks,
    /** Executes a call of an Agent. A repeated request shares the result of the first one (spec §6.2). */
    call: (request: ToolCallRequest, caller: OfficeCaller) =>
      run(request, caller, execute({ ...request, caller, reporter }, Duration.seconds(request.timeout))),
    callLocally: (
      { params, requester, responder, timeout = defaultTimeout, tool: toolName }: LocalCall,
      onStatus: (status: CallStatus) => Effect.Effect<void> = () => Effect.void
    ) =>
      Effect.flatMap(makeRequestId, (reqId) => {
        const reporter: CallReporter = { ...silentReporter, report: ({ status }) => onStatus(status) }
        const caller: Caller = requester === undefined ? { _tag: "Owner" } : { _tag: "Local", name: requester }
        return execute({ caller, params, reporter, reqId, toolName }, timeout, responder)
      }),
    explain: consent.explain,
    cancel,
    endAgentCalls,
    reset,
    history: () => Ref.getUnsafe(history)
  }
})
