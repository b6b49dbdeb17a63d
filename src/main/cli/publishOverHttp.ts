import { Effect, type Redacted } from "effect"
import { publishHttp } from "../../adapters/mcp/publish/http/publishHttp.ts"
import type { McpSession } from "../../application/ports/McpSession.ts"
import { printLine } from "./output/print.ts"
import { requireCredentials } from "./requireCredentials.ts"

interface PublishOptions {
  readonly host: string
  readonly port: number
  readonly token: Redacted.Redacted | undefined
}

/** Publishes a session over Streamable HTTP for as long as the scope, and prints its URL; `label` names the session. */
export const publishOverHttp = Effect.fnUntraced(function* (
  session: McpSession,
  label: string,
  { host, port, token }: PublishOptions
) {
  yield* requireCredentials(
    host,
    token !== undefined,
    `the MCP server of ${label}`,
    "set A2C_MCP_TOKEN, or listen on 127.0.0.1"
  )
  const { url } = yield* publishHttp(session, { host, port, token: token ?? "allowAll" })
  return yield* printLine(`publishing ${label} at ${url}`)
})
