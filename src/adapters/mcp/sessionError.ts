import { McpSessionError } from "../../application/ports/McpSession.ts"
import { definedOnly } from "../../domain/objects.ts"

/** Makes an error; `output` is the last line of stderr of a lost process. */
export const sessionError = (reason: McpSessionError["reason"], message: string, output?: string): McpSessionError =>
  new McpSessionError({ reason, message, ...definedOnly({ output }) })
