import { Data } from "effect"
import type { JsonObject } from "../json.ts"
import type { ComputerName } from "./ids.ts"

/** The suffix that marks a retryable rejection in line 0.2, whose join acknowledgement is a text without a code. */
const retrySuffix = ", try again"

export const retryableMessage = (message: string): string => `${message}${retrySuffix}`

/** True when the Server reports a rejection that may not persist. */
export const isRetryableMessage = (message: string): boolean => message.endsWith(retrySuffix)

/**
 * The error codes of the protocol (spec §12). Four are additions of this project: 409 for a conflict with the current state,
 * 413 for a message over the limit, 429 for an exceeded limit, and 503 for a temporarily unavailable part.
 */
export const errorCodes = {
  badRequest: 400,
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  timeout: 408,
  conflict: 409,
  payloadTooLarge: 413,
  tooManyRequests: 429,
  internalError: 500,
  unavailable: 503,
  toolNotFound: 4001,
  toolDisabled: 4002,
  toolFailed: 4003,
  toolTimeout: 4004,
  confirmationRequired: 4005,
  authorizationRequired: 4006,
  authorizationFailed: 4007,
  versionMismatch: 4008,
  resolverNotConfigured: 4011,
  invalidDpeUri: 4012,
  dpeResolutionFailed: 4013,
  mcpServerNotFound: 4014,
  capabilityNotSupported: 4015,
  invalidSkillName: 4016,
  skillFileNotAccessible: 4017,
  blobNotAccessible: 4018,
  uploadFailed: 4019,
  officeFull: 4101,
  officeNotFound: 4102,
  notInOffice: 4103,
  otherOffice: 4104,
  documentNotFound: 4201,
  pageOutOfRange: 4202,
  elementNotFound: 4203,
  invalidDocumentUri: 4204
} as const

/**
 * An error reply of a Server or a Computer. `code` is for programs, `message` for people, `details` for logs only;
 * `extra` holds the members that depend on the code.
 */
export class ProtocolError extends Data.TaggedError("ProtocolError")<{
  readonly code: number
  readonly message: string
  readonly details?: JsonObject
  readonly extra?: JsonObject
}> {}

const makeProtocolError = (code: number, message: string, extra?: JsonObject): ProtocolError =>
  new ProtocolError({ code, message, ...(extra !== undefined && { extra }) })

export const badRequest = (message: string) => makeProtocolError(errorCodes.badRequest, message)

export const unauthorized = (message: string) => makeProtocolError(errorCodes.unauthorized, message)

export const forbidden = (message: string) => makeProtocolError(errorCodes.forbidden, message)

export const conflict = (message: string) => makeProtocolError(errorCodes.conflict, message)

export const notFound = (message: string) => makeProtocolError(errorCodes.notFound, message)

export const unknownEvent = (event: string) =>
  makeProtocolError(errorCodes.notFound, `Unknown event ${JSON.stringify(event)}`)

/** Published Agents of the protocol 0.2 read the name in `details`. */
export const computerNotFound = (computer: ComputerName) =>
  new ProtocolError({
    code: errorCodes.notFound,
    message: `Computer '${computer}' not found in the office`,
    details: { computer_name: computer }
  })

export const notInOffice = () => makeProtocolError(errorCodes.notInOffice, "Join an office first")

export const otherOffice = (message: string) => makeProtocolError(errorCodes.otherOffice, message)

/** The peer received the request and did not reply in time. */
export const timedOut = (seconds: number) => makeProtocolError(errorCodes.timeout, `Timed out after ${seconds} seconds`)

export const payloadTooLarge = (limit: number) =>
  makeProtocolError(errorCodes.payloadTooLarge, `Message larger than ${limit} bytes`)

const retryAfterSeconds = (milliseconds: number | undefined): JsonObject =>
  milliseconds === undefined ? {} : { retry_after: Math.ceil(milliseconds) / 1000 }

/** An exceeded limit: its wire name, its maximum, and the time in milliseconds after which a retry may succeed. */
export const tooManyRequests = (message: string, limit: string, max: number, retryAfter?: number) =>
  makeProtocolError(errorCodes.tooManyRequests, message, {
    limit,
    max,
    ...retryAfterSeconds(retryAfter)
  })

export const shuttingDown = () =>
  makeProtocolError(errorCodes.unavailable, retryableMessage("The Server is shutting down"))

export const internalError = (message: string) => makeProtocolError(errorCodes.internalError, message)

export const unavailable = (message: string) => makeProtocolError(errorCodes.unavailable, message)

/** The MCP server has run, and starts again after this time in milliseconds, or now. */
export const mcpServerRestarting = (server: string, retryAfter?: number) =>
  makeProtocolError(errorCodes.unavailable, retryableMessage(`MCP server '${server}' is restarting`), {
    mcp_server: server,
    ...retryAfterSeconds(retryAfter)
  })

/** The Computer has no running MCP server with this name (spec §10.5). */
export const mcpServerNotFound = (server: string) =>
  makeProtocolError(errorCodes.mcpServerNotFound, `MCP Server '${server}' not found`, { mcp_server: server })

/** The MCP server lacks a capability that the request needs (spec §10.5). */
export const capabilityNotSupported = (server: string, capability: string) =>
  makeProtocolError(errorCodes.capabilityNotSupported, `MCP Server does not support '${capability}' capability`, {
    mcp_server: server,
    capability
  })
