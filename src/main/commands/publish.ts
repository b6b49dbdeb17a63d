import { Console, Effect, Option, Redacted } from "effect"
import { publishHttp } from "../../adapters/mcp/publish/Http.ts"
import type { McpSession } from "../../application/ports/McpSession.ts"
import { failed, refuse } from "../failure.ts"

/** Does nobody but this machine reach this address? */
export const isLoopback = (host: string): boolean => ["127.0.0.1", "::1", "localhost"].includes(host)

/** How a session is published over HTTP. */
export interface Publishing {
  readonly host: string
  readonly port: number
  readonly token: Option.Option<Redacted.Redacted>
}

/** Publishes a session over Streamable HTTP for as long as the scope, and says where: `what` is what is published. */
export const publishAt = Effect.fnUntraced(function* (
  session: McpSession,
  what: string,
  { host, port, token }: Publishing
) {
  if (Option.isNone(token) && !isLoopback(host)) {
    return yield* refuse(
      `Whoever reaches ${host} could use ${what}: set A2C_MCP_TOKEN, or listen on 127.0.0.1`
    )
  }
  if (Option.exists(token, (one) => Redacted.value(one) === "")) {
    return yield* refuse("The token that MCP clients must show is empty")
  }
  const { url } = yield* Effect.mapError(
    publishHttp(session, { host, port, ...(Option.isSome(token) && { token: token.value }) }),
    failed
  )
  return yield* Console.log(`publishing ${what} at ${url}`)
})
