import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Result } from "effect"
import { McpFailure } from "../../application/ports/McpSession.ts"
import type { Challenge } from "./OAuth.ts"

/** An access token was refused, or none was sent. */
interface Entry {
  readonly sent: string | undefined
  readonly challenge: Challenge
  /** Somebody may be asked, which takes its time. */
  readonly mayAsk: boolean
}

/** Gets an access token other than the one that was refused; rejects when the signal aborts. */
export type Enter = (
  entry: Entry,
  signal: AbortSignal | undefined
) => Promise<Result.Result<string, McpFailure>>

/** Shows access tokens to an MCP server, for one session. */
export interface Gate {
  readonly wrap: (fetch: FetchLike) => FetchLike
  /** Says more of a failure, where it is that the last request was turned away. */
  readonly explain: (failure: McpFailure) => McpFailure
}

const distrusted = new McpFailure({
  kind: "unauthorized",
  message: "the MCP server does not take the tokens of its authorization server"
})

/** What no header can carry would be quoted by the platform when it refuses it. */
const isHeaderValue = (token: string): boolean => /^[\x21-\x7e]+$/.test(token)

const bearing = (init: RequestInit | undefined, token: string | undefined): RequestInit | undefined => {
  if (token === undefined) return init
  if (!isHeaderValue(token)) throw new Error("its access token has characters that no request can carry")
  const headers = new Headers(init?.headers)
  headers.set("Authorization", `Bearer ${token}`)
  return { ...init, headers }
}

/** Pages that explain an error may show the request; what they say can end up in logs. */
const withoutToken = async (response: Response, token: string | undefined): Promise<Response> => {
  if (token === undefined || response.status < 400) return response
  const { headers, status, statusText } = response
  const text = (await response.text()).replaceAll(token, "<redacted>")
  return new Response(text, { headers, status, statusText })
}

/** Makes the gate of a session with the MCP server at this address. */
export const makeGate = (url: URL, stored: string | undefined, enter: Enter): Gate => {
  let token = stored
  /** A request has come through: the session is open, and nobody is asked in the middle of it. */
  let inside = false
  /** Why the last request was turned away, as long as none has come through since. */
  let refusal: McpFailure | undefined

  const pass = (response: Response, sent: string | undefined): Promise<Response> => {
    inside = true
    refusal = undefined
    return withoutToken(response, sent)
  }
  const turnAway = (failure: McpFailure): Response => {
    // Thrown, its message reaches the caller; a status is what every version of the SDK understands.
    if (failure.kind === "unavailable") throw new Error(failure.message)
    refusal = failure
    return new Response(null, { status: failure.kind === "forbidden" ? 403 : 401 })
  }

  return {
    wrap: (base) => async (input, init) => {
      // Tokens are for the server they were given for, wherever it sends us.
      if (new URL(input).origin !== url.origin) return base(input, init)
      const sent = token
      const response = await base(input, bearing(init, sent))
      if (response.status !== 401) return pass(response, sent)
      const challenge = extractWWWAuthenticateParams(response)
      await response.body?.cancel()
      const entered = await enter({ sent, challenge, mayAsk: !inside }, init?.signal ?? undefined)
      if (Result.isFailure(entered)) return turnAway(entered.failure)
      const fresh = entered.success
      token = fresh
      const again = await base(input, bearing(init, fresh))
      if (again.status !== 401) return pass(again, fresh)
      await again.body?.cancel()
      return turnAway(distrusted)
    },
    explain: (failure) => (refusal?.kind === failure.kind ? refusal : failure)
  }
}
