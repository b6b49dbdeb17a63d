import { Console, Effect, Option, Redacted } from "effect"
import { publishHttp } from "../../adapters/mcp/publish/http/publishHttp.ts"
import type { McpSession } from "../../application/ports/McpSession.ts"
import { toCommandFailed, failCommand } from "./CommandFailed.ts"

/** Does nobody but this machine reach this address? */
export const isLoopbackName = (host: string): boolean => ["127.0.0.1", "::1", "localhost"].includes(host)

/** How a session is published over HTTP. */
export interface PublishOptions {
  readonly host: string
  readonly port: number
  readonly token: Option.Option<Redacted.Redacted>
}

/** Publishes a session over Streamable HTTP for as long as the scope, and says where: `what` is what is published. */
export const publishOverHttp = Effect.fnUntraced(function* (
  session: McpSession,
  label: string,
  { host, port, token }: PublishOptions
) {
  if (Option.isNone(token) && !isLoopbackName(host)) {
    return yield* failCommand(
      `Whoever reaches ${host} could use ${label}: set A2C_MCP_TOKEN, or listen on 127.0.0.1`
    )
  }
  if (Option.exists(token, (one) => Redacted.value(one) === "")) {
    return yield* failCommand("The token that MCP clients must show is empty")
  }
  const { url } = yield* Effect.mapError(
    publishHttp(session, { host, port, ...(Option.isSome(token) && { token: token.value }) }),
    toCommandFailed
  )
  return yield* Console.log(`publishing ${label} at ${url}`)
})
