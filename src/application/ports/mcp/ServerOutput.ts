import { Context } from "effect"

/** Receives each line that an MCP server writes to stderr, with the name of the server. The line may hold secrets. */
export const ServerOutput = Context.Reference<(server: string, line: string) => void>(
  "a2c-smcp/application/ports/ServerOutput",
  { defaultValue: () => () => undefined }
)
