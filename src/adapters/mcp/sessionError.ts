import { McpSessionError } from "../../application/ports/McpSession.ts"

export const sessionError = (reason: McpSessionError["reason"], message: string): McpSessionError =>
  new McpSessionError({ reason, message })
