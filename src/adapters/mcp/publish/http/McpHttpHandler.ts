import type { IncomingMessage, ServerResponse } from "node:http"
import { isLegacyRequest } from "@modelcontextprotocol/server"
import { Effect, FiberSet, type Scope } from "effect"
import type { McpSessionError, McpSession } from "../../../../application/ports/McpSession.ts"
import { type HeadersDecision, runWebHandler, type WebHandler } from "./webHandler.ts"
import { makeModernHandler } from "./modernHandler.ts"
import { type LegacySessionLimits, makeLegacyHandler } from "./legacyHandler.ts"
import { makePublishedSession } from "../PublishedSession.ts"

export interface McpHttpLimits extends LegacySessionLimits {
  /** Largest message of a client in bytes; 16 MiB by default, because arguments may contain files. */
  readonly maxMessageBytes?: number
  /** Bytes of all messages in progress, 256 MiB by default; a message may have as much as is free. */
  readonly maxTotalMessageBytes?: number
}

/** Handles a request whose body is not read yet. */
export type McpHttpHandler = (request: IncomingMessage, response: ServerResponse, decision: HeadersDecision) => void

/** Ends a failed request: its client disconnected, or a defect occurred. */
const abortExchange = Effect.fnUntraced(function* (response: ServerResponse, cause: unknown) {
  if (response.destroyed) return yield* Effect.logDebug("MCP client disconnected", { reason: String(cause) })
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end()
  return yield* Effect.logError("MCP HTTP request failed", cause)
})

/**
 * Serves a session over Streamable HTTP in any MCP revision up to 2026-07-28. The HTTP server belongs to the
 * caller, which also checks access. The calls of a closed connection are interrupted because their responses
 * would be lost. Closing the scope ends all sessions and calls.
 */
export const makeMcpHttpHandler = Effect.fnUntraced(function* (
  session: McpSession,
  { maxMessageBytes = 16 * 1024 * 1024, maxTotalMessageBytes = 256 * 1024 * 1024, ...sessionLimits }: McpHttpLimits
): Effect.fn.Return<McpHttpHandler, McpSessionError, Scope.Scope> {
  const publishedSession = yield* makePublishedSession(session)
  const run = yield* FiberSet.makeRuntime()
  const modern = yield* makeModernHandler(publishedSession, session.info.capabilities.subscribe)
  const legacy = yield* makeLegacyHandler(publishedSession, sessionLimits)
  const handler: WebHandler = async (request, body) =>
    (await isLegacyRequest(request, body)) ? legacy(request, body) : modern(request, body)

  const limits = { maxBytes: maxMessageBytes, budget: { maxBytes: maxTotalMessageBytes, usedBytes: 0 } }

  return (request, response, decision) =>
    void run(
      Effect.catch(
        Effect.tryPromise(() => runWebHandler(request, response, decision, handler, limits)),
        ({ cause }) => abortExchange(response, cause)
      )
    )
})
