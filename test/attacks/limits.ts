import { Duration } from "effect"
import type { Limits } from "../../src/application/server/Limits.ts"

/** The limits of the Server: small enough to exceed quickly, defaults for the rest. */
export const limits = {
  messagesPerSecond: 1000,
  messageBurst: 2000,
  callsPerAgent: 300,
  callsPerComputer: 200,
  connections: 40,
  offices: 8,
  membersPerOffice: 5,
  nameLength: 64,
  officeLength: 64,
  requestIdLength: 64,
  joinTimeout: Duration.seconds(10),
  idleTimeout: Duration.seconds(5),
  notificationBacklogBytes: 256 * 1024,
  backlogBytes: 64 * 1024 * 1024,
  totalBacklogBytes: 72 * 1024 * 1024,
  totalIncompleteBytes: 64 * 1024 * 1024,
  totalRequestBytes: 64 * 1024 * 1024
} satisfies Limits

/** The message size limit in bytes. */
export const maxMessageBytes = 4 * 1024 * 1024

/** Keepalive interval and timeout in milliseconds; a connection is stale after both together. */
export const pings = { pingInterval: 700, pingTimeout: 1800 }
