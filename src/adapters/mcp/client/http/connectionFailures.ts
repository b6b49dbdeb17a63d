import { randomUUID } from "node:crypto"
import { McpSessionError, sessionError } from "../../../../application/ports/McpSession.ts"
import { asObject, isJsonObject } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { errorResponse, invalidResult } from "../../jsonRpcMessages.ts"
import { type BodyEnd, notJson } from "./HttpBody.ts"
import { systemErrorCode } from "../../../../domain/errorMessage.ts"
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { $ZodError } from "zod/v4/core"
import { httpStatusToSessionError } from "../mcpMessages.ts"

/** Marks a synthetic error in its `data`; the value is the cause. No peer knows the key, and none can claim a lost connection. */
const syntheticErrorKey = `a2c/synthetic_error/${randomUUID()}`
/** Marks a response that stands for one without a body, whose status is the value. */
const missingStatusHeader = `a2c-missing-${randomUUID()}`

/** Formats an error response as the last event of a stream that ended without one. */
export const syntheticErrorEvent = (id: unknown, { isComplete, isUnreadable, limitExceeded, reason }: BodyEnd) => {
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

export const isConnectionLost = (error: { readonly data?: unknown }) => syntheticErrorOf(error) === "connection_lost"

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

export const closedByServer = sessionError("closed", "MCP server closed the connection")

/** The HTTP status of an error; 0 without one. */
const httpStatusOf = (error: Error): number =>
  "code" in error && typeof error.code === "number" && error.code >= 100 && error.code < 600
    ? error.code
    : Number(/\bHTTP (\d{3})\b/.exec(error.message)?.[1] ?? 0)

/** Extracts what the SDK quotes in its message: an HTTP body, or the target of a redirect. */
const quotedBodyOf = ({ message }: Error): string =>
  /Error POSTing to endpoint(?: \(HTTP \d+\))?: (.*)$/s.exec(message)?.[1] ?? message

/** Issues of one response that a message names. */
const maxIssues = 3

/** A sentence for the schema errors of a response, whose message is JSON. */
const describeSchemaError = ({ issues }: $ZodError): string => {
  const problems = issues.slice(0, maxIssues).flatMap(({ message, path, ...issue }) => {
    if (path.length === 0) return []
    const member = JSON.stringify(path.join(".").slice(0, 100))
    if (issue.code !== "invalid_type") return [`${member} is invalid`]
    return [
      message.endsWith("received undefined") ? `${member} is missing` : `${member} is not of type ${issue.expected}`
    ]
  })
  return [invalidResult.message, problems.join(", ")].filter((part) => part !== "").join(": ")
}

/** Converts an error of the v1 SDK. HTTP bodies are not quoted because they may contain anything. */
export const sdkErrorToSessionError = (error: unknown): McpSessionError => {
  if (error instanceof McpError) {
    const message = error.message.replace(/^(?:MCP error -?\d+: )+/, "")
    // Servers use the code -32000 too, so the SDK's message decides.
    const isClosed = error.code === ErrorCode.ConnectionClosed && message === "Connection closed"
    return isClosed ? closedByServer : jsonRpcErrorToSessionError(error, message)
  }
  if (error instanceof UnauthorizedError) return sessionError("unauthorized", "MCP server requires authorization")
  if (error instanceof $ZodError) return sessionError("protocol", describeSchemaError(error))
  if (!(error instanceof Error)) return sessionError("unavailable", String(error))
  if (error.message === "Not connected") return sessionError("closed", "not connected")
  const reset = connectionResetFailure(error)
  if (reset !== undefined) return reset
  const status = httpStatusOf(error)
  if (status >= 300) return httpStatusToSessionError(status, quotedBodyOf(error))
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ""
  return sessionError("unavailable", `${error.message}${cause}`)
}
