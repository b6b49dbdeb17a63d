import { Cause, Clock, Duration, Effect, Option, Ref } from "effect"
import type { Caller, OfficeCaller } from "../../../domain/approvals/Caller.ts"
import type { CallOutcome } from "../../../domain/calls/callState.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ToolCallRequest } from "../../../domain/wire/calls.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { toolFailed, toolTimedOut } from "../../../domain/tools/errorResults.ts"
import type { InputResponder } from "../../ports/McpSession.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { type CallReporter, type ReceivedCall, endOf, silentReporter, startCall } from "./Call.ts"
import { type ConsentParts, makeCallConsent, makeDecisionAudit } from "./CallConsent.ts"
import { makeCallElicitations } from "./CallElicitations.ts"
import { makeCallExecutions } from "./CallExecutions.ts"
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

/** Turns defects into failed calls; only interruption leaves a call without a result. */
const defectsAsFailures = (running: Effect.Effect<ToolResult>, { reqId, toolName: tool }: ReceivedCall) =>
  Effect.catchCauseIf(
    running,
    (cause) => !Cause.hasInterruptsOnly(cause),
    (cause) => Effect.as(Effect.logError("tool call failed", { tool, reqId }, cause), toolFailed("Internal error"))
  )

/** Executes calls on the running MCP servers; all calls end with the scope. */
export const makeToolCalls = Effect.fnUntraced(function* ({
  currentOffice = () => undefined,
  reporter = silentReporter,
  secrets,
  ...given
}: Omit<ConsentParts, "audit" | "currentOffice"> & {
  readonly currentOffice?: ConsentParts["currentOffice"]
  /** Tells the callers of the office; nothing by default. */
  readonly reporter?: CallReporter | undefined
  readonly secrets: Secrets
}) {
  const { computer, servers } = given
  const { approvalTimeout } = yield* ComputerSettings
  const { run, cancel, endAgentCalls, reset } = yield* makeCallExecutions
  const history = yield* Ref.make<ReadonlyArray<ToolCallRecord>>([])
  const { find, findServer } = yield* makeToolLookup(computer, servers)
  const parts = { ...given, currentOffice, audit: yield* makeDecisionAudit(computer) }
  const consent = yield* makeCallConsent(parts)
  const elicitations = yield* makeCallElicitations(parts, secrets)
  const { invoke, transform } = yield* makeToolInvocation(computer, consent.makeToolCheck)

  const record = (call: Omit<ToolCallRecord, "timestamp">) =>
    Effect.flatMap(Clock.currentTimeMillis, (timestamp) =>
      Ref.update(history, (records) => [...records, { timestamp, ...call }].slice(-maxHistory))
    )

  const execute = (
    request: ReceivedCall,
    timeout: Duration.Duration,
    local?: InputResponder
  ): Effect.Effect<ToolResult> =>
    Effect.gen(function* () {
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
    }).pipe(Effect.catch(Effect.succeed), (running) => defectsAsFailures(running, request))

  const tasks = yield* makeCallTasks(({ id: reqId, timeout, tool: toolName, ...call }, taskReporter) =>
    execute({ ...call, reqId, reporter: taskReporter, toolName }, Duration.seconds(timeout))
  )

  return {
    tasks,
    /** Executes a call of an Agent. A repeated request shares the result of the first one (spec §6.2). */
    call: (request: ToolCallRequest, caller: OfficeCaller) =>
      run(request, caller, execute({ ...request, caller, reporter }, Duration.seconds(request.timeout))),
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
