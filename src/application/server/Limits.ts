import { Context, Duration } from "effect"

/** What a stranger may use of a Server at most. Each has its flag, its variable and its answer in the README. */
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
  /** Characters of the name of a member, of an office, and of a request id. */
  readonly nameLength: number
  readonly officeLength: number
  readonly requestIdLength: number
  /** How long a connection may stay outside of every office. */
  readonly joinTime: Duration.Duration
  /** How long a member may sit in an office without a message in either direction; infinite is for ever. */
  readonly idleTime: Duration.Duration
  /** Bytes that wait for a member before notifications to it are left out, and before it is let go. */
  readonly backlogNotices: number
  readonly backlogBytes: number
}

/** The limits of a Server; generous for honest members. */
export const Limits = Context.Reference<Limits>("a2c-smcp/application/server/Limits", {
  defaultValue: () => ({
    messagesPerSecond: 1000,
    messageBurst: 2000,
    callsPerAgent: 256,
    callsPerComputer: 256,
    connections: 10_000,
    offices: 10_000,
    membersPerOffice: 1000,
    nameLength: 128,
    officeLength: 256,
    requestIdLength: 256,
    joinTime: Duration.seconds(60),
    idleTime: Duration.infinity,
    backlogNotices: 4 * 1024 * 1024,
    backlogBytes: 64 * 1024 * 1024
  })
})
