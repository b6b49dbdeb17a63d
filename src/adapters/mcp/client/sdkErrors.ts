import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js"
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"
import { McpSessionError } from "../../../application/ports/McpSession.ts"
import { sessionError } from "../sessionError.ts"
import {
  connectionResetFailure,
  isConnectionReset,
  syntheticErrorToSessionError
} from "./http/connectionFailures.ts"
import { httpStatusToSessionError } from "./mcpMessages.ts"

/** What is said of a session whose peer closed it without a word. */
export const closedByServer = sessionError("closed", "MCP server closed the connection")

const fromMcpError = (error: McpError): McpSessionError => {
  const message = error.message.replace(/^(?:MCP error -?\d+: )+/, "")
  // The words are the SDK's own; servers use the number for errors of theirs, too.
  if (error.code === ErrorCode.ConnectionClosed && message === "Connection closed") return closedByServer
  return (
    syntheticErrorToSessionError(error, message) ??
    new McpSessionError({ reason: "protocol", message, code: error.code })
  )
}

const httpStatusOf = (error: Error): number | undefined => {
  if ("code" in error && typeof error.code === "number" && error.code >= 100 && error.code < 600) {
    return error.code
  }
  const status = /\bHTTP (\d{3})\b/.exec(error.message)?.[1]
  return status === undefined ? undefined : Number(status)
}

/** The body of an HTTP answer that is no success, as the SDK quotes it. */
const quotedBodyOf = (error: Error): string =>
  error instanceof StreamableHTTPError ? error.message.slice(error.message.indexOf("{")) : ""

/** What an error of the v1 SDK means; messages of upstream pages are left out, they may hold anything. */
export const sdkErrorToSessionError = (error: unknown): McpSessionError => {
  if (error instanceof McpError) return fromMcpError(error)
  if (error instanceof UnauthorizedError) {
    return sessionError("unauthorized", "MCP server requires authorization")
  }
  if (error instanceof z.ZodError) return sessionError("protocol", "the response is not an MCP result")
  if (!(error instanceof Error)) return sessionError("unavailable", String(error))
  if (error.message === "Not connected") return sessionError("closed", "not connected")
  if (isConnectionReset(error)) return connectionResetFailure
  const status = httpStatusOf(error)
  if (status !== undefined) return httpStatusToSessionError(status, quotedBodyOf(error))
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ""
  return sessionError("unavailable", `${error.message}${cause}`)
}
