import { createMcpHandler } from "@modelcontextprotocol/server"
import { Deferred, Effect, type Scope } from "effect"
import type { McpChange } from "../../../../application/ports/McpSession.ts"
import { asObject } from "../../../../domain/json.ts"
import type { WebHandler } from "./webHandler.ts"
import type { PublishedSession } from "../PublishedSession.ts"
import { watchResources, decodeListenRequest } from "../resourceSubscriptions.ts"

/** Serves the MCP revision without sessions (2026-07-28), with one SDK server per request. */
export const makeModernHandler = Effect.fnUntraced(function* (
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
  const notifyChange = (change: McpChange) => {
    switch (change._tag) {
      case "ToolsChanged":
        return notify.toolsChanged()
      case "PromptsChanged":
        return notify.promptsChanged()
      case "ResourcesChanged":
        return notify.resourcesChanged()
      case "ResourceUpdated":
        return notify.resourceUpdated(change.uri)
      case "Logged":
        return undefined
    }
  }
  yield* changes.subscribe((change) => Effect.sync(() => notifyChange(change)))

  /** Watches the resources of a listen request from before it is acknowledged until its connection closes. */
  const watchUntilClosed = Effect.fnUntraced(function* (uris: ReadonlyArray<string>, { signal }: Request, id: unknown) {
    const started = yield* Deferred.make<Response | undefined>()
    const start = (response?: Response) => Deferred.succeed(started, response)
    const closed = Effect.callback<void>((resume) => {
      if (signal.aborted) resume(Effect.void)
      else signal.addEventListener("abort", () => resume(Effect.void))
    })
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
