import { Clock, Duration, Effect, Exit, Fiber, FiberMap, Hash } from "effect"
import { callerKey, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { estimateSize, findSurplus, type KeptResult } from "../../../domain/calls/tasksState.ts"
import type { ToolCallRequest } from "../../../domain/wire/calls.ts"
import { badRequest, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { toolCancelled } from "../../../domain/tools/errorResults.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

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
export const makeCallExecutions = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const running = yield* FiberMap.make<string, ToolResult>()
  /** In order of `updatedAt`. */
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
    const cached: CachedCall = { caller, fingerprint, fiber, isRunning: true, updatedAt: now, size: 0 }
    cache.set(key, cached)
    fiber.addObserver((exit) => {
      if (cache.get(key) !== cached) return
      const size = Exit.isSuccess(exit) ? estimateSize(exit.value) : 0
      cache.delete(key)
      cache.set(key, { ...cached, isRunning: false, updatedAt: clock.currentTimeMillisUnsafe(), size })
    })
    return fiber
  })

  return {
    /**
     * Executes a request, or joins its running or completed execution. Interrupting a waiter does not stop the
     * execution. Fails when another call used the same `req_id`.
     */
    run: (
      request: ToolCallRequest,
      caller: OfficeCaller,
      execution: Effect.Effect<ToolResult>
    ): Effect.Effect<ToolResult, ProtocolError> =>
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
