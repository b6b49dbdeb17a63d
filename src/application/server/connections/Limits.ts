import { Context, Duration } from "effect"
import { maxIdentifierLength } from "../../../domain/model/names.ts"

/**
 * What a stranger may use of a Server at most. Infinity is no limit, except for lengths, which the protocol bounds.
 * docs/limits.md says how each is set and what exceeding it is answered with.
 */
export interface Limits {
  /** Messages a member may send in a second on average, answers not counted, and how many at once. */
  readonly messagesPerSecond: number
  readonly messageBurst: number
  /** Calls of one Agent, and to one Computer, that wait for their answer at the same time. */
  readonly callsPerAgent: number
  readonly callsPerComputer: number
  readonly connections: number
  readonly offices: number
  readonly membersPerOffice: number
  /** UTF-16 units of the name of a member, of an office id, and of a request id. */
  readonly nameLength: number
  readonly officeLength: number
  readonly requestIdLength: number
  /** How long a connection may stay outside of every office. */
  readonly joinTimeout: Duration.Duration
  /** How long a member may sit in an office without a message in either direction. */
  readonly idleTimeout: Duration.Duration
  /** Bytes that wait for a member before notifications to it are put off. */
  readonly notificationBacklogBytes: number
  /** Bytes that wait for a member before it is let go; an Agent begins no call any more above half of them. */
  readonly backlogBytes: number
}

/**
 * The limits of a Server; generous for honest members. The messages are what a Server relays in a second on a fraction
 * of a core, the longest names those of the protocol.
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
    backlogBytes: 64 * 1024 * 1024
  })
})

/** How the wire names a limit. */
export const formatLimitName = (limit: keyof Limits): string =>
  limit.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
