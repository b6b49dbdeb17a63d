import { Effect } from "effect"
import { type ProtocolError, tooManyRequests } from "../../../domain/model/ProtocolError.ts"
import type { Body } from "../../ports/Body.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"
import type { Connection } from "./Connections.ts"
import { formatLimitName, Limits } from "../Limits.ts"

/** Memory of a request in progress beside its body: its fiber, its timer and its place in the limits. */
const requestOverhead = 4096

/** Approximate memory of a request in progress, in bytes: its text, and the texts that were read from it. */
export const requestMemory = (body: Body): number => 2 * body.byteLength() + requestOverhead

/** Milliseconds after which a client may retry a request that exceeds the memory. */
const retryAfter = 1000

export type RequestBudget = Effect.Success<typeof makeRequestBudget>

/**
 * Limits the memory of the requests in progress of all clients, in bytes of {@link requestMemory}. A request stays in
 * memory until its end, for the audit.
 */
export const makeRequestBudget = Effect.gen(function* () {
  const { totalRequestBytes: maxBytes } = yield* Limits
  const metrics = yield* ServerMetrics
  let total = 0

  return {
    /**
     * The error of a request that exceeds the memory. A client may hold as much as is free for the others: no client
     * exhausts the memory of all.
     */
    check: (connection: Connection, bytes: number): ProtocolError | undefined => {
      const held = connection.requestBytes + bytes
      if (held <= maxBytes - total) return undefined
      metrics.limitExceeded("totalRequestBytes")
      const message = `Your requests in progress occupy ${held} bytes with this one, and the Server has no more memory`
      return tooManyRequests(message, formatLimitName("totalRequestBytes"), maxBytes, retryAfter)
    },
    /** Adds the bytes of a request that starts, and takes those of one that ends: then `bytes` is negative. */
    change: (connection: Connection, bytes: number): void => {
      connection.requestBytes += bytes
      total += bytes
    },
    totalBytes: () => total
  }
})
