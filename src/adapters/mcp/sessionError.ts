import { McpSessionError } from "../../application/ports/McpSession.ts"

/** Makes an error without a JSON-RPC code. */
export const sessionError = (reason: McpSessionError["reason"], message: string): McpSessionError =>
  new McpSessionError({ reason, message })
