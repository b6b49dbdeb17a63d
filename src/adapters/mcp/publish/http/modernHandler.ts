import { createMcpHandler } from "@modelcontextprotocol/server"
import { Effect, type Scope } from "effect"
import type { McpChange } from "../../../../application/ports/McpSession.ts"
import { type WebHandler, jsonRpcErrorResponse } from "./webHandler.ts"
import type { PublishedSession } from "../PublishedSession.ts"
import { watchResources, decodeListenRequest } from "../resourceSubscriptions.ts"

/** Serves the revision without sessions (2026-07-28): one SDK server for each request. */
export const makeModernHandler = Effect.fnUntraced(function* (
  { changes, makeRequestServer, run, fork }: PublishedSession,
  subscribe: boolean
): Effect.fn.Return<WebHandler, never, Scope.Scope> {
  const { fetch, notify } = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createMcpHandler(makeRequestServer, {
        legacy: "reject",
        // Streams from the start: a peer that hears nothing for long would give up.
        responseMode: "sse",
        onerror: (error) => fork(Effect.logDebug("MCP HTTP transport error", { reason: error.message }))
      })
    ),
    (handler) => Effect.ignore(Effect.tryPromise(() => handler.close()))
  )
  const notifyChange = (change: McpChange) => {
    switch (change._tag) {
      case "ToolsChanged":
        return notify.toolsChanged()
      case "ResourcesChanged":
        return notify.resourcesChanged()
      case "ResourceUpdated":
        return notify.resourceUpdated(change.uri)
    }
  }
  yield* changes.subscribe((change) => Effect.sync(() => notifyChange(change)))

  /** Watches what is listened to, from before the client is told that it is until the exchange has ended. */
  const watchUntilClosed = (uris: ReadonlyArray<string>, { signal }: Request) =>
    Effect.callback<Response | void>((resume) => {
      const ended = Effect.callback<void>((end) => {
        if (signal.aborted) end(Effect.void)
        else signal.addEventListener("abort", () => end(Effect.void))
      })
      const watching = watchResources(changes, uris).pipe(
        Effect.andThen(Effect.sync(() => resume(Effect.void))),
        Effect.andThen(Effect.never),
        Effect.catch(({ code, message }) =>
          Effect.sync(() => resume(Effect.succeed(jsonRpcErrorResponse(200, code, message))))
        ),
        Effect.scoped
      )
      fork(
        Effect.andThen(
          Effect.raceFirst(watching, ended),
          Effect.sync(() => resume(Effect.void))
        )
      )
    })

  return async (request, body) => {
    const uris = subscribe ? decodeListenRequest(body) : undefined
    const errorResponse = uris === undefined ? undefined : await run(watchUntilClosed(uris, request))
    return errorResponse ?? fetch(request, { parsedBody: body })
  }
})
