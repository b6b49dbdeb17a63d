import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer, type ServerResponse } from "node:http"
import { Deferred, Effect, Exit, type Scope } from "effect"
import { McpSessionError } from "../../../application/ports/McpSession.ts"

/** Waits at a loopback address for the browser of whoever was asked to authorize us. */
export interface RedirectListener {
  /** Where the browser is sent back to. */
  readonly url: string
  /** What the browser must bring along: it shows that we sent it. */
  readonly state: string
  /** The code that the browser brings; fails with `unauthorized` when the authorization was declined. */
  readonly code: Effect.Effect<string, McpSessionError>
}

/** Only this machine may come back to us. */
const host = "127.0.0.1"

const path = "/callback"

/** Unpredictable bytes in a state. */
const stateBytes = 32

/** Browsers open a few connections beforehand; nobody else has business here. */
const maxConnections = 16

const pages = {
  received: [200, "Authorization received. You can close this window."],
  declined: [200, "Authorization was declined. You can close this window."],
  foreign: [400, "This answer belongs to no authorization that is under way. Please start again."],
  missing: [404, "There is nothing here."]
} as const

/** How long a browser may take to send its request, in milliseconds; who is slower must not keep its place. */
const requestTimeouts = { headersTimeout: 10_000, requestTimeout: 10_000 }

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Answers a browser, then does what follows from it. */
const sendPage = (
  response: ServerResponse,
  page: keyof typeof pages,
  onSent: () => void = () => undefined
) => {
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

/** Listens on a free port until the scope closes. Answers that do not carry our state change nothing. */
export const listenForRedirect: Effect.Effect<RedirectListener, McpSessionError, Scope.Scope> = Effect.gen(
  function* () {
    const result = yield* Deferred.make<string, McpSessionError>()
    const state = randomBytes(stateBytes).toString("base64url")
    const expectedState = digest(state)
    const declined = new McpSessionError({
      reason: "unauthorized",
      message: "the authorization was declined"
    })

    const http = createServer(requestTimeouts, (request, response) => {
      const target = URL.parse(request.url ?? "/", `http://${host}`)
      if (request.method !== "GET" || target?.pathname !== path) return sendPage(response, "missing")
      const { searchParams: query } = target
      const code = query.get("code")
      if (!timingSafeEqual(digest(query.get("state") ?? ""), expectedState))
        return sendPage(response, "foreign")
      if (query.has("error")) {
        return sendPage(response, "declined", () => Deferred.doneUnsafe(result, Exit.fail(declined)))
      }
      if (code === null) return sendPage(response, "foreign")
      return sendPage(response, "received", () => Deferred.doneUnsafe(result, Exit.succeed(code)))
    })
    http.maxConnections = maxConnections

    const listening = Effect.callback<number, McpSessionError>((resume) => {
      // Also hears what goes wrong with single connections later on, which is no reason to give up.
      http.on("error", ({ message }) => {
        const why = `cannot wait for the authorization: ${message}`
        resume(Effect.fail(new McpSessionError({ reason: "unavailable", message: why })))
      })
      http.listen(0, host, () => {
        const address = http.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    })
    const port = yield* Effect.acquireRelease(listening, () =>
      Effect.callback<void>((resume) => {
        http.close(() => resume(Effect.void))
        http.closeAllConnections()
      })
    )
    return { url: `http://${host}:${port}${path}`, state, code: Deferred.await(result) }
  }
)
