import type { Result } from "effect"
import type { JsonObject } from "../json.ts"
import type { CallReport } from "../model/CallStatus.ts"
import type { Notification } from "../model/Notification.ts"
import type { ProtocolError } from "../model/ProtocolError.ts"
import type { Naming } from "../tools/naming.ts"
import type { Calls } from "./calls.ts"
import type { RoutedDefinition } from "./defineCall.ts"
import type { callStatus } from "./v0_2/callStatus.ts"
import type { cancel, serverRequests, updates } from "./v0_2/events.ts"
import type { Version } from "./version.ts"
import { officeKeyOfLine } from "../model/ids.ts"

export type ServerRequests = typeof serverRequests

export type CallStatusDefinition = typeof callStatus

export type EventDefinition =
  | RoutedDefinition
  | ServerRequests[keyof ServerRequests]
  | typeof updates.config
  | typeof cancel
  | CallStatusDefinition

export interface WireMessage {
  readonly event: string
  readonly body: unknown
}

/**
 * One minor version of the protocol: its events, codecs and acknowledgements. Everything outside this folder works with
 * the neutral model, and takes what depends on the line from here.
 */
export interface ProtocolLine {
  /** `MAJOR.MINOR`. */
  readonly name: string
  /** The version that members of this line announce, and that a Server of this line reports. */
  readonly version: Version
  readonly calls: Calls
  readonly serverRequests: ServerRequests
  readonly updates: typeof updates
  readonly cancel: typeof cancel
  readonly callStatus: CallStatusDefinition
  /** Routes the `client:*` events of newer peers, by their Computer. */
  readonly unknownCall: RoutedDefinition
  /** The definition of an event that members send. */
  readonly findEventDefinition: (event: string) => EventDefinition | undefined
  /** The key of an office at a Server. Offices of different lines have different keys: their members never meet. */
  readonly officeKey: (officeId: string) => string
  readonly naming: Naming
  /** True when clients state their role in `auth.role` of the handshake, not in the join alone. */
  readonly hasRoleInHandshake: boolean
  /** Binary data of a tool result above this size in bytes, each, is sent as a blob; infinite unless all Agents read blobs. */
  readonly inlineBytes: number
  readonly encodeNotification: (notification: Notification) => WireMessage
  /** Decodes a notification; fails with the error in one line. */
  readonly decodeNotification: (event: string, body: unknown) => Result.Result<Notification, string>
  readonly encodeCallStatus: (report: CallReport) => unknown
  readonly decodeCallStatus: (body: unknown) => Result.Result<CallReport, string>
  /** The event of the last message to a connection that another connection of the same identity replaced. */
  readonly replacedEvent: string
  readonly encodeReplaced: (reason: string) => WireMessage
  /** Encodes the acknowledgement of a join or a leave. */
  readonly encodeMembershipAck: (
    outcome: Result.Result<unknown, { readonly message: string }>
  ) => ReadonlyArray<unknown>
  readonly decodeMembershipAck: (values: ReadonlyArray<unknown>) => Result.Result<void, string>
  readonly encodeProtocolError: (error: ProtocolError) => JsonObject
  /** Decodes the error of an acknowledgement; `undefined` for other values. */
  readonly decodeProtocolError: (value: unknown) => ProtocolError | undefined
}

type LineParts = Omit<ProtocolLine, "findEventDefinition">

/** Makes a line from its parts. */
export const makeLine = (parts: LineParts): ProtocolLine => {
  const { callStatus, calls, cancel, serverRequests, unknownCall, updates } = parts
  const definitions: ReadonlyArray<EventDefinition | undefined> = [
    ...Object.values(calls),
    ...Object.values(serverRequests),
    ...Object.values(updates),
    cancel,
    callStatus
  ]
  const byEvent = new Map(
    definitions.flatMap((definition) => {
      if (definition === undefined) return []
      const aliases = "aliases" in definition ? definition.aliases : []
      return [definition.event, ...aliases].map((event) => [event, definition] as const)
    })
  )
  return {
    ...parts,
    findEventDefinition: (event) => byEvent.get(event) ?? (event.startsWith("client:") ? unknownCall : undefined)
  }
}

/** Makes a line from its predecessor and its differences. */
export const extendLine = (
  predecessor: ProtocolLine,
  differences: Pick<ProtocolLine, "name" | "version"> & Partial<Omit<LineParts, "officeKey">>
): ProtocolLine =>
  makeLine({
    ...predecessor,
    ...differences,
    officeKey: (officeId) => officeKeyOfLine(differences.name, officeId)
  })
