import type { IncomingMessage, ServerResponse } from "node:http"
import { isLegacyRequest } from "@modelcontextprotocol/server"
import { type Duration, Effect, FiberSet, type Scope } from "effect"
import type { McpFailure, McpSession } from "../../../application/ports/McpSession.ts"
import { type Answer, exchange } from "./exchange.ts"
import { makeHttpRequests } from "./HttpRequests.ts"
import { makeHttpSessions } from "./HttpSessions.ts"
import { makePublication } from "./Publication.ts"

/** How much the clients of a session that is served over HTTP may take. */
export interface McpHandlerLimits {
  /** How large one message of a client may be, in bytes. */
  readonly largestMessage: number
  /** How many clients of revisions with sessions there may be at once. */
  readonly mostSessions: number
  /** How long a session lasts of which nothing is heard and which listens to nothing. */
  readonly idleTime: Duration.Input
}

/** What whoever stands at the door says of a request. */
interface Admission {
  /** The answer when the request is not to be read any further. */
  readonly early: Response | undefined
  /** Headers that every answer to it has. */
  readonly headers: Readonly<Record<string, string>>
}

/** Answers a request of which only the headers have been read. */
export type McpHandler = (request: IncomingMessage, response: ServerResponse, admission: Admission) => void

/** Ends an exchange that failed: because its peer is gone, as peers do, or because of a bug. */
const giveUp = Effect.fnUntraced(function* (response: ServerResponse, cause: unknown) {
  if (response.destroyed) return yield* Effect.logDebug("an MCP client is gone", { reason: String(cause) })
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end()
  return yield* Effect.logError("an MCP exchange failed", cause)
})

/**
 * Serves a session over Streamable HTTP, in any revision of MCP up to 2026-07-28, to the clients of an HTTP server that
 * is somebody else's: who may come in, and where, is decided there. The call of a client whose connection is gone is
 * interrupted: its answer could not be fetched. Closing the scope ends all sessions and calls.
 */
export const makeMcpHandler = Effect.fnUntraced(function* (
  session: McpSession,
  { idleTime, largestMessage, mostSessions }: McpHandlerLimits
): Effect.fn.Return<McpHandler, McpFailure, Scope.Scope> {
  const publication = yield* makePublication(session)
  const run = yield* FiberSet.makeRuntime()
  const modern = yield* makeHttpRequests(publication, session.info.capabilities.subscribe)
  const legacy = yield* makeHttpSessions(publication, { idleTime, mostSessions })
  const answer: Answer = async (request, body) =>
    (await isLegacyRequest(request, body)) ? legacy(request, body) : modern(request, body)

  return (request, response, { early, headers }) => {
    const options = { answer, early, headers, largest: largestMessage }
    run(
      Effect.catch(
        Effect.tryPromise(() => exchange(request, response, options)),
        ({ cause }) => giveUp(response, cause)
      )
    )
  }
})
