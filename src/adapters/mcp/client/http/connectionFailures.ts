import { randomUUID } from "node:crypto"
import { McpSessionError, sessionError } from "../../../../application/ports/McpSession.ts"
import { asObject, isJsonObject } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { errorResponse } from "../../jsonRpcMessages.ts"
import { type BodyEnd, notJson } from "./HttpBody.ts"
import { systemErrorCode } from "../../../../domain/errorMessage.ts"

/** Marks a synthetic error in its `data`; the value is the cause. No peer knows the key, and none can claim a lost connection. */
const syntheticErrorKey = `a2c/synthetic_error/${randomUUID()}`
/** Marks a response that stands for one without a body, whose status is the value. */
const missingStatusHeader = `a2c-missing-${randomUUID()}`

/** Formats an error response as the last event of a stream that ended without one. */
export const syntheticErrorEvent = (
  id: unknown,
  { isComplete, isUnreadable, limitExceeded, reason }: BodyEnd
): string => {
  const message = isComplete && isUnreadable ? notJson : `no response received: ${reason}`
  // A server that ends a response itself still runs.
  const error = isComplete
    ? { code: jsonRpcCodes.internalError, message }
    : {
        code: jsonRpcCodes.connectionClosed,
        message,
        data: { [syntheticErrorKey]: limitExceeded ? "timeout_or_limit" : "connection_lost" }
      }
  // The blank line terminates an event that was truncated.
  return `\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`
}

/** Makes the answer to a request whose response has no body. */
export const missingResponse = (id: string | number, status: number): Response => {
  const body = errorResponse(id, `the server sent no response: HTTP ${status}`)
  return Response.json(body, { headers: { [missingStatusHeader]: String(status) } })
}

/** The HTTP status of a response without a body, also when it has a substitute. */
export const bodilessStatusOf = (response: Response): number | undefined =>
  Number(response.headers.get(missingStatusHeader)) || (response.status === 202 ? 202 : undefined)

const syntheticErrorOf = ({ data }: { readonly data?: unknown }): unknown => asObject(data)[syntheticErrorKey]

export const isConnectionLost = (error: { readonly data?: unknown }): boolean =>
  syntheticErrorOf(error) === "connection_lost"

/** Converts the error of a JSON-RPC response, which the server sent or which is synthetic. */
export const jsonRpcErrorToSessionError = (
  error: { readonly code: number; readonly data?: unknown },
  message: string
): McpSessionError => {
  if (isConnectionLost(error)) return sessionError("closed", message)
  if (syntheticErrorOf(error) === "timeout_or_limit") return sessionError("unavailable", message)
  const { code, data } = error
  return new McpSessionError({ reason: "protocol", code, message, ...(isJsonObject(data) && { data }) })
}

/** Unwraps the error of a host with several addresses, which has no message. */
export const firstError = (error: Error): Error => {
  const [first] = error instanceof AggregateError ? (error.errors as ReadonlyArray<unknown>) : []
  return first instanceof Error ? first : error
}

/** The failure of a connection that was reset before a response. The server may have received the request. */
export const connectionResetFailure = (error: unknown): McpSessionError | undefined =>
  systemErrorCode(error) === "ECONNRESET" ? sessionError("closed", "no response received: connection reset") : undefined
