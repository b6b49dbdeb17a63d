import { McpSessionError } from "../../application/ports/McpSession.ts"

/** Makes a failure without a JSON-RPC code. */
export const sessionError = (reason: McpSessionError["reason"], message: string): McpSessionError =>
  new McpSessionError({ reason, message })
