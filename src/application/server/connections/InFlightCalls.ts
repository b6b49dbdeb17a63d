import { Effect } from "effect"
import { type ProtocolError, tooManyRequests } from "../../../domain/model/ProtocolError.ts"
import type { Connection } from "./Connections.ts"
import { formatLimitName, Limits } from "../Limits.ts"
import type { RequestBudget } from "./RequestBudget.ts"
import type { InFlightCall } from "./InFlightCall.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/** A Computer by its connection here, or by its session id at another node. */
type CallTarget = Connection | string

const noCalls: ReadonlySet<InFlightCall> = new Set()

export type InFlightCalls = Effect.Success<ReturnType<typeof makeInFlightCalls>>

/**
 * Adds the calls of this node's Agents to the connections of both ends, and keeps those to Computers of other nodes by
 * session id. Enforces the limits of calls in flight. `bytes` is the size of a request.
 */
export const makeInFlightCalls = Effect.fnUntraced(function* (requestBudget: RequestBudget) {
  const limits = yield* Limits
  const metrics = yield* ServerMetrics
  const remoteCalls = new Map<string, Set<InFlightCall>>()
  let size = 0

  const checkLimit = (count: number, limit: "callsPerAgent" | "callsPerComputer", subject: string) => {
    const max = limits[limit]
    if (count < max) return undefined
    metrics.limitExceeded(limit)
    return tooManyRequests(`${subject} ${max} calls under way and may have no more`, formatLimitName(limit), max)
  }

  /** Calls to a Computer of another node. */
  const toRemote = (sid: string) => remoteCalls.get(sid) ?? noCalls

  const callsTo = (target: CallTarget): ReadonlySet<InFlightCall> =>
    typeof target === "string" ? toRemote(target) : target.calls

  const count = (agent: Connection, step: 1 | -1, bytes: number): void => {
    size += step
    requestBudget.change(agent, step * bytes)
  }

  return {
    /** The error of a call that would exceed a limit. `target` is missing for a lookup in the cluster. */
    checkLimits: (agent: Connection, target: CallTarget | undefined, bytes: number): ProtocolError | undefined =>
      checkLimit(agent.calls.size + agent.lookups, "callsPerAgent", "You have") ??
      checkLimit(target === undefined ? agent.lookups : callsTo(target).size, "callsPerComputer", "The Computer has") ??
      requestBudget.check(agent, bytes),
    add: (agent: Connection, target: CallTarget, call: InFlightCall, bytes: number): void => {
      count(agent, 1, bytes)
      agent.calls.add(call)
      if (typeof target !== "string") target.calls.add(call)
      else remoteCalls.set(target, (remoteCalls.get(target) ?? new Set()).add(call))
    },
    remove: (agent: Connection, target: CallTarget, call: InFlightCall, bytes: number): void => {
      count(agent, -1, bytes)
      agent.calls.delete(call)
      if (typeof target !== "string") return void target.calls.delete(call)
      // An empty set must go: nothing may ever report that a session of another node has ended.
      const calls = remoteCalls.get(target)
      if (calls?.delete(call) === true && calls.size === 0) remoteCalls.delete(target)
    },
    /** Counts a lookup that starts (1) or ends (-1). */
    countLookup: (agent: Connection, step: 1 | -1, bytes: number): void => {
      count(agent, step, bytes)
      agent.lookups += step
    },
    toRemote,
    /** All calls and lookups. */
    size: () => size
  }
})
