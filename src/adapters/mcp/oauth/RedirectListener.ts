import { randomBytes } from "node:crypto"
import type { ServerResponse } from "node:http"
import { Deferred, Effect, Exit } from "effect"
import { type McpSessionError, sessionError } from "../../../application/ports/McpSession.ts"
import { isSameSecret } from "../../auth/secrets.ts"
import { listen, makeHttpServer } from "../../http/httpServer.ts"

const host = "127.0.0.1"

const path = "/callback"

const stateBytes = 32

/** Browsers open a few connections in advance. */
const maxConnections = 16

const pages = {
  received: [200, "Authorization received. You can close this window."],
  declined: [200, "Authorization was declined. You can close this window."],
  unknownState: [400, "No authorization with this state is in progress. Please start again."],
  notFound: [404, "Not found."]
} as const

const requestTimeouts = { headersTimeout: 10_000, requestTimeout: 10_000 }

const sendPage = (response: ServerResponse, page: keyof typeof pages, onSent: () => void = () => undefined) => {
  const [status, text] = pages[page]
  response.once("close", onSent)
  response
    .writeHead(status, {
      "Content-Type": "text/plain; charset=utf-8",
      "Cache-Control": "no-store",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
      Connection: "close"
    })
    .end(`${text}\n`)
}

/** Listens on a free loopback port until the scope closes. Requests with another state are ignored. */
export const listenForRedirect = Effect.gen(function* () {
  /** The code, and the unchecked issuer (RFC 9207). */
  const result = yield* Deferred.make<{ readonly code: string; readonly iss: string | undefined }, McpSessionError>()
  /** The `state` parameter that the redirect must carry. */
  const state = randomBytes(stateBytes).toString("base64url")
  const declined = sessionError("unauthorized", "the authorization was declined")

  const http = yield* makeHttpServer({ ...requestTimeouts, maxConnections })
  http.on("request", (request, response) => {
    const target = URL.parse(request.url ?? "/", `http://${host}`)
    if (request.method !== "GET" || target?.pathname !== path) return sendPage(response, "notFound")
    const { searchParams: query } = target
    const code = query.get("code")
    const iss = query.get("iss") ?? undefined
    if (!isSameSecret(query.get("state") ?? "", state)) return sendPage(response, "unknownState")
    if (query.has("error")) {
      return sendPage(response, "declined", () => Deferred.doneUnsafe(result, Exit.fail(declined)))
    }
    if (code === null) return sendPage(response, "unknownState")
    return sendPage(response, "received", () => Deferred.doneUnsafe(result, Exit.succeed({ code, iss })))
  })
  const { port } = yield* listen(http, { host, port: 0 }, (reason) =>
    sessionError("unavailable", `cannot listen for the authorization redirect: ${reason}`)
  )
  /** Fails with `unauthorized` when the authorization was declined. */
  const response = Deferred.await(result)
  return { url: `http://${host}:${port}${path}`, state, response }
})

export type RedirectListener = Effect.Success<typeof listenForRedirect>
