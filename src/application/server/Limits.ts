import { Context, Duration } from "effect"
import { maxIdentifierLength } from "../../domain/model/fields.ts"

/** Infinity disables a limit, except for lengths, which the protocol bounds. docs/limits.md lists flags and errors. */
export interface Limits {
  /** Rate limit of a client's messages, replies excluded: average per second, and burst. */
  readonly messagesPerSecond: number
  readonly messageBurst: number
  /** Calls in flight of one Agent, and to one Computer. */
  readonly callsPerAgent: number
  readonly callsPerComputer: number
  readonly connections: number
  readonly offices: number
  readonly membersPerOffice: number
  /** UTF-16 units of a member name, an office id and a request id. */
  readonly nameLength: number
  readonly officeLength: number
  readonly requestIdLength: number
  /** Longest time of a connection outside of all offices. */
  readonly joinTimeout: Duration.Duration
  /** Longest time of a connection without a message in either direction. */
  readonly idleTimeout: Duration.Duration
  /** Send backlog of a client, in bytes, above which its notifications are deferred. */
  readonly notificationBacklogBytes: number
  /** Send backlog of a client, in bytes, above which it is closed. Calls of an Agent are rejected above half of it. */
  readonly backlogBytes: number
  /** Send backlog of all clients, in bytes, above which the slowest readers are closed. */
  readonly totalBacklogBytes: number
  /** Bytes of messages received in part, of all connections, above which the slowest senders are closed. */
  readonly totalIncompleteBytes: number
  /** Memory of the requests in progress of all clients. A client may hold as much as is free for the others. */
  readonly totalRequestBytes: number
}

/**
 * The limits of a Server; the defaults are generous for well-behaved clients. Those of all clients together suit a machine
 * with 4 GiB; a host should derive them from its memory.
 */
export const Limits = Context.Reference<Limits>("a2c-smcp/application/server/Limits", {
  defaultValue: () => ({
    messagesPerSecond: 5000,
    messageBurst: 10_000,
    callsPerAgent: 256,
    callsPerComputer: 256,
    connections: 10_000,
    offices: 10_000,
    membersPerOffice: 1000,
    nameLength: maxIdentifierLength,
    officeLength: maxIdentifierLength,
    requestIdLength: maxIdentifierLength,
    joinTimeout: Duration.seconds(60),
    idleTimeout: Duration.infinity,
    notificationBacklogBytes: 4 * 1024 * 1024,
    backlogBytes: 64 * 1024 * 1024,
    totalBacklogBytes: 1024 * 1024 * 1024,
    totalIncompleteBytes: 512 * 1024 * 1024,
    totalRequestBytes: 512 * 1024 * 1024
  })
})

/** The name of a limit in protocol errors and metrics: snake case. */
export const formatLimitName = (limit: string): string =>
  limit.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
