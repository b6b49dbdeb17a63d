import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js"
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"
import { McpFailure } from "../../application/ports/McpSession.ts"
import { unanswered, wasCut } from "./HttpFetch.ts"
import { httpFailure } from "./reading.ts"

/** What is said of a session whose peer closed it without a word. */
export const closedByServer = new McpFailure({
  kind: "closed",
  message: "the MCP server closed the connection"
})

const ofMcpError = (error: McpError): McpFailure => {
  const message = error.message.replace(/^(?:MCP error -?\d+: )+/, "")
  // The words are the SDK's own; servers use the number for errors of theirs, too.
  if (error.code === ErrorCode.ConnectionClosed && message === "Connection closed") return closedByServer
  return unanswered(error, message) ?? new McpFailure({ kind: "protocol", message, code: error.code })
}

const httpStatus = (error: Error): number | undefined => {
  if ("code" in error && typeof error.code === "number" && error.code >= 100 && error.code < 600) {
    return error.code
  }
  const status = /\bHTTP (\d{3})\b/.exec(error.message)?.[1]
  return status === undefined ? undefined : Number(status)
}

/** The body of an HTTP answer that is no success, as the SDK quotes it. */
const quotedBody = (error: Error): string =>
  error instanceof StreamableHTTPError ? error.message.slice(error.message.indexOf("{")) : ""

/** What an error of the v1 SDK means; messages of upstream pages are left out, they may hold anything. */
export const toFailure = (error: unknown): McpFailure => {
  if (error instanceof McpError) return ofMcpError(error)
  if (error instanceof UnauthorizedError) {
    return new McpFailure({ kind: "unauthorized", message: "the MCP server asks for authorization" })
  }
  if (error instanceof z.ZodError) {
    return new McpFailure({ kind: "protocol", message: "the answer is no MCP result" })
  }
  if (!(error instanceof Error)) return new McpFailure({ kind: "unavailable", message: String(error) })
  if (error.message === "Not connected") return new McpFailure({ kind: "closed", message: "not connected" })
  if (wasCut(error))
    return new McpFailure({ kind: "closed", message: "no answer came: the connection was cut" })
  const status = httpStatus(error)
  if (status !== undefined) return httpFailure(status, quotedBody(error))
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ""
  return new McpFailure({ kind: "unavailable", message: `${error.message}${cause}` })
}
