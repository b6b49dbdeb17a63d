import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Result } from "effect"
import type { McpSessionError } from "../../../application/ports/McpSession.ts"
import { sessionError } from "../sessionError.ts"
import type { Challenge } from "./oauthFlow.ts"

/** An access token was refused, or none was sent. */
interface TokenRequest {
  readonly sentToken: string | undefined
  readonly challenge: Challenge
  /** Somebody may be asked, which takes its time. */
  readonly allowInteractive: boolean
}

/** Gets an access token other than the one that was refused; rejects when the signal aborts. */
export type ObtainToken = (
  request: TokenRequest,
  signal: AbortSignal | undefined
) => Promise<Result.Result<string, McpSessionError>>

/** Shows access tokens to an MCP server, for one session. */
export interface BearerAuth {
  readonly wrapFetch: (fetch: FetchLike) => FetchLike
  /** Says more of a failure, where it is that the last request was turned away. */
  readonly explainFailure: (failure: McpSessionError) => McpSessionError
}

const tokenNotAccepted = sessionError(
  "unauthorized",
  "MCP server rejected the token of its authorization server"
)

/** What no header can carry would be quoted by the platform when it refuses it. */
const isHeaderValue = (token: string): boolean => /^[\x21-\x7e]+$/.test(token)

const withBearer = (init: RequestInit | undefined, token: string | undefined): RequestInit | undefined => {
  if (token === undefined) return init
  if (!isHeaderValue(token))
    throw new Error("the access token contains characters that are invalid in a header")
  const headers = new Headers(init?.headers)
  headers.set("Authorization", `Bearer ${token}`)
  return { ...init, headers }
}

/** Pages that explain an error may show the request; what they say can end up in logs. */
const redactToken = async (response: Response, token: string | undefined): Promise<Response> => {
  if (token === undefined || response.status < 400) return response
  const { headers, status, statusText } = response
  const text = (await response.text()).replaceAll(token, "<redacted>")
  return new Response(text, { headers, status, statusText })
}

/** Makes the gate of a session with the MCP server at this address. */
export const makeBearerAuth = (
  url: URL,
  storedToken: string | undefined,
  obtainToken: ObtainToken
): BearerAuth => {
  let token = storedToken
  /** A request has come through: the session is open, and nobody is asked in the middle of it. */
  let hasConnected = false
  /** Why the last request was turned away, as long as none has come through since. */
  let lastFailure: McpSessionError | undefined

  const acceptResponse = (response: Response, sentToken: string | undefined): Promise<Response> => {
    hasConnected = true
    lastFailure = undefined
    return redactToken(response, sentToken)
  }
  const rejectRequest = (failure: McpSessionError): Response => {
    // Thrown, its message reaches the caller; a status is what every version of the SDK understands.
    if (failure.reason === "unavailable") throw new Error(failure.message)
    lastFailure = failure
    return new Response(null, { status: failure.reason === "forbidden" ? 403 : 401 })
  }

  return {
    wrapFetch: (base) => async (input, init) => {
      // Tokens are for the server they were given for, wherever it sends us.
      if (new URL(input).origin !== url.origin) return base(input, init)
      const sentToken = token
      const response = await base(input, withBearer(init, sentToken))
      if (response.status !== 401) return acceptResponse(response, sentToken)
      const challenge = extractWWWAuthenticateParams(response)
      await response.body?.cancel()
      const obtained = await obtainToken(
        { sentToken, challenge, allowInteractive: !hasConnected },
        init?.signal ?? undefined
      )
      if (Result.isFailure(obtained)) return rejectRequest(obtained.failure)
      const newToken = obtained.success
      token = newToken
      const again = await base(input, withBearer(init, newToken))
      if (again.status !== 401) return acceptResponse(again, newToken)
      await again.body?.cancel()
      return rejectRequest(tokenNotAccepted)
    },
    explainFailure: (failure) => (lastFailure?.reason === failure.reason ? lastFailure : failure)
  }
}
