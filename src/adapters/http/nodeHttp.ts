import {
  Agent,
  type AgentOptions,
  type ClientRequest,
  type IncomingMessage,
  request,
  type RequestOptions
} from "node:http"
import { Agent as SecureAgent, request as secureRequest } from "node:https"
import { Effect, type Scope } from "effect"
import { withUserAgent } from "../../domain/packageVersion.ts"

/** Node's fetch honors proxies only under this variable. */
const usesProxies = (): boolean => process.env["NODE_USE_ENV_PROXY"] === "1"

/** Starts a request over HTTP or HTTPS. */
export type StartRequest = (
  url: URL,
  options: Omit<RequestOptions, "agent" | "headers"> & { readonly headers: { readonly [name: string]: string } }
) => ClientRequest

/** Makes a client whose connections close with the scope. It does not follow redirects. */
export const makeHttpClient: Effect.Effect<StartRequest, never, Scope.Scope> = Effect.gen(function* () {
  const options: AgentOptions = { keepAlive: true, ...(usesProxies() && { proxyEnv: process.env }) }
  const agents = { plain: new Agent(options), secure: new SecureAgent(options) }
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      agents.plain.destroy()
      agents.secure.destroy()
    })
  )
  return (url, given) => {
    const options = { ...given, headers: withUserAgent(given.headers) }
    return url.protocol === "https:"
      ? secureRequest(url, { ...options, agent: agents.secure })
      : request(url, { ...options, agent: agents.plain })
  }
})

// A subclass of `Response` would load Node's fetch at the start of every process.
const serverAddresses = new WeakMap<Response, string>()

/** The address of the server that sent a response; `undefined` when it may be the address of a proxy. */
export const serverAddressOf = (response: Response): string | undefined => serverAddresses.get(response)

export const withServerAddress = (response: Response, address: string | undefined): Response => {
  if (address !== undefined) serverAddresses.set(response, address)
  return response
}

export const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304])

/** True for the statuses that `Response` accepts; a peer can send any three digits. */
export const isResponseStatus = (status: number): boolean => status >= 200 && status <= 599

/** The characters that `Response` accepts in a status text; a peer can send other bytes. */
const statusTextPattern = /^[\t\x20-\x7e\x80-\xff]*$/

export const toResponse = (incoming: IncomingMessage, body: ReadableStream | null): Response => {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  const { statusCode: status = 500, statusMessage: statusText = "" } = incoming
  const init = { status, statusText: statusTextPattern.test(statusText) ? statusText : "", headers }
  return withServerAddress(new Response(body, init), usesProxies() ? undefined : incoming.socket.remoteAddress)
}
