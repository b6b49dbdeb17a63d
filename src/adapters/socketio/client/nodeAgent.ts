import type { Agent, AgentOptions } from "node:http"
import type { Socket } from "node:net"
import type { SecureContext } from "node:tls"
import { Effect } from "effect"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { environmentProxies, proxiesOf, proxyProblem } from "../../bytes/environmentProxies.ts"
import { certificateProblem, formatNetworkError } from "../../bytes/networkErrors.ts"
import { observeRequests } from "../internals.ts"
import * as browser from "./browserAgent.ts"

/** Characters of a response; the pages of a Server are smaller. */
const maxTextLength = 4 * 1024 * 1024

const requestWith =
  (agent: Agent): browser.HttpAgent["request"] =>
  (url, headers, signal) =>
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

/** The redirects that the polling client of Node follows: to any host, with all headers. */
const followedStatuses: ReadonlySet<number | undefined> = new Set([302, 303, 307])

/** The client takes this status as an error. */
const redirectStatus = 300

const explainWith =
  (http: Agent, origin: string): NonNullable<browser.HttpAgent["explain"]> =>
  (error) => {
    const certificate = certificateProblem(error)
    if (certificate === undefined) {
      return { text: proxyProblem(proxiesOf(http), origin, error) ?? formatNetworkError(error) }
    }
    const { reason, text } = certificate
    return { text: `its certificate is not accepted: ${text}`, permanent: true, reason }
  }

/** Builtins are not imported: runtimes without Node also load this file. */
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

/**
 * Makes a context that trusts these authorities beside those of the platform, on Node. Fails with a reason. It is made once:
 * parsing the authorities of the platform takes longer than a handshake.
 */
export const makeSecureContext = (pem: string): Effect.Effect<Effect.Effect<SecureContext | undefined, string>> =>
  isNode()
    ? Effect.cached(
        Effect.try({
          try: () => {
            const { createSecureContext, getCACertificates } = process.getBuiltinModule("node:tls")
            return createSecureContext({ ca: [...getCACertificates("default"), ...parseAuthorities(pem)] })
          },
          catch: errorMessage
        })
      )
    : browser.makeSecureContext()

/** Makes the count of the bytes that arrive on the sockets of an agent, those of WebSockets included. */
const makeByteCount = (agent: Agent): (() => number) => {
  const sockets = new Set<Socket>()
  let bytesBefore = 0
  const follow = (stream: unknown) => {
    const socket = stream as Socket | undefined
    if (typeof socket?.bytesRead !== "number" || sockets.has(socket)) return
    sockets.add(socket)
    socket.once("close", () => {
      sockets.delete(socket)
      bytesBefore += socket.bytesRead
    })
  }
  const createConnection = agent.createConnection.bind(agent)
  agent.createConnection = (options, onCreated) => {
    const created = createConnection(options, (error, stream) => {
      follow(stream)
      onCreated?.(error, stream)
    })
    follow(created)
    return created
  }
  return () => [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, bytesBefore)
}

/** How the requests to a Server connect. */
interface AgentSettings {
  readonly secureContext?: SecureContext | undefined
  /** Connects to this Unix socket. */
  readonly socketPath?: string | undefined
}

/**
 * Makes the agent of all requests to a Server on Node. It uses the proxies of the environment, and turns redirects into
 * errors.
 */
export const makeHttpAgent = (origin: string, { secureContext, socketPath }: AgentSettings): browser.HttpAgent => {
  if (!isNode()) return browser.makeHttpAgent()
  const { Agent: HttpsAgent } = process.getBuiltinModule("node:https")
  const { Agent: PlainAgent } = process.getBuiltinModule("node:http")
  const isSecure = /^(https|wss):/.test(origin)
  // The types of Node lack the option `socketPath`.
  const options: AgentOptions & { readonly socketPath?: string } =
    socketPath === undefined ? environmentProxies(isSecure ? "https" : "http") : { socketPath }
  const http = isSecure
    ? new HttpsAgent({ ...options, ...(secureContext && { secureContext }) })
    : new PlainAgent(options)
  observeRequests(http, (request) => {
    request.prependListener("response", (response) => {
      if (followedStatuses.has(response.statusCode)) response.statusCode = redirectStatus
    })
  })
  return {
    http,
    request: requestWith(http),
    receivedBytes: makeByteCount(http),
    explain: explainWith(http, origin)
  }
}
