import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Result } from "effect"
import { makeSecrets } from "../../../application/computer/inputs/Secrets.ts"
import { type McpSessionError, sessionError } from "../../../application/ports/McpSession.ts"
import { serverAddressOf } from "../../http/nodeHttp.ts"
import { type Challenge, lacksScope } from "./oauthFlow.ts"

interface TokenRequest {
  readonly sentToken: string | undefined
  readonly challenge: Challenge
  readonly allowInteractive: boolean
}

/** Obtains an access token other than the rejected one. Rejects when the signal aborts. */
export type ObtainToken = (
  request: TokenRequest,
  signal: AbortSignal | undefined
) => Promise<Result.Result<string, McpSessionError>>

const tokenNotAccepted = sessionError("unauthorized", "MCP server rejected the token of its authorization server")
const scopeNotAccepted = sessionError("forbidden", "MCP server requires a scope that was not granted")

/** What a response requires: a token, or a token with more scopes. */
const challengeOf = (response: Response): Challenge | undefined => {
  const challenge = { ...extractWWWAuthenticateParams(response), serverAddress: serverAddressOf(response) }
  return response.status === 401 || (response.status === 403 && lacksScope(challenge)) ? challenge : undefined
}

/** The platform would quote an invalid header value in its error. */
const isHeaderValue = (token: string): boolean => /^[\x21-\x7e]+$/.test(token)

const withBearer = (init: RequestInit | undefined, token: string | undefined): RequestInit | undefined => {
  if (token === undefined) return init
  if (!isHeaderValue(token)) throw new Error("the access token contains characters that are invalid in a header")
  const headers = new Headers(init?.headers)
  headers.set("Authorization", `Bearer ${token}`)
  return { ...init, headers }
}

/** Redacts the token in error pages, which may echo the request and end up in logs. */
const redactToken = async (response: Response, token: string | undefined): Promise<Response> => {
  if (token === undefined || response.status < 400) return response
  const { headers, status, statusText } = response
  const secrets = makeSecrets()
  secrets.add(token)
  return new Response(secrets.redact(await response.text()), { headers, status, statusText })
}

export const makeBearerAuth = (url: URL, storedToken: string | undefined, obtainToken: ObtainToken) => {
  let token = storedToken
  /** A request has succeeded. From then on authorization is not interactive. */
  let hasConnected = false
  /** Why the last request was rejected; cleared by the next success. */
  let lastFailure: McpSessionError | undefined

  const acceptResponse = (response: Response, sentToken: string | undefined): Promise<Response> => {
    hasConnected = true
    lastFailure = undefined
    return redactToken(response, sentToken)
  }
  const rejectRequest = (failure: McpSessionError): Response => {
    // An exception keeps its message; all versions of the SDK understand a status.
    if (failure.reason === "unavailable") throw new Error(failure.message)
    lastFailure = failure
    return new Response(null, { status: failure.reason === "forbidden" ? 403 : 401 })
  }

  return {
    wrapFetch:
      (base: FetchLike): FetchLike =>
      async (input, init) => {
        // Tokens are sent to their own origin only, even after a redirect.
        if (new URL(input).origin !== url.origin) return base(input, init)
        /** Statuses that a new token has answered: each one once. */
        const answered = new Set<number>()
        while (true) {
          const sentToken = token
          const response = await base(input, withBearer(init, sentToken))
          const challenge = challengeOf(response)
          if (challenge === undefined) return acceptResponse(response, sentToken)
          await response.body?.cancel()
          const { status } = response
          if (answered.has(status)) return rejectRequest(status === 401 ? tokenNotAccepted : scopeNotAccepted)
          answered.add(status)
          const isNeeded = sentToken === undefined || status === 403
          const allowInteractive = !hasConnected || (init?.method === "POST" && isNeeded)
          const obtained = await obtainToken({ sentToken, challenge, allowInteractive }, init?.signal ?? undefined)
          if (Result.isFailure(obtained)) return rejectRequest(obtained.failure)
          token = obtained.success
        }
      },
    /** Returns the authorization failure behind a failed request, if there is one. */
    explainFailure: (failure: McpSessionError) => (lastFailure?.reason === failure.reason ? lastFailure : failure)
  }
}
