import { Cause, Clock, Effect, Exit, Fiber, FiberMap } from "effect"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { toolCancelled } from "../../../domain/tools/errorResults.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import type { AgentError } from "../AgentErrors.ts"
import type { AgentRequests, ToolRequest } from "../AgentRequests.ts"
import type { OnCallStatus } from "../callStatuses.ts"
import type { ToolTask } from "./toolTasks.ts"

const isInterrupted = (exit: Exit.Exit<unknown, unknown>) => Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

/** Makes tasks of calls to Computers that do not run tasks: they run as long as this Agent, whose scope ends them. */
export const makeLocalTasks = Effect.fnUntraced(function* (callTool: AgentRequests["callTool"]) {
  const running = yield* FiberMap.make<string, ToolResult, AgentError>()
  return Effect.fnUntraced(function* (request: ToolRequest): Effect.fn.Return<ToolTask> {
    const id = yield* makeRequestId
    const createdAt = yield* Clock.currentTimeMillis
    let latest: CallStatus | undefined
    let updatedAt = createdAt
    const touch = Effect.map(Clock.currentTimeMillis, (now) => void (updatedAt = now))
    const onStatus: OnCallStatus = (status) =>
      Effect.suspend(() => {
        latest = status
        return Effect.andThen(touch, request.onStatus?.(status) ?? Effect.void)
      })
    const fiber = yield* FiberMap.run(running, id, Effect.ensuring(callTool({ ...request, onStatus }), touch))
    return {
      id,
      computer: request.computer,
      endsWithAgent: true,
      status: Effect.sync(() => {
        const exit = fiber.pollUnsafe()
        const state = exit === undefined ? "working" : isInterrupted(exit) ? "cancelled" : "completed"
        return { tool: request.tool, state, createdAt, updatedAt, ...definedOnly({ latest }) }
      }),
      result: Effect.flatMap(Fiber.await(fiber), (exit) =>
        isInterrupted(exit) ? Effect.succeed(toolCancelled()) : exit
      ),
      cancel: FiberMap.remove(running, id)
    }
  })
})
