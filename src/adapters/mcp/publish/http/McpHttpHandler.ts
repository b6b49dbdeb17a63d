import type { IncomingMessage, ServerResponse } from "node:http"
import { once } from "node:events"
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server"
import { Deferred, Effect, FiberSet, Match, type Scope } from "effect"
import type { McpSession, McpSessionError } from "../../../../application/ports/McpSession.ts"
import { type HeadersDecision, runWebHandler, type WebHandler } from "./webHandler.ts"
import { type LegacySessionLimits, makeLegacyHandler } from "./legacyHandler.ts"
import { makePublishedSession, type PublishedSession } from "../PublishedSession.ts"
import { asObject } from "../../../../domain/json.ts"
import { decodeListenRequest, watchResources } from "../ChangeFeed.ts"

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

/** Serves the MCP revision without sessions (2026-07-28), with one SDK server per request. */
const makeModernHandler = Effect.fnUntraced(function* (
  { changes, makeRequestServer, run, fork }: PublishedSession,
  subscribe: boolean
): Effect.fn.Return<WebHandler, never, Scope.Scope> {
  const { fetch, notify } = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createMcpHandler(makeRequestServer, {
        legacy: "reject",
        // Streams at once: a client that receives no bytes would time out.
        responseMode: "sse",
        onerror: (error) => fork(Effect.logDebug("MCP HTTP transport error", { reason: error.message }))
      })
    ),
    (handler) => Effect.ignore(Effect.tryPromise(() => handler.close()))
  )
  const notifications = {
    ToolsChanged: () => notify.toolsChanged(),
    PromptsChanged: () => notify.promptsChanged(),
    ResourcesChanged: () => notify.resourcesChanged(),
    ResourceUpdated: ({ uri }: { readonly uri: string }) => notify.resourceUpdated(uri),
    Logged: () => undefined
  }
  yield* changes.subscribe((change) => Effect.sync(() => Match.valueTags(change, notifications)))

  /** Watches the resources of a listen request from before it is acknowledged until its connection closes. */
  const watchUntilClosed = Effect.fnUntraced(function* (uris: ReadonlyArray<string>, { signal }: Request, id: unknown) {
    const started = yield* Deferred.make<Response | undefined>()
    const start = (response?: Response) => Deferred.succeed(started, response)
    const closed = Effect.promise(async () => signal.aborted || (await once(signal, "abort")))
    const watching = watchResources(changes, uris).pipe(
      Effect.andThen(start()),
      Effect.andThen(Effect.never),
      Effect.catch(({ code, message }) => start(Response.json({ jsonrpc: "2.0", id, error: { code, message } }))),
      Effect.scoped
    )
    fork(Effect.andThen(Effect.raceFirst(watching, closed), start()))
    return yield* Deferred.await(started)
  })

  return async (request, body) => {
    const uris = subscribe ? decodeListenRequest(body) : undefined
    const errorResponse =
      uris === undefined ? undefined : await run(watchUntilClosed(uris, request, asObject(body)["id"]))
    return errorResponse ?? fetch(request, { parsedBody: body })
  }
})
