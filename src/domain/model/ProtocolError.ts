import { Data } from "effect"
import type { JsonObject } from "../json.ts"

/** The suffix that marks a retryable rejection in line 0.2, whose join acknowledgement is a text without a code. */
const retrySuffix = ", try again"

/** Appends the suffix of retryable rejections to a message. */
export const retryableMessage = (message: string): string => `${message}${retrySuffix}`

/** True when the Server reports a rejection that may not persist. */
export const isRetryableMessage = (message: string): boolean => message.endsWith(retrySuffix)

/**
 * Every error code of the protocol, by what it means (spec §12). Three are ours: 413, a message over the limit, 429, more
 * than a limit allows, and 503, what is needed for the answer is not there right now.
 */
export const errorCodes = {
  badRequest: 400,
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  timeout: 408,
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
 * A request that a Server or a Computer answered with an error of the protocol. `code` says what a program can do
 * about it, `message` is for people, `details` for logs only, `extra` holds the members particular to the code.
 */
export class ProtocolError extends Data.TaggedError("ProtocolError")<{
  readonly code: number
  readonly message: string
  readonly details?: JsonObject
  readonly extra?: JsonObject
}> {}

const makeProtocolError = (code: number, message: string, extra?: JsonObject): ProtocolError =>
  new ProtocolError({ code, message, ...(extra !== undefined && { extra }) })

/** The request is not what the event asks for. */
export const badRequest = (message: string) => makeProtocolError(errorCodes.badRequest, message)

/** The sender's role may not do this. */
export const forbidden = (message: string) => makeProtocolError(errorCodes.forbidden, message)

/** Nothing answers to this event. */
export const unknownEvent = (event: string) =>
  makeProtocolError(errorCodes.notFound, `Unknown event ${JSON.stringify(event)}`)

/** No Computer of that name is in the sender's office, or it has just gone. */
export const computerNotFound = (computer: string) =>
  makeProtocolError(errorCodes.notFound, `Computer '${computer}' not found in the office`)

/** The sender has joined no office. */
export const notInOffice = () => makeProtocolError(errorCodes.notInOffice, "Join an office first")

/** What was asked for is in another office. */
export const otherOffice = (subject: string) =>
  makeProtocolError(errorCodes.otherOffice, `${subject} is not in your office`)

/** The far end took the request and did not answer in time. */
export const timedOut = (seconds: number) =>
  makeProtocolError(errorCodes.timeout, `Timed out after ${seconds} seconds`)

/** A message over the limit of the transport. */
export const payloadTooLarge = (limit: number) =>
  makeProtocolError(errorCodes.payloadTooLarge, `Message larger than ${limit} bytes`)

/**
 * More than a limit allows. `limit` is its name on the wire and `most` its number; `retryAfter`, in milliseconds, says
 * from when on the same may go through.
 */
export const tooManyRequests = (message: string, limit: string, max: number, retryAfter?: number) =>
  makeProtocolError(errorCodes.tooManyRequests, message, {
    limit,
    max,
    ...(retryAfter !== undefined && { retry_after: Math.ceil(retryAfter) / 1000 })
  })

/** The Server ends; another one, or this one a little later, may take what it does not begin any more. */
export const shuttingDown = () =>
  makeProtocolError(errorCodes.unavailable, retryableMessage("The Server is shutting down"))

/** Something is wrong on the answering side. */
export const internalError = (message: string) => makeProtocolError(errorCodes.internalError, message)

/** What the request needs cannot be reached right now. */
export const unavailable = (message: string) => makeProtocolError(errorCodes.unavailable, message)

/** The Computer has no MCP server of that name, or it is not running (spec §10.5). */
export const mcpServerNotFound = (name: string) =>
  makeProtocolError(errorCodes.notFound, `MCP Server '${name}' not found`, { mcp_server_name: name })

/** The MCP server lacks what the request needs (spec §10.5). */
export const capabilityNotSupported = (name: string, capability: string) =>
  makeProtocolError(
    errorCodes.capabilityNotSupported,
    `MCP Server does not support '${capability}' capability`,
    {
      mcp_server_name: name,
      capability
    }
  )
