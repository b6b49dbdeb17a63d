import { createMcpHandler } from "@modelcontextprotocol/server"
import { Effect, type Scope } from "effect"
import type { McpChange } from "../../../application/ports/McpSession.ts"
import { type Answer, refused } from "./exchange.ts"
import type { Publication } from "./Publication.ts"
import { followAll, listenedTo } from "./subscriptions.ts"

/** Serves the revision without sessions (2026-07-28): one SDK server for each request. */
export const makeHttpRequests = Effect.fnUntraced(function* (
  { changes, forRequest, run, fork }: Publication,
  subscribe: boolean
): Effect.fn.Return<Answer, never, Scope.Scope> {
  const log = Effect.runForkWith(yield* Effect.context<never>())
  const { fetch, notify } = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createMcpHandler(forRequest, {
        legacy: "reject",
        // Streams from the start: a peer that hears nothing for long would give up.
        responseMode: "sse",
        onerror: (error) => log(Effect.logDebug("MCP over HTTP", { reason: error.message }))
      })
    ),
    (handler) => Effect.ignore(Effect.tryPromise(() => handler.close()))
  )
  const tell = (change: McpChange) => {
    switch (change._tag) {
      case "ToolsChanged":
        return notify.toolsChanged()
      case "ResourcesChanged":
        return notify.resourcesChanged()
      case "ResourceUpdated":
        return notify.resourceUpdated(change.uri)
    }
  }
  yield* changes.hear((change) => Effect.sync(() => tell(change)))

  /** Watches what is listened to, from before the client is told that it is until the exchange has ended. */
  const following = (uris: ReadonlyArray<string>, { signal }: Request) =>
    Effect.callback<Response | void>((resume) => {
      const ended = Effect.callback<void>((end) => {
        if (signal.aborted) end(Effect.void)
        else signal.addEventListener("abort", () => end(Effect.void))
      })
      const watching = followAll(changes, uris).pipe(
        Effect.andThen(Effect.sync(() => resume(Effect.void))),
        Effect.andThen(Effect.never),
        Effect.catch(({ code, message }) =>
          Effect.sync(() => resume(Effect.succeed(refused(200, code, message))))
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
    const uris = subscribe ? listenedTo(body) : undefined
    const refusal = uris === undefined ? undefined : await run(following(uris, request))
    return refusal ?? fetch(request, { parsedBody: body })
  }
})
