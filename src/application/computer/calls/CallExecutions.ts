import { Clock, Duration, Effect, Exit, Fiber, FiberMap, Hash } from "effect"
import { callerKey, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { maxJsonDepth } from "../../../domain/json.ts"
import type { ToolCallRequest } from "../../../domain/wire/calls.ts"
import { badRequest, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { toolCancelled } from "../../../domain/tools/errorResults.ts"

const limits = { ttlMillis: Duration.toMillis("5 minutes"), maxRequests: 256, maxCharacters: 32 * 1024 * 1024 }

interface CachedCall {
  readonly caller: OfficeCaller
  readonly fingerprint: string
  readonly fiber: Fiber.Fiber<ToolResult>
  /** Start of a running execution, end of a completed one, in milliseconds since 1970. */
  updatedAt: number
  /** Approximate size of the result in characters; 0 while the execution is running. */
  size: number
}

/** Identifies the call behind a `req_id` without storing its parameters. */
const fingerprintOf = ({ params, toolName }: ToolCallRequest): string => {
  const text = JSON.stringify(params)
  return JSON.stringify([toolName, text.length, Hash.string(text)])
}

/** Counts the characters of all strings in a result: they make up nearly all of its size. */
export const estimateSize = (value: unknown, depth = maxJsonDepth): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null || depth === 0) return 8
  return Object.values(value).reduce<number>((sum, member) => sum + estimateSize(member, depth - 1), 0)
}

const keyOf = (reqId: string, caller: OfficeCaller): string =>
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

  /** Evicts expired and surplus results, the oldest first, but no running execution. */
  const evict = (now: number) => {
    let characters = [...cache.values()].reduce((sum, { size }) => sum + size, 0)
    for (const [key, { size, updatedAt }] of cache) {
      const isOverLimit = cache.size > limits.maxRequests || characters > limits.maxCharacters
      if (!isOverLimit && now - updatedAt < limits.ttlMillis) break
      if (FiberMap.hasUnsafe(running, key)) continue
      cache.delete(key)
      characters -= size
    }
  }

  const startOrJoin = Effect.fnUntraced(function* (
    request: ToolCallRequest,
    caller: OfficeCaller,
    execution: Effect.Effect<ToolResult>
  ) {
    const key = keyOf(request.reqId, caller)
    const fingerprint = fingerprintOf(request)
    const now = clock.currentTimeMillisUnsafe()
    evict(now)
    const existing = cache.get(key)
    if (existing !== undefined) {
      return existing.fingerprint === fingerprint
        ? existing.fiber
        : yield* badRequest("This req_id was used for another call")
    }
    // The execution starts after it is registered: its effects may cancel it.
    const fiber = yield* FiberMap.run(running, key, execution, { startImmediately: false })
    const cached: CachedCall = { caller, fingerprint, fiber, updatedAt: now, size: 0 }
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
    /** Cancels the call of this caller. */
    cancel: (reqId: string, caller: OfficeCaller): Effect.Effect<void> =>
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
