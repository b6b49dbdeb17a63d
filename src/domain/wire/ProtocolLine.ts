import { officeKeyOfLine } from "../model/ids.ts"
import type { JsonObject } from "../json.ts"
import type { ProtocolError } from "../model/ProtocolError.ts"
import type { Naming } from "../tools/naming.ts"
import type { Calls } from "./calls.ts"
import type { RoutedDefinition } from "./defineCall.ts"
import { decodeAckError, decodeMembershipAck, encodeMembershipAck } from "./v0_2/acks.ts"
import { callStatus, decodeCallStatus, encodeCallStatus } from "./v0_2/callStatus.ts"
import { cancel, serverRequests, unknownCall, updates } from "./v0_2/events.ts"
import { decodeNotification, encodeNotification, encodeReplaced, replacedEvent } from "./v0_2/notifications.ts"
import type { Version } from "./version.ts"

export type ServerRequests = typeof serverRequests

export type CallStatusDefinition = typeof callStatus

export type EventDefinition =
  | RoutedDefinition
  | ServerRequests[keyof ServerRequests]
  | typeof updates.config
  | typeof cancel
  | CallStatusDefinition

/** The parts that all lines have had in common so far. */
const sharedParts = {
  serverRequests,
  updates,
  cancel,
  callStatus,
  unknownCall,
  encodeNotification,
  decodeNotification,
  encodeCallStatus,
  decodeCallStatus,
  replacedEvent,
  encodeReplaced,
  encodeMembershipAck,
  decodeMembershipAck,
  decodeProtocolError: decodeAckError
}

/** What distinguishes a line. */
interface LineParts {
  /** `MAJOR.MINOR`. */
  readonly name: string
  /** The version that members of this line announce, and that a Server of this line reports. */
  readonly version: Version
  readonly calls: Calls
  /** The key of an office at a Server. Offices of different lines have different keys: their members never meet. */
  readonly officeKey: (officeId: string) => string
  readonly naming: Naming
  /** True when clients state their role in `auth.role` of the handshake, not in the join alone. */
  readonly hasRoleInHandshake: boolean
  /** Binary data of a tool result above this size in bytes, each, is sent as a blob; infinite unless all Agents read blobs. */
  readonly inlineBytes: number
  readonly encodeProtocolError: (error: ProtocolError) => JsonObject
}

/**
 * One minor version of the protocol: its events, codecs and acknowledgements. Everything outside this folder works with
 * the neutral model, and takes what depends on the line from here.
 */
export interface ProtocolLine extends LineParts, Readonly<typeof sharedParts> {
  /** The definition of an event that members send. */
  readonly findEventDefinition: (event: string) => EventDefinition | undefined
}

/** Makes a line from the parts that distinguish it. */
export const makeLine = (differences: LineParts & Partial<typeof sharedParts>): ProtocolLine => {
  const parts = { ...sharedParts, ...differences }
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
  differences: Pick<ProtocolLine, "name" | "version"> & Partial<Omit<ProtocolLine, "findEventDefinition" | "officeKey">>
): ProtocolLine =>
  makeLine({
    ...predecessor,
    ...differences,
    officeKey: (officeId) => officeKeyOfLine(differences.name, officeId)
  })
