import { Effect } from "effect"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { Body } from "../../ports/Body.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"
import type { Connection } from "./Connections.ts"
import { exceedLimit, Limits } from "../Limits.ts"
import type { InFlightCall } from "./InFlightCall.ts"

/** Memory of a request in progress beside its body: its fiber, its timer and its place in the limits. */
const requestOverhead = 4096

/** Approximate memory of a request in progress, in bytes: its text, and the texts that were read from it. */
export const requestMemory = (body: Body): number => 2 * body.byteLength() + requestOverhead

/** Milliseconds after which a client may retry a request that exceeds the memory. */
const retryAfter = 1000

export type RequestBudget = Effect.Success<typeof makeRequestBudget>

/** Limits the memory of all requests in progress. A request stays in memory until its end, for the audit. */
export const makeRequestBudget = Effect.gen(function* () {
  const { totalRequestBytes: maxBytes } = yield* Limits
  const metrics = yield* ServerMetrics
  let total = 0

  return {
    /** The error of a request beyond the memory. A client may hold only as much as is free for the others. */
    check: (connection: Connection, bytes: number): ProtocolError | undefined => {
      const held = connection.requestBytes + bytes
      if (held <= maxBytes - total) return undefined
      const message = `Your requests in progress occupy ${held} bytes with this one, and the Server has no more memory`
      return exceedLimit(metrics, "totalRequestBytes", maxBytes, message, retryAfter)
    },
    /** Adds the bytes of a request that starts, and takes those of one that ends: then `bytes` is negative. */
    change: (connection: Connection, bytes: number): void => {
      connection.requestBytes += bytes
      total += bytes
    },
    totalBytes: () => total
  }
})

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
    return exceedLimit(metrics, limit, max, `${subject} ${max} calls under way and may have no more`)
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
