import type { Agent, AgentOptions } from "node:http"
import type { SecureContext } from "node:tls"
import { Effect } from "effect"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { environmentProxies } from "../../bytes/environmentProxies.ts"
import * as internals from "../internals.ts"

export interface PlainResponse {
  readonly status: number
  readonly text: string
}

/** Characters of a response; the pages of a Server are smaller. */
const maxTextLength = 4 * 1024 * 1024

type Headers = { readonly [name: string]: string }

const requestOnNode = (url: URL, headers: Headers, agent: Agent, signal: AbortSignal): Promise<PlainResponse> =>
  new Promise((resolve, reject) => {
    const { request } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http")
    request(url, { headers, agent, signal }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        text += chunk
        if (text.length > maxTextLength) response.destroy(new Error("the response is too long"))
      })
      response.on("error", reject)
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on("error", reject)
      .end()
  })

/** Sends one GET request; follows no redirect. On Node it uses the agent, and with it the trusted authorities. */
export const plainRequest = async (url: URL, headers: Headers, agent: Agent | undefined, signal: AbortSignal) => {
  if (agent !== undefined) return requestOnNode(url, headers, agent, signal)
  const response = await fetch(url, { signal, redirect: "manual", headers })
  return { status: response.status, text: await response.text() }
}

/** The redirects that the polling client of Node follows: to any host, with all headers. */
const followedStatuses: ReadonlySet<number | undefined> = new Set([302, 303, 307])

/** The client takes this status as an error. */
const redirectStatus = 300

/** Builtins are not imported: browsers also load this file. */
const isNode = (): boolean => typeof process !== "undefined" && "getBuiltinModule" in process

const pemPattern = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs

/** The certificates of a PEM text. Throws an error for a text without certificates, or with an invalid one. */
export const parseAuthorities = (pem: string): ReadonlyArray<string> => {
  const certificates = pem.match(pemPattern) ?? []
  if (certificates.length === 0) throw new TypeError("expected certificates as PEM")
  const { X509Certificate } = process.getBuiltinModule("node:crypto")
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate)
    } catch (cause) {
      throw new TypeError(`certificate ${index + 1} is invalid`, { cause })
    }
  }
  return certificates
}

/** Trusts these authorities beside those of the platform, on Node. Fails with a reason. */
export const trustAuthorities = (pem: string): Effect.Effect<SecureContext | undefined, string> =>
  isNode()
    ? Effect.try({
        try: () => {
          const { createSecureContext, getCACertificates } = process.getBuiltinModule("node:tls")
          return createSecureContext({ ca: [...getCACertificates("default"), ...parseAuthorities(pem)] })
        },
        catch: errorMessage
      })
    : Effect.undefined

/** How the requests to a Server connect. */
interface AgentSettings {
  readonly secureContext?: SecureContext | undefined
  /** Connects to this Unix socket. */
  readonly socketPath?: string | undefined
}

/**
 * Makes the agent of all requests to a Server on Node. It uses the proxies of the environment, and turns redirects into
 * errors. Undefined in browsers.
 */
export const makeNodeAgent = (origin: string, { secureContext, socketPath }: AgentSettings): Agent | undefined => {
  if (!isNode()) return undefined
  const { Agent: HttpsAgent } = process.getBuiltinModule("node:https")
  const { Agent: HttpAgent } = process.getBuiltinModule("node:http")
  const isSecure = /^(https|wss):/.test(origin)
  // The types of Node lack the option `socketPath`.
  const options: AgentOptions & { readonly socketPath?: string } =
    socketPath === undefined ? environmentProxies(isSecure ? "https" : "http") : { socketPath }
  const agent = isSecure
    ? new HttpsAgent({ ...options, ...(secureContext && { secureContext }) })
    : new HttpAgent(options)
  internals.observeRequests(agent, (request) => {
    request.prependListener("response", (response) => {
      if (followedStatuses.has(response.statusCode)) response.statusCode = redirectStatus
    })
  })
  return agent
}
