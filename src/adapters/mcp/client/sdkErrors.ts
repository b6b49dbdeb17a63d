import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"
import { type McpSessionError, sessionError } from "../../../application/ports/McpSession.ts"
import { invalidResult } from "../jsonRpcMessages.ts"
import { connectionResetFailure, jsonRpcErrorToSessionError } from "./http/connectionFailures.ts"
import { httpStatusToSessionError } from "./mcpMessages.ts"

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
const describeSchemaError = ({ issues }: z.core.$ZodError): string => {
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
  if (error instanceof z.core.$ZodError) return sessionError("protocol", describeSchemaError(error))
  if (!(error instanceof Error)) return sessionError("unavailable", String(error))
  if (error.message === "Not connected") return sessionError("closed", "not connected")
  const reset = connectionResetFailure(error)
  if (reset !== undefined) return reset
  const status = httpStatusOf(error)
  if (status >= 300) return httpStatusToSessionError(status, quotedBodyOf(error))
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ""
  return sessionError("unavailable", `${error.message}${cause}`)
}
