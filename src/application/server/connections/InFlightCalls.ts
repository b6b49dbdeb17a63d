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

  const countOf = (agent: Connection, target: CallTarget | undefined): number => {
    if (target === undefined) return agent.lookups
    return typeof target === "string" ? toRemote(target).size : target.calls.size
  }

  return {
    /** The error of a call that would exceed a limit. `target` is missing for a lookup in the cluster. */
    checkLimits: (agent: Connection, target: CallTarget | undefined, bytes: number): ProtocolError | undefined =>
      checkLimit(agent.calls.size + agent.lookups, "callsPerAgent", "You have") ??
      checkLimit(countOf(agent, target), "callsPerComputer", "The Computer has") ??
      requestBudget.check(agent, bytes),
    add: (agent: Connection, target: CallTarget, call: InFlightCall, bytes: number): void => {
      size += 1
      requestBudget.add(agent, bytes)
      agent.calls.add(call)
      if (typeof target !== "string") target.calls.add(call)
      else {
        const calls = remoteCalls.get(target)
        if (calls === undefined) remoteCalls.set(target, new Set([call]))
        else calls.add(call)
      }
    },
    remove: (agent: Connection, target: CallTarget, call: InFlightCall, bytes: number): void => {
      size -= 1
      requestBudget.remove(agent, bytes)
      agent.calls.delete(call)
      if (typeof target !== "string") target.calls.delete(call)
      else {
        // An empty set must go: nothing may ever report that a session of another node has ended.
        const calls = remoteCalls.get(target)
        if (calls?.delete(call) === true && calls.size === 0) remoteCalls.delete(target)
      }
    },
    addLookup: (agent: Connection, bytes: number): void => {
      size += 1
      agent.lookups += 1
      requestBudget.add(agent, bytes)
    },
    removeLookup: (agent: Connection, bytes: number): void => {
      size -= 1
      agent.lookups -= 1
      requestBudget.remove(agent, bytes)
    },
    toRemote,
    /** All calls and lookups. */
    size: () => size
  }
})
