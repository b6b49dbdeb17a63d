import type { Agent } from "node:http"
import { Effect } from "effect"
import type { Unreachable } from "../../../application/ports/Transport.ts"

// Bundles for browsers have this file instead of `nodeAgent.ts`: the field `browser` of package.json names it.

export interface PlainResponse {
  readonly status: number
  readonly text: string
}

/** The requests to an origin. */
export interface HttpAgent {
  /** The agent of all requests on Node, which trusts the configured authorities. */
  readonly http?: Agent
  /** Sends one GET request; follows no redirect. */
  readonly request: (
    url: URL,
    headers: { readonly [name: string]: string },
    signal: AbortSignal
  ) => Promise<PlainResponse>
  /** Bytes of all responses, which browsers hide. */
  readonly receivedBytes: () => number
  /** Explains an error of the network, which browsers hide. */
  readonly explain?: (error: Error) => Pick<Unreachable, "permanent" | "reason"> & { readonly text: string }
}

export const makeHttpAgent = (): HttpAgent => ({
  receivedBytes: () => 0,
  request: async (url, headers, signal) => {
    const response = await fetch(url, { signal, redirect: "manual", headers })
    return { status: response.status, text: await response.text() }
  }
})

export const makeSecureContext = () => Effect.succeed(Effect.undefined)
