import type { Version } from "./version.ts"
import { calls, type serverRequests } from "./v0_2/events.ts"
import { line as v0_2 } from "./v0_2/line.ts"

export type { CallDefinition, EventDefinition, RoutedDefinition } from "./v0_2/events.ts"

export type ServerRequests = typeof serverRequests

/** The events, codecs and acknowledgements of one protocol line. A connection keeps the line chosen at its handshake. */
export type ProtocolLine = typeof v0_2

/** Chooses the line of a connection; the version gate has accepted the version. */
export const lineForVersion = (_version: Version): ProtocolLine => v0_2

/** The events that a Server routes to Computers, over all lines. */
export const routedEvents: ReadonlySet<string> = new Set(Object.values(calls).map(({ event }) => event))

/** Decodes the protocol error of a reply whose line is no longer known; `undefined` when the reply is not an error. */
export { decodeProtocolError } from "./v0_2/acks.ts"
