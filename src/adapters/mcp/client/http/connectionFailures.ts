import type { McpSessionError } from "../../../../application/ports/McpSession.ts"
import { asObject } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { sessionError } from "../../sessionError.ts"
import type { BodyEnd } from "./HttpBody.ts"

/** Marks a synthetic error in its `data`; the value is the cause. */
const syntheticErrorKey = "a2c/synthetic_error"

/** Formats an error response as the last event of a stream that ended without one. */
export const syntheticErrorEvent = (id: unknown, { limitExceeded, reason }: BodyEnd): string => {
  const error = {
    code: jsonRpcCodes.connectionClosed,
    message: `no response received: ${reason}`,
    data: { [syntheticErrorKey]: limitExceeded ? "timeout_or_limit" : "connection_lost" }
  }
  // The blank line terminates an event that was truncated.
  return `\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`
}

export const isConnectionLost = ({ data }: { readonly data?: unknown }): boolean =>
  asObject(data)[syntheticErrorKey] === "connection_lost"

/** Converts a synthetic error; undefined for an error that the server sent. */
export const syntheticErrorToSessionError = (
  error: { readonly data?: unknown },
  message: string
): McpSessionError | undefined => {
  if (isConnectionLost(error)) return sessionError("closed", message)
  return asObject(error.data)[syntheticErrorKey] === "timeout_or_limit"
    ? sessionError("unavailable", message)
    : undefined
}

/** Unwraps the error of a host with several addresses, which has no message. */
export const firstError = (error: Error): Error => {
  const [first] = error instanceof AggregateError ? (error.errors as ReadonlyArray<unknown>) : []
  return first instanceof Error ? first : error
}

export const errorCodeOf = (error: Error): unknown => Reflect.get(error, "code")

/** Whether the connection was reset before a response. The server may have received the request. */
export const isConnectionReset = (error: unknown): boolean =>
  error instanceof Error && errorCodeOf(error) === "ECONNRESET"

export const connectionResetFailure = sessionError("closed", "no response received: connection reset")
