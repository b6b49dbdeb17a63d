import { totalmem } from "node:os"
import { Record } from "effect"
import type { Limits, memoryLimitRows } from "../../application/server/Limits.ts"

/** The limits of what all clients together may hold in memory. */
export type MemoryLimits = Pick<Limits, keyof typeof memoryLimitRows>

/**
 * The shares of the memory as divisors: half of it in all. The rest is for the program, for the copies that TLS makes of
 * bytes on their way out, and for what the shares do not count.
 */
export const memoryShares: { readonly [L in keyof MemoryLimits]: number } = {
  totalBacklogBytes: 4,
  totalIncompleteBytes: 8,
  totalRequestBytes: 8
}

/**
 * Memory of this process in bytes: that of the machine, or of its container. The limit of the V8 heap is of no use here:
 * the bytes of messages are outside of the heap. Node gives 0 or a huge number without a limit of a container.
 */
const availableMemory = (): number => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)

/** The default limits of this process. */
export const makeMemoryLimits = (memory = availableMemory()): MemoryLimits =>
  Record.map(memoryShares, (share) => Math.floor(memory / share))
