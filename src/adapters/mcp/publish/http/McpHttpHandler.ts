import type { IncomingMessage, ServerResponse } from "node:http"
import { isLegacyRequest } from "@modelcontextprotocol/server"
import { Effect, FiberSet, type Scope } from "effect"
import type { McpSessionError, McpSession } from "../../../../application/ports/McpSession.ts"
import { type WebHandler, runWebHandler } from "./webHandler.ts"
import { makeModernHandler } from "./modernHandler.ts"
import { type LegacySessionLimits, makeLegacyHandler } from "./legacyHandler.ts"
import { makePublishedSession } from "../PublishedSession.ts"

/** How much the clients of a session that is served over HTTP may take. */
export interface McpHttpLimits extends LegacySessionLimits {
  /** How large one message of a client may be, in bytes; 16 MiB unless set, because arguments may hold files. */
  readonly maxMessageBytes?: number
}

/** What whoever stands at the door says of a request. */
interface AccessDecision {
  /** The answer when the request is not to be read any further. */
  readonly earlyResponse: Response | undefined
  /** Headers that every answer to it has. */
  readonly headers: Readonly<Record<string, string>>
}

/** Answers a request of which only the headers have been read. */
export type McpHttpHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  decision: AccessDecision
) => void

/** Ends an exchange that failed: because its peer is gone, as peers do, or because of a bug. */
const abortExchange = Effect.fnUntraced(function* (response: ServerResponse, cause: unknown) {
  if (response.destroyed) return yield* Effect.logDebug("MCP client disconnected", { reason: String(cause) })
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end()
  return yield* Effect.logError("MCP HTTP request failed", cause)
})

/**
 * Serves a session over Streamable HTTP, in any revision of MCP up to 2026-07-28, to the clients of an HTTP server that
 * is somebody else's: who may come in, and where, is decided there. The call of a client whose connection is gone is
 * interrupted: its answer could not be fetched. Closing the scope ends all sessions and calls.
 */
export const makeMcpHttpHandler = Effect.fnUntraced(function* (
  session: McpSession,
  { maxMessageBytes = 16 * 1024 * 1024, ...sessionLimits }: McpHttpLimits
): Effect.fn.Return<McpHttpHandler, McpSessionError, Scope.Scope> {
  const publishedSession = yield* makePublishedSession(session)
  const run = yield* FiberSet.makeRuntime()
  const modern = yield* makeModernHandler(publishedSession, session.info.capabilities.subscribe)
  const legacy = yield* makeLegacyHandler(publishedSession, sessionLimits)
  const handler: WebHandler = async (request, body) =>
    (await isLegacyRequest(request, body)) ? legacy(request, body) : modern(request, body)

  return (request, response, { earlyResponse, headers }) => {
    const options = { handler, earlyResponse, headers, maxBytes: maxMessageBytes }
    run(
      Effect.catch(
        Effect.tryPromise(() => runWebHandler(request, response, options)),
        ({ cause }) => abortExchange(response, cause)
      )
    )
  }
})
