import type { McpSessionError } from "../../../../application/ports/McpSession.ts"
import { asObject } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../jsonRpcCodes.ts"
import { sessionError } from "../../sessionError.ts"
import type { BodyEnd } from "./HttpBody.ts"

/** The name under which an error says that it is ours, and why no answer came. */
const syntheticErrorKey = "a2c/synthetic_error"

/** The error that stands for the answer a stream never gave, as the last event of that stream. */
export const syntheticErrorEvent = (id: unknown, { limitExceeded, reason }: BodyEnd): string => {
  const error = {
    code: jsonRpcCodes.connectionClosed,
    message: `no response received: ${reason}`,
    data: { [syntheticErrorKey]: limitExceeded ? "timeout_or_limit" : "connection_lost" }
  }
  // The empty line ends whatever event was cut in the middle.
  return `\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`
}

/** Does this JSON-RPC error stand for an answer that never came because the connection was cut? */
export const isConnectionLost = ({ data }: { readonly data?: unknown }): boolean =>
  asObject(data)[syntheticErrorKey] === "connection_lost"

/** What it means when a JSON-RPC error stands for an answer that never came. */
export const syntheticErrorToSessionError = (
  error: { readonly data?: unknown },
  message: string
): McpSessionError | undefined => {
  if (isConnectionLost(error)) return sessionError("closed", message)
  return asObject(error.data)[syntheticErrorKey] === "timeout_or_limit"
    ? sessionError("unavailable", message)
    : undefined
}

/** What went wrong, in words: an address with several numbers fails with several errors and none of its own. */
export const firstError = (error: Error): Error => {
  const [first] = error instanceof AggregateError ? (error.errors as ReadonlyArray<unknown>) : []
  return first instanceof Error ? first : error
}

export const errorCodeOf = (error: Error): unknown => Reflect.get(error, "code")

/** Did the connection end before an answer came, though the request may have arrived? */
export const isConnectionReset = (error: unknown): boolean =>
  error instanceof Error && errorCodeOf(error) === "ECONNRESET"

/** What a request fails with then. */
export const connectionResetFailure = sessionError("closed", "no response received: connection reset")
